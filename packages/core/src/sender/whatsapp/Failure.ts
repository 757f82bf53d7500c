/** The failures of the Graph API, as answers, statuses and hooks tell them. */
import * as Json from "../../domain/Json.ts"
import type { Failure } from "../../domain/job/Recipient.ts"
import * as FailureCatalogue from "../../domain/session/FailureCatalogue.ts"
import * as PlatformHttp from "../PlatformHttp.ts"

/** Vendors who hand hooks on write numbers as text. */
const codeOf = (error: unknown, name: "code" | "error_subcode" = "code"): number | undefined => {
  const code = Json.valueAt(error, name)
  if (typeof code === "number") return code
  return typeof code === "string" && /^[0-9]{1,9}$/.test(code) ? Number(code) : undefined
}

/**
 * The failure that an error object means, in an answer or a status. Its code decides, since titles and HTTP statuses
 * change (contract.md §W1.5), unless the platform says by `is_transient` that the same request may pass later.
 */
export const failureOf = (error: unknown, status: number | null): Failure | undefined => {
  const code = codeOf(error)
  if (code === undefined) return undefined
  const details = Json.textAt(error, "error_data", "details")
  const message = details ?? Json.textAt(error, "message") ?? Json.textAt(error, "title")
  const isTransient = Json.valueAt(error, "is_transient") === true
  const known = FailureCatalogue.findWhatsApp(code, codeOf(error, "error_subcode"))
  if (known !== undefined && !(isTransient && known.permanent))
    return FailureCatalogue.failure(known.code, { providerCode: String(code), message })
  const passes = isTransient || (status !== null && PlatformHttp.mayPass(status))
  return {
    code: passes ? "provider_unavailable" : "provider_refused",
    provider_code: String(code),
    message: message ?? `The platform answered with code ${code}.`,
    permanent: !passes
  }
}

/** The words of an error; the whole error where none of the known members has words. */
const wordsOf = (error: unknown): string => {
  const said = failureOf(error, null)?.message ?? Json.textAt(error, "message") ?? Json.textAt(error, "title")
  return said ?? (typeof error === "string" ? error : JSON.stringify(error))
}

/** The failure of a message of which a status tells these errors: the one that asks for most, with the words of all. */
export const ofErrors = (errors: ReadonlyArray<unknown>): Failure => {
  const failure = FailureCatalogue.heaviest(errors.flatMap((error) => failureOf(error, null) ?? []))
  const words = [...new Set([...(failure === undefined ? [] : [failure.message]), ...errors.map(wordsOf)])]
  if (failure !== undefined) return { ...failure, message: words.join(" ") }
  const message =
    words.length === 0
      ? "The platform reports that the message failed, without a reason."
      : `The platform reports that the message failed, without a code: ${words.join(" ")}`
  return { code: "undeliverable", provider_code: null, message, permanent: true }
}

/** The failure that an answer without an error object means: a plain 401 is of the token (contract.md §W1.13). */
export const withoutCode = (status: number): Failure => {
  const message = `The platform answered ${status} without an error code.`
  const providerCode = String(status)
  if (status === 401) return FailureCatalogue.failure("credentials_rejected", { providerCode, message })
  const passes = PlatformHttp.mayPass(status)
  return {
    code: passes ? "provider_unavailable" : "provider_refused",
    provider_code: providerCode,
    message,
    permanent: !passes
  }
}
