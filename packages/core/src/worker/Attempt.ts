/**
 * One attempt per recipient: consent once more, then the sender, then what the answer means (contract.md §4). Used by the
 * send loop, and inline by direct messages.
 */

import * as Effect from "effect/Effect"
import { constFalse } from "effect/Function"
import * as Random from "effect/Random"
import type { Address } from "../domain/Address.ts"
import type { Refusal } from "../domain/consent/Consent.ts"
import * as Consents from "../domain/consent/Consent.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Job from "../domain/job/Job.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as When from "../domain/job/When.ts"
import * as Retry from "../domain/Retry.ts"
import * as ClosedMarkets from "../domain/session/ClosedMarkets.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Connection } from "../domain/session/Session.ts"
import * as Traces from "../runtime/Traces.ts"
import * as Sanitize from "../sender/Sanitize.ts"
import type { Named, OutboundMessage, SendResult } from "../sender/Sender.ts"
import { canRecover, isAnswered, isCheckAnswered, recipientOf } from "../sender/Sender.ts"
import type { SessionSender } from "../sender/SessionSender.ts"
import { portfolioOf } from "../sender/SessionSender.ts"
import type { Inbound } from "../storage/InboundStore.ts"
import type { ClaimedJob, Settlement } from "../storage/JobStore.ts"
import { Outcome } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { SessionCircuit } from "./Circuits.ts"
import * as InboundOfAnswer from "./InboundOfAnswer.ts"

export type ClaimedRecipient = ClaimedJob["recipients"][number]

const consentGone = (refusal: Refusal, purpose: Consents.Purpose): Failure => ({
  code: "consent_required",
  provider_code: null,
  message: Consents.refusalText(refusal, purpose),
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

/** The platform refused a message after an attempt without an outcome, and cannot say what became of that one. */
const refusedLater = ({ provider_code }: Failure): Failure => ({
  code: "outcome_unknown",
  provider_code,
  message:
    "The platform refused the message after an attempt without an outcome; it may have it from that one.",
  permanent: false
})

/** A direct message that may not be tried again, because consent ended between two attempts. */
export const withoutConsent = (refusal: Refusal, { content }: ClaimedJob, maybeSent: boolean): Outcome =>
  maybeSent
    ? Outcome.Unknown({ failure: withdrawn })
    : Outcome.Failed({ failure: consentGone(refusal, Job.purpose(content)) })

export interface Attempted {
  readonly outcome: Outcome
  /** A failure that asks more of the engine than to be recorded; see `FailureCatalogue.Action`. */
  readonly actionable: Failure | null
  /** The answer's news of the person: an opt-out, or another name. */
  readonly inbound: Inbound | null
  /** True when the platform answered, and false when it did not; null when nobody can tell. */
  readonly answered: boolean | null
  /** False when the platform was not asked at all. */
  readonly asked?: false
  /** True when another attempt may pass, though its time may be over: while the platform does not answer it costs none. */
  readonly mayPass: boolean
}

/** The actions whose message waits until a pause is over: the platform has not accepted it, and it costs no attempt. */
const waits: ReadonlySet<FailureCatalogue.Action> = new Set([
  "pause_template",
  "disconnect_session",
  "block_session"
])

/** The message is tried again, if it has an attempt left. */
interface Again {
  readonly _tag: "Again"
  readonly failure: Failure
  readonly retryAfterMs: number | null
  readonly maybeSent: boolean
}

/**
 * What a sender's answer means for the recipient.
 *
 * @param maybeSent whether the platform may have it from an earlier attempt
 */
const meaningOf = (
  result: SendResult,
  { attempts, rate }: ClaimedRecipient,
  recoverable: boolean,
  maybeSent: boolean
): Outcome | Again => {
  const priced = rate === undefined ? {} : { rate }
  switch (result._tag) {
    case "Accepted":
      return Outcome.Accepted({ providerId: result.providerId, status: result.status, ...priced })
    case "Held":
      return Outcome.Accepted({
        providerId: result.providerId,
        status: "accepted",
        held: result.failure,
        ...priced
      })
    case "Rejected": {
      // The answer says nothing of an attempt before it, unless both are one to the platform.
      if (maybeSent && !recoverable) return Outcome.Unknown({ failure: refusedLater(result.failure) })
      const stopsJob = FailureCatalogue.actionOf(result.failure) === "fail_job"
      return Outcome.Failed({ failure: result.failure, stopsJob })
    }
    case "Transient": {
      const { failure, retryAfterMs } = result
      const action = FailureCatalogue.actionOf(failure)
      if (waits.has(action)) return Outcome.Released({ maybeSent, failure })
      const rest = action === "rest_pair" ? Retry.pairRest(attempts) : null
      // A sender of an embedder's own may have read no number out of a header.
      const asked = retryAfterMs !== null && retryAfterMs > (rest ?? 0) ? retryAfterMs : rest
      return { _tag: "Again", failure, retryAfterMs: asked, maybeSent }
    }
    case "Ambiguous": {
      const { failure } = result
      return recoverable
        ? { _tag: "Again", failure, retryAfterMs: null, maybeSent: true }
        : Outcome.Unknown({ failure })
    }
  }
}

/** Retries after a random backoff; gives up when its time or its attempts are used up. */
const again = (
  sessionSender: SessionSender | undefined,
  { content }: ClaimedJob,
  { attempts, firstAttemptAt }: ClaimedRecipient,
  { failure, maybeSent, retryAfterMs }: Again
): Effect.Effect<Outcome> =>
  Effect.zipWith(Time.now, Random.next, (now, fraction) => {
    const windowMs = Retry.sendWindow(Job.purpose(content), sessionSender?.retryForMs ?? null)
    const at = Retry.nextSend({
      attempts,
      firstAttemptAt,
      windowMs,
      failure,
      now,
      fraction,
      retryAfterMs
    })
    if (at !== undefined) return Outcome.Retry({ at, failure, maybeSent })
    return maybeSent ? Outcome.Unknown({ failure }) : Outcome.Failed({ failure })
  })

/** The person who got the message, as the platform's answer names them. */
const named = (
  sessionSender: SessionSender | undefined,
  job: ClaimedJob,
  recipient: ClaimedRecipient,
  { named }: { readonly named?: Named }
): Inbound | null =>
  named === undefined
    ? null
    : InboundOfAnswer.named(job, recipient, named, portfolioOf(sessionSender, job.sessionId))

const meaning = (
  sessionSender: SessionSender | undefined,
  job: ClaimedJob,
  recipient: ClaimedRecipient,
  said: SendResult,
  maybeSent: boolean,
  answered: boolean | null = isAnswered(said)
): Effect.Effect<Attempted> => {
  const result = Sanitize.sendResult(said, sessionSender?.config)
  const recoverable = sessionSender !== undefined && canRecover(sessionSender.sender)
  const meant = meaningOf(result, recipient, recoverable, maybeSent)
  if (result._tag === "Accepted" && meant._tag !== "Again") {
    const inbound = named(sessionSender, job, recipient, result)
    return Effect.succeed({ outcome: meant, actionable: null, inbound, answered, mayPass: false })
  }
  const mayPass = meant._tag === "Again"
  const outcome = meant._tag === "Again" ? again(sessionSender, job, recipient, meant) : Effect.succeed(meant)
  if (result._tag !== "Rejected" && result._tag !== "Transient") {
    const inbound = result._tag === "Held" ? named(sessionSender, job, recipient, result) : null
    return Effect.map(outcome, (outcome) => ({ outcome, actionable: null, inbound, answered, mayPass }))
  }
  const { failure } = result
  const actionable = FailureCatalogue.concernsOthers(failure) ? failure : null
  const inbound = InboundOfAnswer.optOut(job, recipient, failure)
  return Effect.map(outcome, (outcome) => ({ outcome, actionable, inbound, answered, mayPass }))
}

/** A sender that breaks may have sent, so that is ambiguous. */
const broken = (
  sessionSender: SessionSender | undefined,
  job: ClaimedJob,
  recipient: ClaimedRecipient,
  defect: unknown
): Effect.Effect<Attempted> =>
  Effect.zipRight(
    Effect.logError("A sender broke", Sanitize.defect(defect, sessionSender?.config)),
    meaning(
      sessionSender,
      job,
      recipient,
      { _tag: "Ambiguous", failure: senderDefect },
      recipient.maybeSent,
      null
    )
  )

/**
 * True when a probe is not sent because of what the platform's own check says: nobody answers, or the session may send
 * nothing. Any other answer says too little: a platform may answer a check and no message.
 */
const sparesProbe = (failure: Failure): boolean =>
  !isCheckAnswered(failure) || (!failure.permanent && waits.has(FailureCatalogue.actionOf(failure)))

/**
 * True when nobody else can have the recipients of a claim meanwhile, as after a process was frozen (`Heartbeat.stillOwns`). It
 * is asked directly before each message is sent.
 */
export type StillOwns = () => boolean

/** Nothing was sent: others may have the recipient, and it is due again at no cost if they have not. */
const givenUp: Attempted = {
  outcome: Outcome.Released({ maybeSent: false }),
  actionable: null,
  inbound: null,
  answered: null,
  asked: false,
  mayPass: false
}

/** Milliseconds for which an answer on consent holds: about as long as a claim begins attempts. */
const consentValidMs = 1000

/** True while an answer holds that was asked for at that time. After a wait it does not. */
export const isFresh = (askedAt: Instant, now: Instant): boolean =>
  now >= askedAt && now - askedAt <= consentValidMs

/** The answer on the consent of a claim's people, which is asked for anew once it is old. */
export interface Consent {
  readonly isFresh: () => boolean
  readonly askAgain: (address: Address) => Effect.Effect<Refusal | undefined, StorageError>
}

/** The message to a recipient, and with what it is sent. */
interface Prepared {
  readonly sessionSender: SessionSender
  readonly job: ClaimedJob
  readonly recipient: ClaimedRecipient
  readonly message: OutboundMessage
  readonly stillOwns: StillOwns
  readonly consent: Consent
  readonly turnOf: TurnOf
}

/** The outcome of an attempt that is not made for its time; undefined where it is made. */
const untimely = (turn: When.Turn, maybeSent: boolean): Outcome | undefined => {
  switch (turn._tag) {
    case "Now":
      return undefined
    case "Later":
      return Outcome.Released({ maybeSent, at: turn.at })
    case "Expired":
    case "Never":
    case "Outside": {
      const failure = When.failureOf(turn._tag)
      return maybeSent ? Outcome.Unknown({ failure }) : Outcome.Skipped({ failure })
    }
  }
}

/** The failure's code is the catalogue's own, or one that a sender names; its words may be the platform's. */
const toldOf = (result: SendResult): Readonly<Record<string, string>> =>
  "failure" in result
    ? {
        "sendwright.outcome": result._tag,
        "error.type": FailureCatalogue.find(result.failure.code)?.code ?? "other"
      }
    : { "sendwright.outcome": result._tag }

const sendNow = (prepared: Prepared, maybeSent: boolean): Effect.Effect<Attempted> => {
  const { job, message, recipient, sessionSender, stillOwns } = prepared
  return stillOwns()
    ? Effect.flatMap(
        Traces.asking(
          job.traceparent,
          "Sendwright.attempt",
          () => ({
            "sendwright.message_id": message.messageId,
            "sendwright.session_id": message.sessionId,
            "sendwright.provider": sessionSender.sender.provider,
            "sendwright.attempt": message.attempt
          }),
          (traceparent) =>
            sessionSender.sender.send(traceparent === null ? message : { ...message, traceparent }),
          toldOf
        ),
        (result) => meaning(sessionSender, job, recipient, result, maybeSent)
      )
    : Effect.succeed(givenUp)
}

/** Nothing was attempted: its consent is gone. */
const refused = (refusal: Refusal, { content }: ClaimedJob, maybeSent: boolean): Attempted => ({
  ...givenUp,
  outcome: maybeSent
    ? Outcome.Unknown({ failure: withdrawn })
    : Outcome.Skipped({ failure: consentGone(refusal, Job.purpose(content)) })
})

/** Sends, if the person still consents and its hours have not ended after what was waited for: a look-up, a check, the end of others' attempts. */
const send = (prepared: Prepared, maybeSent: boolean): Effect.Effect<Attempted> => {
  const { consent, job, recipient, turnOf } = prepared
  if (consent.isFresh()) return sendNow(prepared, maybeSent)
  return Effect.matchCauseEffect(consent.askAgain(recipient.address), {
    onFailure: (cause) =>
      Effect.as(
        Effect.logError("A message was not sent, since its consent could not be asked for", cause),
        givenUp
      ),
    onSuccess: (refusal) =>
      refusal !== undefined
        ? Effect.succeed(refused(refusal, job, maybeSent))
        : Effect.flatMap(Time.now, (now) => {
            const outcome = untimely(turnOf(recipient, now), maybeSent)
            return outcome === undefined
              ? sendNow(prepared, maybeSent)
              : Effect.succeed({ ...givenUp, outcome })
          })
  })
}

/** The platform may have the message: it is asked first where it can be. */
const lookUpOrSend = (prepared: Prepared, refusal: Failure | undefined): Effect.Effect<Attempted> => {
  const { job, message, recipient, sessionSender } = prepared
  const { lookUp } = sessionSender.sender
  if (lookUp === undefined) return send(prepared, true)
  return Effect.flatMap(lookUp(message), (found) => {
    if (found !== null) {
      // A platform that cannot tell yet is not silent.
      const answered = found._tag === "Ambiguous" ? (found.answered ?? null) : isAnswered(found)
      return meaning(sessionSender, job, recipient, found, true, answered)
    }
    if (refusal === undefined) return send(prepared, false)
    const outcome = Outcome.Skipped({ failure: refusal })
    return Effect.succeed({ outcome, actionable: null, inbound: null, answered: true, mayPass: false })
  })
}

/** A probe is a person's message: where the platform can be asked otherwise, it is spared a time-out. */
const checkFirst = (
  { job, recipient, sessionSender }: Prepared,
  attempt: Effect.Effect<Attempted>
): Effect.Effect<Attempted> => {
  const { config, sender } = sessionSender
  if (sender.check === undefined) return attempt
  return Effect.flatMap(sender.check(config), (failure) => {
    if (failure === null || !sparesProbe(failure)) return attempt
    const transient = { _tag: "Transient", failure, retryAfterMs: null } as const
    // Not the answer to a message, which alone ends an outage.
    const answered = isCheckAnswered(failure) ? null : false
    return meaning(sessionSender, job, recipient, transient, recipient.maybeSent, answered)
  })
}

/** Dies when the sender breaks. */
const tried = (
  sessionSender: SessionSender | undefined,
  job: ClaimedJob,
  recipient: ClaimedRecipient,
  refusal: Failure | undefined,
  stillOwns: StillOwns,
  consent: Consent,
  turnOf: TurnOf
): Effect.Effect<Attempted> => {
  const { address, attempts, index, maybeSent, values } = recipient
  if (sessionSender === undefined) {
    return meaning(
      sessionSender,
      job,
      recipient,
      { _tag: "Transient", failure: senderMissing, retryAfterMs: null },
      maybeSent,
      null
    )
  }
  const message: OutboundMessage = {
    messageId: Ids.messageId(job.jobId, index),
    sessionId: job.sessionId,
    ...recipientOf(address),
    content: job.content,
    values,
    attempt: attempts,
    config: sessionSender.config
  }
  const prepared = { sessionSender, job, recipient, message, stillOwns, consent, turnOf }
  const made = Effect.suspend(() => (maybeSent ? lookUpOrSend(prepared, refusal) : send(prepared, false)))
  return job.probe ? checkFirst(prepared, made) : made
}

/** One attempt of what goes at once. */
export const attempt = (
  sessionSender: SessionSender | undefined,
  job: ClaimedJob,
  recipient: ClaimedRecipient,
  stillOwns: StillOwns,
  consent: Consent
): Effect.Effect<Attempted> =>
  Effect.suspend(() => tried(sessionSender, job, recipient, undefined, stillOwns, consent, always)).pipe(
    Effect.catchAllDefect((defect) => broken(sessionSender, job, recipient, defect))
  )

const stopped: Failure = {
  code: "outcome_unknown",
  provider_code: null,
  message: "The service stopped during the attempt; the platform may or may not have the message.",
  permanent: false
}

/** The outcome of an attempt that costs none, in the place of another attempt or of the end. */
const spared = (outcome: Outcome): Outcome =>
  Outcome.Released({
    maybeSent: outcome._tag === "Unknown" || (outcome._tag === "Retry" && outcome.maybeSent),
    ...("failure" in outcome && outcome.failure !== undefined ? { failure: outcome.failure } : {})
  })

/** The attempts of one job's recipients that a claim brought. */
export interface Attempts {
  /** Recipients who are to be attempted, in their order. */
  readonly queue: ReadonlyArray<ClaimedRecipient>
  /** What became of the others: they may have nothing any more. */
  readonly settled: ReadonlyArray<Settlement>
  /** With what they are made (`FailureActions.Apply`); undefined where nothing is attempted. */
  readonly connection: Connection | undefined
  /** False once the platform does not answer. */
  readonly goesOn: () => boolean
  /** Dies when the sender breaks. */
  begin(recipient: ClaimedRecipient): Effect.Effect<Attempted>
  broken(recipient: ClaimedRecipient, defect: unknown): Effect.Effect<Attempted>
  /** What became of one who was attempted. */
  settle(recipient: ClaimedRecipient, attempted: Attempted): Settlement
  /** One who is not attempted. */
  skip(recipient: ClaimedRecipient, failure: Failure): Settlement
  /** One whose attempt did not begin is due again, at no cost. */
  release(recipient: ClaimedRecipient): Settlement
  /** One whose attempt was interrupted is due again at no cost where a repetition does no harm; else it is unknown. */
  interrupt(recipient: ClaimedRecipient): Settlement
}

/**
 * Why recipients of a claim may have nothing any more, by their places: consent is asked for once more. A job's recipients
 * begin at `offset`.
 */
interface Refusals {
  readonly byPlace: ReadonlyMap<number, Refusal>
  readonly offset: number
  readonly now: Instant
  /** Whether somebody is in a market that is closed for what is sent. */
  readonly isClosed: ClosedMarkets.IsClosed
  readonly consent: Consent
  readonly turnOf: TurnOf
}

/** Whether it is a recipient's turn. */
export type TurnOf = (recipient: ClaimedRecipient, now: Instant) => When.Turn

/** The turn of messages without a time: now. */
export const always: TurnOf = () => ({ _tag: "Now" })

/** Why one may not be attempted; or, where the platform may have the message and can be asked, why it may not be sent again. */
const refusalOf = (
  { address, maybeSent }: ClaimedRecipient,
  refusal: Refusal | undefined,
  purpose: Consents.Purpose,
  isClosed: ClosedMarkets.IsClosed,
  canLookUp: boolean,
  turn: When.Turn
): Outcome | Failure | undefined => {
  if (refusal === undefined) {
    // A message that the platform may have is the platform's to answer.
    if (!maybeSent && isClosed(address)) return Outcome.Failed({ failure: ClosedMarkets.failure })
    const isOver = turn._tag !== "Now" && turn._tag !== "Later"
    return isOver && maybeSent && canLookUp ? When.failureOf(turn._tag) : untimely(turn, maybeSent)
  }
  const failure = consentGone(refusal, purpose)
  if (!maybeSent) return Outcome.Skipped({ failure })
  return canLookUp ? failure : Outcome.Unknown({ failure: withdrawn })
}

/** While the session's circuit is open a failed attempt costs none. */
export const prepareAttempts = (
  sessionSender: SessionSender | undefined,
  job: ClaimedJob,
  circuit: SessionCircuit,
  stillOwns: StillOwns,
  { byPlace, consent, isClosed, now, offset, turnOf }: Refusals
): Attempts => {
  const { fence, jobId } = job
  const sender = sessionSender?.sender
  const settlement = ({ index }: ClaimedRecipient, outcome: Outcome): Settlement => ({
    jobId,
    fence,
    index,
    outcome
  })
  const queue: Array<ClaimedRecipient> = []
  const settled: Array<Settlement> = []
  const purpose = Job.purpose(job.content)
  const canLookUp = sender?.lookUp !== undefined
  const askedFirst = new Map<ClaimedRecipient, Failure>()
  for (const [place, recipient] of job.recipients.entries()) {
    const turn = turnOf(recipient, now)
    const refused = refusalOf(recipient, byPlace.get(offset + place), purpose, isClosed, canLookUp, turn)
    if (refused !== undefined && "_tag" in refused) {
      circuit.unused()
      settled.push(settlement(recipient, refused))
      continue
    }
    if (refused !== undefined) askedFirst.set(recipient, refused)
    queue.push(recipient)
  }
  return {
    queue,
    settled,
    connection: sessionSender?.connection,
    goesOn: circuit.mayBegin,
    begin: (recipient) => {
      circuit.began()
      return tried(sessionSender, job, recipient, askedFirst.get(recipient), stillOwns, consent, turnOf)
    },
    broken: (recipient, defect) => broken(sessionSender, job, recipient, defect),
    settle: (recipient, { answered, asked, inbound, mayPass, outcome }) => {
      circuit.ended(answered, asked)
      const settled = settlement(recipient, mayPass && circuit.isOpen() ? spared(outcome) : outcome)
      return inbound === null ? settled : { ...settled, inbound }
    },
    skip: (recipient, failure) => {
      circuit.unused()
      return settlement(recipient, Outcome.Skipped({ failure }))
    },
    release: (recipient) => {
      circuit.unused()
      return settlement(recipient, Outcome.Released({ maybeSent: false }))
    },
    interrupt: (recipient) => {
      circuit.ended(null)
      const isHarmless = sender === undefined || canRecover(sender)
      return settlement(
        recipient,
        isHarmless ? Outcome.Released({ maybeSent: true }) : Outcome.Unknown({ failure: stopped })
      )
    }
  }
}

/** A job of which nothing is attempted: its recipients go back as they were. */
export const released = (job: ClaimedJob, circuit: SessionCircuit): Attempts => {
  const { recipients, ...others } = job
  const nobody = prepareAttempts(undefined, { ...others, recipients: [] }, circuit, constFalse, {
    byPlace: new Map(),
    offset: 0,
    isClosed: ClosedMarkets.nobody,
    now: Time.at(0),
    turnOf: always,
    consent: { isFresh: constFalse, askAgain: () => Effect.succeed(undefined) }
  })
  return { ...nobody, settled: recipients.map(nobody.release) }
}
