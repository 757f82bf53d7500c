/** The one error of this package. */

/** One fault of a refused call. */
export interface Issue {
  /** Where it is, as an RFC 6901 pointer into what was given: `/to/0/phone`. */
  readonly path: string
  /** Such as `required`, `variable_missing`, `recipient_invalid`. */
  readonly code: string
  readonly message: string
}

/** What a {@link SendwrightError} tells beside its code and message. */
export interface Details {
  readonly issues?: ReadonlyArray<Issue>
  readonly retryAfterMs?: number | null
  readonly details?: Readonly<Record<string, unknown>>
  readonly cause?: unknown
}

/**
 * Everything that Sendwright refuses or fails with. A bundler may load the package once for each entry of an app: `is` and
 * `instanceof` know an error of any copy by its form.
 *
 * @example
 * ```ts
 * import { SendwrightError, type Session } from "sendwright"
 *
 * export const remind = async (session: Session, phone: string, idempotencyKey: string) => {
 *   try {
 *     return await session.send({ template: "reminder", to: [{ phone }], idempotencyKey })
 *   } catch (error) {
 *     if (SendwrightError.is(error) && error.code === "consent_required") return null
 *     throw error
 *   }
 * }
 * ```
 */
export class SendwrightError extends Error {
  static is(error: unknown): error is SendwrightError {
    if (typeof error !== "object" || error === null) return false
    const isNamed = "name" in error && error.name === "SendwrightError"
    return isNamed && "code" in error && "issues" in error && "details" in error
  }
  override readonly name = "SendwrightError"
  /**
   * The codes of the REST API: `invalid_request`, `consent_required`, `quota_exceeded`,
   * `idempotency_conflict`, `not_found`, `unavailable`, …; and of this package `invalid_options`, `migration_required`,
   * `transaction_unsupported`, `transaction_conflict` and `inside_transaction`, `handler_failed` and `internal` of what
   * `sw.on("error")` hears, and `handler_late` of the test kit.
   */
  readonly code: string
  /** Every fault of what was given, at most 250; none where nothing given is at fault. */
  readonly issues: ReadonlyArray<Issue>
  /** How long to wait before the same call is worth repeating; null where that helps nothing. */
  readonly retryAfterMs: number | null
  /** What else is known, by the code: `limit` and `used` of `quota_exceeded`, `jobId` of `idempotency_conflict`. */
  readonly details: Readonly<Record<string, unknown>>

  constructor(
    code: string,
    message: string,
    { cause, details = {}, issues = [], retryAfterMs = null }: Details = {}
  ) {
    super(message, cause === undefined ? undefined : { cause })
    this.code = code
    this.issues = issues
    this.retryAfterMs = retryAfterMs
    this.details = details
  }

  /** For logs and answers: all but the stack and the cause. */
  toJSON(): Pick<SendwrightError, "code" | "details" | "issues" | "message" | "name" | "retryAfterMs"> {
    const { code, details, issues, message, name, retryAfterMs } = this
    return { name, code, message, issues, retryAfterMs, details }
  }
}

// `instanceof` asks the same. A class of the app's that extends this one is told by its prototype, like any other.
Object.defineProperty(SendwrightError, Symbol.hasInstance, {
  value(this: unknown, error: unknown): boolean {
    return this === SendwrightError
      ? SendwrightError.is(error)
      : Function.prototype[Symbol.hasInstance].call(this, error)
  }
})
