/**
 * Every reason for which a platform does not take a message: our code, the platform's own codes, whom it concerns and
 * what the engine does about it. Senders translate into these codes; a code that is not here ends its recipient, or is
 * tried again until the time is over, and changes nothing else. The WhatsApp codes and their meanings are the platform's documented ones (error codes of the Cloud API).
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Failure } from "../job/Recipient.ts"

/** The scope of a failure: what else would fail for the same reason. */
export type Scope = "recipient" | "pair" | "template" | "session" | "account"

/**
 * What the engine does beside recording it: nothing more; another attempt later; another attempt when the pair of
 * numbers had a rest; the consent to marketing is revoked; the rest of the job fails; the jobs of the template pause
 * until the platform approves it again; the session is disconnected; the session's jobs pause for a time.
 */
export type Action =
  | "fail"
  | "retry"
  | "rest_pair"
  | "revoke_marketing"
  | "fail_job"
  | "pause_template"
  | "disconnect_session"
  | "block_session"

export interface Entry {
  readonly code: string
  /** Of the WhatsApp Cloud API. */
  readonly whatsapp: ReadonlyArray<number>
  /** True when the same attempt would fail again, whenever it is made. */
  readonly permanent: boolean
  readonly scope: Scope
  readonly action: Action
  readonly message: string
  /** For `block_session`. */
  readonly blockMs?: number
}

const entry = (
  code: string,
  whatsapp: ReadonlyArray<number>,
  permanent: boolean,
  scope: Scope,
  action: Action,
  message: string,
  blockMs?: number
): Entry => ({
  code,
  whatsapp,
  permanent,
  scope,
  action,
  message,
  ...(blockMs === undefined ? {} : { blockMs })
})

const permissions = [3, 10, 131005, ...Array.from({ length: 100 }, (_, n) => 200 + n)]

export const entries: ReadonlyArray<Entry> = [
  entry(
    "recipient_unreachable",
    [131026],
    true,
    "recipient",
    "fail",
    "The number cannot be reached on the platform."
  ),
  entry("recipient_blocked", [130403], true, "recipient", "fail", "The sender has blocked the recipient."),
  entry(
    "recipient_not_allowed",
    [131030],
    true,
    "recipient",
    "fail",
    "The number is not on the test number's list."
  ),
  entry(
    "recipient_is_sender",
    [131021],
    true,
    "recipient",
    "fail",
    "Sender and recipient are the same number."
  ),
  entry(
    "recipient_in_experiment",
    [130472],
    true,
    "recipient",
    "fail",
    "The platform holds the recipient out of it."
  ),
  entry(
    "marketing_limited",
    [131049],
    true,
    "recipient",
    "fail",
    "The platform limits marketing to this person; not before a day has passed."
  ),
  entry(
    "marketing_opted_out",
    [131050],
    true,
    "recipient",
    "revoke_marketing",
    "The person has stopped marketing messages from this sender."
  ),
  entry(
    "window_closed",
    [131047],
    true,
    "recipient",
    "fail",
    "More than 24 hours since the person's last message: only a template may be sent."
  ),
  entry(
    "media_unusable",
    [131052, 131053],
    false,
    "recipient",
    "retry",
    "The platform could not load the media."
  ),
  entry(
    "message_invalid",
    [33, 100, 131008, 131009, 131051, 135000],
    true,
    "recipient",
    "fail",
    "The message is not valid."
  ),
  entry(
    "content_refused",
    [132005, 132007, 132012, 132018, 132068],
    true,
    "recipient",
    "fail",
    "The platform refuses the template with these values."
  ),
  entry(
    "template_mismatch",
    [132000],
    true,
    "template",
    "fail_job",
    "The template has another number of variables."
  ),
  entry(
    "template_missing",
    [132001],
    true,
    "template",
    "fail_job",
    "The platform has no approved template of this name and language."
  ),
  entry(
    "template_disabled",
    [132016],
    true,
    "template",
    "fail_job",
    "The platform has disabled the template."
  ),
  entry(
    "template_paused",
    [132015],
    false,
    "template",
    "pause_template",
    "The platform has paused the template for its quality."
  ),
  entry(
    "pair_rate_limited",
    [131056],
    false,
    "pair",
    "rest_pair",
    "Too many messages to this person in a short time."
  ),
  entry(
    "provider_rate_limited",
    [4, 80007, 130429, 132069],
    false,
    "session",
    "retry",
    "The platform asks to slow down."
  ),
  entry(
    "provider_unavailable",
    [1, 2, 131000, 131016, 131057, 133004],
    false,
    "session",
    "retry",
    "The platform is unavailable for the moment."
  ),
  entry(
    "credentials_rejected",
    [0, 104, 190],
    false,
    "session",
    "disconnect_session",
    "The platform does not accept the access token."
  ),
  entry(
    "number_not_registered",
    [131045, 133010],
    false,
    "session",
    "disconnect_session",
    "The sender's number is not registered with the platform."
  ),
  entry(
    "permission_missing",
    permissions,
    true,
    "session",
    "fail_job",
    "The access token lacks a permission."
  ),
  entry(
    "number_restricted",
    [131048],
    false,
    "session",
    "block_session",
    "The platform restricts the sender's number for its quality.",
    4 * Time.hour
  ),
  entry(
    "account_limited",
    [131064],
    false,
    "account",
    "block_session",
    "The platform has lowered the account's limit.",
    Time.day
  ),
  entry(
    "account_blocked",
    [368, 130497, 131031],
    false,
    "account",
    "block_session",
    "The platform has blocked the account.",
    Time.day
  ),
  entry(
    "payment_required",
    [131042],
    false,
    "account",
    "block_session",
    "The platform has a problem with the account's payment.",
    Time.hour
  )
]

const byCode: ReadonlyMap<string, Entry> = new Map(entries.map((each) => [each.code, each]))
const byWhatsApp: ReadonlyMap<number, Entry> = new Map(
  entries.flatMap((each) => each.whatsapp.map((code) => [code, each] as const))
)

export const find = (code: string): Entry | undefined => byCode.get(code)

export const findWhatsApp = (code: number): Entry | undefined => byWhatsApp.get(code)

/** The engine's answer to a failure; a code of which nothing is known changes nothing but its recipient. */
export const actionOf = ({ code, permanent }: Failure): Action =>
  byCode.get(code)?.action ?? (permanent ? "fail" : "retry")

/** True when its recipient is the cause of a failure: it has eight attempts at most, within the time that others have. */
export const isOfRecipient = ({ code }: Failure): boolean => {
  const scope = byCode.get(code)?.scope
  return scope === "recipient" || scope === "pair"
}

/** How long a session's jobs pause; an hour where nothing is said. */
export const blockedUntil = ({ code }: Failure, now: Instant): Instant =>
  now + (byCode.get(code)?.blockMs ?? Time.hour)

/** A failure by our code, with what the platform said of it. */
export const failure = (
  code: string,
  reported: { readonly providerCode: string | null; readonly message?: string | undefined }
): Failure => ({
  code,
  provider_code: reported.providerCode,
  message: reported.message ?? byCode.get(code)?.message ?? code,
  permanent: byCode.get(code)?.permanent ?? true
})
