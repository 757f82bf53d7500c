/**
 * Every reason for which a platform refuses a message: our code, the platform's own codes, whom it concerns and what
 * the engine does about it. Senders translate into these codes. A code that is not listed ends its recipient or is
 * retried within the usual time, and has no other effect. The WhatsApp codes and their meanings are those of
 * contract.md §W1.6, §1.12 and §1.13, as they were read on {@link asOf}.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import type { Failure } from "../job/Recipient.ts"

/** The day on which the platform's list of codes was last read. */
export const asOf = "2026-11-28"

/** The scope of a failure: what else would fail for the same reason. */
export type Scope = "recipient" | "pair" | "template" | "session" | "account"

/**
 * What the engine does in addition to recording the failure, in the order of the members: nothing; another attempt
 * later; another attempt after the pair of numbers has rested; the consent to marketing is revoked; the rest of the
 * job fails; the template is fetched, and its jobs wait until then; the template's jobs pause until the platform approves it again; the session is disconnected; the
 * session's jobs pause for a time.
 */
export type Action =
  | "fail"
  | "retry"
  | "rest_pair"
  | "revoke_marketing"
  | "fail_job"
  | "check_template"
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

/** One failure: the platform's codes for it, and its message. */
type Said = readonly [whatsapp: Entry["whatsapp"], message: string]

/** The failures that have the same effects, by their codes. */
const entriesWith = (
  effects: Pick<Entry, "permanent" | "scope" | "action" | "blockMs">,
  failures: Readonly<Record<string, Said>>
): ReadonlyArray<Entry> =>
  Object.entries(failures).map(([code, [whatsapp, message]]) => ({ code, whatsapp, ...effects, message }))

const permissions = [3, 131005, ...Array.from({ length: 100 }, (_, n) => 200 + n)]

export const entries: ReadonlyArray<Entry> = [
  ...entriesWith(
    { permanent: true, scope: "recipient", action: "fail" },
    {
      recipient_unreachable: [[131026], "The number cannot be reached on the platform."],
      recipient_blocked: [[130403], "The sender has blocked the recipient."],
      recipient_not_allowed: [[131030], "The number is not on the test number's list."],
      recipient_is_sender: [[131021], "Sender and recipient are the same number."],
      recipient_in_experiment: [[130472], "The platform holds the recipient out of it."],
      recipient_refused: [[131061], "The platform takes no such message to this recipient."],
      user_id_refused: [[131062], "A message of this kind needs the person's number, not a user id."],
      country_restricted: [[130497], "No such message may be sent to people of this country."],
      marketing_limited: [
        [131049],
        "The platform limits marketing to this person; not before a day has passed."
      ],
      window_closed: [
        [131047],
        "More than 24 hours since the person's last message: only a template may be sent."
      ],
      message_invalid: [[33, 100, 131008, 131009, 131051, 135000], "The message is not valid."],
      message_refused: [[131063], "The platform does not take a message of this kind."],
      content_refused: [[132005, 132007, 132068], "The platform refuses the template with these values."]
    }
  ),
  ...entriesWith(
    { permanent: true, scope: "recipient", action: "revoke_marketing" },
    {
      marketing_opted_out: [[131050], "The person has stopped marketing messages from this sender."]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "recipient", action: "retry" },
    {
      media_unusable: [[131052, 131053], "The platform could not load the media."]
    }
  ),
  ...entriesWith(
    { permanent: true, scope: "template", action: "check_template" },
    {
      template_mismatch: [
        [132000, 132012, 132018],
        "The values do not fit the template as the platform has it."
      ]
    }
  ),
  ...entriesWith(
    { permanent: true, scope: "template", action: "fail_job" },
    {
      template_missing: [[132001], "The platform has no approved template of this name and language."],
      template_disabled: [[132016], "The platform has disabled the template."],
      template_unavailable: [[134102], "The platform cannot send the template at this endpoint."],
      template_not_marketing: [[134100], "This endpoint of the platform takes marketing templates only."]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "template", action: "retry" },
    {
      template_syncing: [
        [134101],
        "The platform is not ready to send the template yet; it takes some minutes."
      ]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "template", action: "pause_template" },
    {
      template_paused: [[132015], "The platform has paused the template for its quality."]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "pair", action: "rest_pair" },
    {
      pair_rate_limited: [[131056], "Too many messages to this person in a short time."]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "session", action: "retry" },
    {
      provider_rate_limited: [[4, 17, 32, 613, 80007, 130429, 132069], "The platform asks to slow down."],
      provider_unavailable: [
        [1, 2, 131000, 131016, 131057, 133004],
        "The platform is unavailable for the moment."
      ]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "session", action: "disconnect_session" },
    {
      credentials_rejected: [[0, 104, 190], "The platform does not accept the access token."],
      number_not_registered: [[131045, 133010], "The sender's number is not registered with the platform."],
      number_deleted: [[133015], "The sender's number is being deleted from the platform."],
      api_unknown: [
        [12, 2500, 2635],
        "The platform has no such version or path of its API. Change the session's `api_version`."
      ]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "account", action: "disconnect_session" },
    {
      account_inaccessible: [
        [10, 803],
        "The number or the account does not exist, or the access token may not use it."
      ]
    }
  ),
  ...entriesWith(
    { permanent: true, scope: "session", action: "fail_job" },
    {
      permission_missing: [permissions, "The access token lacks a permission."],
      endpoint_not_allowed: [[131055], "The account may not send at this endpoint of the platform."]
    }
  ),
  ...entriesWith(
    { permanent: true, scope: "account", action: "fail_job" },
    {
      terms_not_accepted: [[134011], "The account has not accepted the platform's terms for this message."],
      direct_send_blocked: [[139200], "The platform has blocked the account from sending without a template."]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "session", action: "block_session", blockMs: 4 * Time.hour },
    {
      number_restricted: [[131048], "The platform restricts the sender's number for its quality."]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "account", action: "block_session", blockMs: Time.day },
    {
      account_limited: [[131064], "The platform has lowered the account's limit."],
      account_blocked: [[368, 131031], "The platform has blocked the account."]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "session", action: "block_session", blockMs: Time.hour },
    {
      registration_limited: [[133016], "The sender's number was registered too often in a short time."]
    }
  ),
  ...entriesWith(
    { permanent: false, scope: "account", action: "block_session", blockMs: Time.hour },
    {
      payment_required: [[131042], "The platform has a problem with the account's payment."],
      name_not_approved: [[131037], "The platform has not approved the sender's display name."]
    }
  )
]

const byCode: ReadonlyMap<string, Entry> = new Map(entries.map((each) => [each.code, each]))
const byWhatsApp: ReadonlyMap<number, Entry> = new Map(
  entries.flatMap((each) => each.whatsapp.map((code) => [code, each] as const))
)

export const find = (code: string): Entry | undefined => byCode.get(code)

/** @param subcode 33 of 100 is of the account, and no other is of a row of its own (contract.md §W1.13) */
export const findWhatsApp = (code: number, subcode?: number): Entry | undefined =>
  code === 100 && subcode === 33 ? byCode.get("account_inaccessible") : byWhatsApp.get(code)

/** Each action in words, for whoever reads of the failure. */
const consequences: Readonly<Record<Action, string>> = {
  fail: "It would fail again in the same way: mend the cause, then retry the job.",
  retry: "It is tried again by itself; nothing is to be done unless it goes on.",
  rest_pair: "It is tried again by itself, after rests that grow.",
  revoke_marketing: "The consent to marketing is revoked: leave the person out.",
  fail_job: "The rest of its job fails, too: mend the cause, then retry the job.",
  check_template:
    "The template is fetched, and its jobs wait until then; what no longer fits fails. Send with values that fit.",
  pause_template: "The template's jobs are paused until the platform approves it again.",
  disconnect_session: "The session is disconnected and its jobs wait: mend the cause, then connect it.",
  block_session: "The session's jobs are paused for a time, and then go on by themselves."
}

/** Failures that the engine itself tells, and what is to be done about each. */
export const own: Readonly<Record<string, string>> = {
  consent_required:
    "The person's consent was withdrawn before it was sent, or there was none. Who withdrew it alone can give it again: leave the person out.",
  outcome_unknown:
    "The platform may have the message, so that it is not sent again by itself; a receipt settles it. Retry what is safe to send twice.",
  outcome_unstorable:
    "The database did not take what the platform answered. Read the service's log before it is retried.",
  platform_restriction:
    "The platform restricts the session's answers to people. They go again once its restriction ends, or an operator ends it.",
  poisoned:
    "Every process that sent it ended, so that it is not tried again. Read their logs, then retry what is safe to send twice.",
  restored:
    "It waited when the store was restored from a backup, and the platform may have it. Retry what is safe to send twice.",
  sender_missing:
    "The process has no sender for the session's provider. Start the service with that sender, then retry the job.",
  gateway_redirects: "The gateway answered with a redirect. Set `url` to where it leads, then retry the job.",
  gateway_refused: `The gateway refused the message with a code of its own, which is \`provider_code\`. ${consequences.fail}`,
  provider_redirects:
    "The platform answered with a redirect. Set `base_url` to where it leads, then retry the job.",
  provider_refused: `The platform refused the message with a code that is not listed, which is \`provider_code\`. ${consequences.fail}`,
  undeliverable: `The platform reported that the message failed, without a reason. ${consequences.fail}`,
  provider_unreachable: `The platform could not be reached. ${consequences.retry}`
}

/** The meaning of a failure by its code, or by WhatsApp's own: what it is, what is done about it, and what is left to do. */
export const explain = (given: string): { readonly code: string; readonly text: string } | undefined => {
  const text = new Map(Object.entries(own)).get(given)
  if (text !== undefined) return { code: given, text }
  const found = byCode.get(given) ?? (/^\d{1,9}$/.test(given) ? byWhatsApp.get(Number(given)) : undefined)
  return found && { code: found.code, text: `${found.message} ${consequences[found.action]}` }
}

/** The engine's action for a failure; an unknown code affects only its recipient. */
export const actionOf = ({ code, permanent }: Failure): Action =>
  byCode.get(code)?.action ?? (permanent ? "fail" : "retry")

const ofOthers: ReadonlySet<Action> = new Set([
  "pause_template",
  "check_template",
  "disconnect_session",
  "block_session",
  "fail_job"
])

/** True when a failure asks for something beyond its recipient. */
export const concernsOthers = (failure: Failure): boolean => ofOthers.has(actionOf(failure))

/** All actions, those that concern most people first. */
const byWeight: ReadonlyArray<Action> = [
  "disconnect_session",
  "block_session",
  "fail_job",
  "pause_template",
  "check_template",
  "revoke_marketing",
  "fail",
  "rest_pair",
  "retry"
]

/** Of several failures of one message the one that asks for most, and the first of those that ask for the same. */
export const heaviest = (failures: ReadonlyArray<Failure>): Failure | undefined =>
  failures.toSorted((a, b) => byWeight.indexOf(actionOf(a)) - byWeight.indexOf(actionOf(b)))[0]

/** True of the refusal of a free text that came too long after the person's last message; no template is refused for it. */
export const isOfWindow = (failure: Pick<Failure, "code"> | null): boolean =>
  failure?.code === "window_closed"

/** True when its recipient is the cause of a failure: it has eight attempts at most, within the time that others have. */
export const isOfRecipient = ({ code }: Failure): boolean => {
  const scope = byCode.get(code)?.scope
  return scope === "recipient" || scope === "pair"
}

/** The end of the pause of a session's jobs: an hour after the attempt where the entry has no time. */
export const blockedUntil = ({ code }: Failure, attemptedAt: Instant): Instant =>
  Time.after(attemptedAt, byCode.get(code)?.blockMs ?? Time.hour)

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
