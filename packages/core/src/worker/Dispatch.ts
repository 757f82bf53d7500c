/**
 * One attempt per recipient of a claimed window: consent once more, then the sender, then what the answer means
 * (decisions.md §4). Used by the send worker, and inline by direct messages.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Random from "effect/Random"
import * as Catalogue from "../domain/Catalogue.ts"
import type * as Consent from "../domain/Consent.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { Failure } from "../domain/Recipient.ts"
import * as Retry from "../domain/Retry.ts"
import type { Line } from "../sender/Lines.ts"
import type { OutboundMessage, SendResult } from "../sender/Sender.ts"
import { canRecover } from "../sender/Sender.ts"
import type { ClaimedJob, Settlement } from "../storage/JobStore.ts"
import { Outcome } from "../storage/JobStore.ts"

type ClaimedRecipient = ClaimedJob["recipients"][number]

const consentGone = (verdict: Consent.Verdict): Failure => ({
  code: "consent_required",
  provider_code: null,
  message:
    verdict._tag === "Revoked"
      ? "The recipient's consent was revoked before the message was sent."
      : "The recipient has no registered consent.",
  permanent: true
})

const senderMissing: Failure = {
  code: "sender_missing",
  provider_code: null,
  message: "This process has no sender for the session's provider.",
  permanent: false
}

const withdrawn: Failure = {
  code: "outcome_unknown",
  provider_code: null,
  message:
    "The consent was withdrawn after an attempt without an outcome; the platform may have the message.",
  permanent: false
}

const senderDefect: Failure = {
  code: "outcome_unknown",
  provider_code: null,
  message: "The sender broke during the attempt; the platform may or may not have the message.",
  permanent: false
}

/** What a failure asks of the engine beside recording it; see `Catalogue.Action`. */
export interface Consequence {
  readonly failure: Failure
  readonly phone: string
}

export interface Attempted {
  readonly outcome: Outcome
  readonly consequence: Consequence | null
}

/** Beyond the recipient, in an order that matters to nobody. */
const concernsOthers: ReadonlySet<Catalogue.Action> = new Set([
  "revoke_marketing",
  "pause_template",
  "disconnect_session",
  "block_session",
  "fail_job"
])

/** What waits until a pause is over: the platform has not taken it, and it costs no attempt. */
const waits: ReadonlySet<Catalogue.Action> = new Set([
  "pause_template",
  "disconnect_session",
  "block_session"
])

/** The rest that a pair of numbers is given: 1, 4, 16, 64, … seconds (whatsapp-cloud.md §1.7). */
const restMs = (attempts: number): number => Time.second * 4 ** (attempts - 1)

/**
 * What a sender's answer means for the recipient.
 *
 * @param uncertain whether the platform may have it from an earlier attempt
 */
export const interpret = (options: {
  readonly result: SendResult
  readonly recoverable: boolean
  readonly uncertain: boolean
  readonly attempts: number
  readonly now: Instant
  readonly draw: number
}): Outcome => {
  const { attempts, recoverable, result } = options
  const again = (failure: Failure, retryAfterMs: number | null, uncertain: boolean): Outcome => {
    const at = Retry.nextSend({ ...options, retryAfterMs })
    if (at !== undefined) return Outcome.Retry({ at, failure, uncertain })
    return uncertain ? Outcome.Unknown({ failure }) : Outcome.Failed({ failure })
  }
  switch (result._tag) {
    case "Accepted":
      return Outcome.Accepted({ providerId: result.providerId, status: result.status })
    case "Held":
      return Outcome.Accepted({ providerId: result.providerId, status: "accepted", held: result.failure })
    case "Rejected": {
      const stopsJob = Catalogue.actionOf(result.failure) === "fail_job"
      return Outcome.Failed({ failure: result.failure, stopsJob })
    }
    case "Transient": {
      const { failure, retryAfterMs } = result
      const action = Catalogue.actionOf(failure)
      if (waits.has(action)) return Outcome.Released({ uncertain: options.uncertain })
      const rest = action === "rest_pair" ? restMs(attempts) : 0
      const least = Math.max(rest, retryAfterMs ?? 0)
      return again(failure, least === 0 ? null : least, options.uncertain)
    }
    case "Ambiguous":
      return recoverable ? again(result.failure, null, true) : Outcome.Unknown({ failure: result.failure })
  }
}

/** A sender that breaks may have sent, so that is ambiguous. */
const guarded = <A>(effect: Effect.Effect<A>): Effect.Effect<A | SendResult> =>
  Effect.catchAllDefect(effect, (defect) =>
    Effect.as(Effect.logError("A sender broke", defect), {
      _tag: "Ambiguous",
      failure: senderDefect
    } satisfies SendResult)
  )

/**
 * One attempt. Where the platform may have the message and can be asked, it is asked first.
 *
 * @param refusal why it must not be sent, though it may be asked for
 */
export const attempt = Effect.fnUntraced(function* (
  line: Line | undefined,
  job: ClaimedJob,
  recipient: ClaimedRecipient,
  refusal: Failure | null = null
) {
  const { attempts, index, phone: to, values } = recipient
  const draw = yield* Random.next
  const meaning = (result: SendResult, uncertain: boolean): Effect.Effect<Attempted> =>
    Effect.map(Clock.currentTimeMillis, (now) => ({
      outcome: interpret({
        result,
        recoverable: line !== undefined && canRecover(line.sender),
        uncertain,
        attempts,
        now,
        draw
      }),
      consequence:
        (result._tag === "Rejected" || result._tag === "Transient") &&
        concernsOthers.has(Catalogue.actionOf(result.failure))
          ? { failure: result.failure, phone: to }
          : null
    }))
  if (line === undefined) {
    return yield* meaning(
      { _tag: "Transient", failure: senderMissing, retryAfterMs: null },
      recipient.uncertain
    )
  }
  const { config, sender } = line
  const message: OutboundMessage = {
    messageId: Ids.messageId(job.jobId, index),
    sessionId: job.sessionId,
    to,
    content: job.content,
    values,
    attempt: attempts,
    config
  }
  if (!recipient.uncertain || sender.lookUp === undefined) {
    return yield* meaning(yield* guarded(sender.send(message)), recipient.uncertain)
  }
  const found = yield* guarded(sender.lookUp(message))
  if (found !== null) return yield* meaning(found, true)
  if (refusal !== null) return { outcome: Outcome.Skipped({ failure: refusal }), consequence: null }
  return yield* meaning(yield* guarded(sender.send(message)), false)
})

const stopped: Failure = {
  code: "outcome_unknown",
  provider_code: null,
  message: "The service stopped during the attempt; the platform may or may not have the message.",
  permanent: false
}

/** The attempts of one window. */
export interface Attempts {
  /** One after the other, to be run as it is taken. May be interrupted. */
  readonly each: Iterable<Effect.Effect<void>>
  /**
   * What became of every recipient, once they have ended. When they were interrupted: what was not begun is due again
   * at no cost, and what was under way too where a repetition does no harm; else it is unknown.
   */
  readonly settlements: () => ReadonlyArray<Settlement>
  /** What the failures ask of the engine. */
  readonly consequences: () => ReadonlyArray<Consequence>
}

/** A window that could not even begin goes back as it was: nothing of it was attempted. */
export const released = ({ fence, jobId, recipients }: ClaimedJob): Attempts => ({
  each: [],
  consequences: () => [],
  settlements: () =>
    recipients.map(({ index }) => ({ jobId, fence, index, outcome: Outcome.Released({ uncertain: false }) }))
})

/**
 * Prepares the attempts.
 *
 * @param verdicts on the consent of each recipient, asked for once more
 */
export const window = (
  line: Line | undefined,
  job: ClaimedJob,
  verdicts: ReadonlyArray<Consent.Verdict>
): Attempts => {
  const outcomes = new Map<number, Outcome>()
  const consequences: Array<Consequence> = []
  const refusals = new Map<number, Failure>()
  const allowed = job.recipients.filter((recipient, place) => {
    const verdict: Consent.Verdict = verdicts[place] ?? { _tag: "Missing" }
    if (verdict._tag === "Granted") return true
    const failure = consentGone(verdict)
    if (!recipient.uncertain) {
      outcomes.set(recipient.index, Outcome.Skipped({ failure }))
      return false
    }
    // The platform may have it from before: it is asked, or nobody knows.
    refusals.set(recipient.index, failure)
    if (line?.sender.lookUp !== undefined) return true
    outcomes.set(recipient.index, Outcome.Unknown({ failure: withdrawn }))
    return false
  })
  const begun = new Set<number>()
  const interrupted = (index: number): Outcome => {
    const harmless = !begun.has(index) || line === undefined || canRecover(line.sender)
    return harmless
      ? Outcome.Released({ uncertain: begun.has(index) })
      : Outcome.Unknown({ failure: stopped })
  }
  function* each() {
    for (const recipient of allowed) {
      const { index } = recipient
      begun.add(index)
      yield Effect.map(attempt(line, job, recipient, refusals.get(index)), ({ consequence, outcome }) => {
        outcomes.set(index, outcome)
        if (consequence !== null) consequences.push(consequence)
      })
    }
  }
  return {
    each: { [Symbol.iterator]: each },
    consequences: () => consequences,
    settlements: () =>
      job.recipients.map(({ index }) => ({
        jobId: job.jobId,
        fence: job.fence,
        index,
        outcome: outcomes.get(index) ?? interrupted(index)
      }))
  }
}
