/** The rules of the codes by which recipients are retried, of one job and of many. */
import type * as Fault from "../../domain/Fault.ts"
import * as RetrySelection from "../../domain/job/RetrySelection.ts"
import * as ValidateName from "./ValidateName.ts"

export const ofCodes = (
  codes: ReadonlyArray<string | undefined>,
  path: ReadonlyArray<string | number>
): ReadonlyArray<Fault.Fault> =>
  codes.flatMap((code, index) =>
    code === undefined
      ? []
      : ValidateName.validateName(code, "code", RetrySelection.maximumCodeLength, [...path, index])
  )
