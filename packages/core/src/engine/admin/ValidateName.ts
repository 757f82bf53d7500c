/** The rules of the admin operations for names and other short texts. */
import * as Fault from "../../domain/Fault.ts"
import * as Text from "../../domain/Text.ts"

/** 1 to so many characters, not blank, no control characters, well-formed. */
export const validateName = (
  value: string,
  name: string,
  maximum: number,
  path: ReadonlyArray<string | number> = [name]
) => {
  if (Text.isLonger(value, maximum) || Text.isBlank(value)) {
    return [Fault.make(path, "out_of_range", `\`${name}\` must be 1 to ${maximum} characters, not blank.`)]
  }
  return !Text.isLine(value)
    ? [Fault.make(path, "invalid_value", `\`${name}\` must be well-formed text without control characters.`)]
    : []
}
