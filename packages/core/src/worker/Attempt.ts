/**
 * One attempt per recipient of a batch: consent once more, then the sender, then what the answer means
 * (decisions.md §4). Used by the send worker, and inline by direct messages.
 */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import { constTrue } from "effect/Function"
import * as Random from "effect/Random"
import type { Refusal } from "../domain/consent/Consent.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Job from "../domain/job/Job.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as Retry from "../domain/Retry.ts"
import * as ClosedMarkets from "../domain/session/ClosedMarkets.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Connection } from "../domain/session/Session.ts"
import * as Sanitize from "../sender/Sanitize.ts"
import type { Named, OutboundMessage, SendResult } from "../sender/Sender.ts"
import { canRecover, isAnswered, isCheckAnswered } from "../sender/Sender.ts"
import type { SessionSender } from "../sender/SessionSender.ts"
import { portfolioOf } from "../sender/SessionSender.ts"
import type { Inbound } from "../storage/InboundStore.ts"
import type { ClaimedJob, Settlement } from "../storage/JobStore.ts"
import { Outcome } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { SessionCircuit } from "./Circuits.ts"
import * as NamedRecipient from "./NamedRecipient.ts"
import * as PlatformOptOut from "./PlatformOptOut.ts"

type ClaimedRecipient = ClaimedJob["recipients"][number]

const consentGone = (refusal: Refusal): Failure => ({
  code: "consent_required",
  provider_code: null,
  message:
    refusal._tag === "Revoked"
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

/** The platform refused a message after an attempt without an outcome, and cannot say what became of that one. */
const refusedLater = ({ provider_code }: Failure): Failure => ({
  code: "outcome_unknown",
  provider_code,
  message:
    "The platform refused the message after an attempt without an outcome; it may have it from that one.",
  permanent: false
})

/** A direct message that may not be tried again, because consent ended between two attempts. */
export const withoutConsent = (refusal: Refusal, maybeSent: boolean): Outcome =>
  maybeSent ? Outcome.Unknown({ failure: withdrawn }) : Outcome.Failed({ failure: consentGone(refusal) })

/** A plain literal: nearly every message has one, and the constructor of a tagged enum costs five times as much. */
const accepted = (providerId: string | null, status: "accepted" | "sent"): Outcome => ({
  _tag: "Accepted",
  providerId,
  status
})

export interface Attempted {
  readonly outcome: Outcome
  /** A failure that asks more of the engine than to be recorded; see `FailureCatalogue.Action`. */
  readonly actionable: Failure | null
  /** What the answer says of the person: an opt-out, or another name. */
  readonly inbound: Inbound | null
  /** True when the platform answered, and false when it did not; null when nobody can tell. */
  readonly answered: boolean | null
  /** True when another attempt may pass, though its time may be over: while the platform does not answer it costs none. */
  readonly mayPass: boolean
}

/** Beyond the recipient, in an order that matters to nobody. */
const concernsOthers: ReadonlySet<FailureCatalogue.Action> = new Set([
  "pause_template",
  "check_template",
  "disconnect_session",
  "block_session",
  "fail_job"
])

/** The actions whose message waits until a pause is over: the platform has not accepted it, and it costs no attempt. */
const waits: ReadonlySet<FailureCatalogue.Action> = new Set([
  "pause_template",
  "disconnect_session",
  "block_session"
])

/** It is tried again, if it has an attempt left. */
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
  { attempts }: ClaimedRecipient,
  recoverable: boolean,
  maybeSent: boolean
): Outcome | Again => {
  switch (result._tag) {
    case "Accepted":
      return accepted(result.providerId, result.status)
    case "Held":
      return Outcome.Accepted({
        providerId: result.providerId,
        status: "accepted",
        held: result.failure
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
      if (waits.has(action)) return Outcome.Released({ maybeSent })
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
  Effect.zipWith(Clock.currentTimeMillis, Random.next, (now, fraction) => {
    const windowMs = Retry.sendWindow(Job.purpose(content), sessionSender?.retryForMs ?? null)
    const isOfRecipient = FailureCatalogue.isOfRecipient(failure)
    const at = Retry.nextSend({
      attempts,
      firstAttemptAt,
      windowMs,
      isOfRecipient,
      now,
      fraction,
      retryAfterMs
    })
    if (at !== undefined) return Outcome.Retry({ at, failure, maybeSent })
    return maybeSent ? Outcome.Unknown({ failure }) : Outcome.Failed({ failure })
  })

/** Who got the message, as its answer names them. */
const named = (
  sessionSender: SessionSender | undefined,
  job: ClaimedJob,
  recipient: ClaimedRecipient,
  { named }: { readonly named?: Named }
): Inbound | null =>
  named === undefined
    ? null
    : NamedRecipient.read(job, recipient, named, portfolioOf(sessionSender, job.sessionId))

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
  // Most answers: one step for each message counts.
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
  const actionable = concernsOthers.has(FailureCatalogue.actionOf(failure)) ? failure : null
  const inbound = PlatformOptOut.read(job, recipient, failure)
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
  readonly askAgain: (phone: string) => Effect.Effect<Refusal | undefined, StorageError>
}

/** The message to a recipient, and with what it is sent. */
interface Prepared {
  readonly sessionSender: SessionSender
  readonly job: ClaimedJob
  readonly recipient: ClaimedRecipient
  readonly message: OutboundMessage
  readonly stillOwns: StillOwns
  readonly consent: Consent
}

const sendNow = (prepared: Prepared, maybeSent: boolean): Effect.Effect<Attempted> => {
  const { job, message, recipient, sessionSender, stillOwns } = prepared
  return stillOwns()
    ? Effect.flatMap(sessionSender.sender.send(message), (result) =>
        meaning(sessionSender, job, recipient, result, maybeSent)
      )
    : Effect.succeed(givenUp)
}

/** Nothing was attempted: its consent is gone. */
const refused = (refusal: Refusal, maybeSent: boolean): Attempted => ({
  ...givenUp,
  outcome: maybeSent
    ? Outcome.Unknown({ failure: withdrawn })
    : Outcome.Skipped({ failure: consentGone(refusal) })
})

/** Sends, if the person still consents after what was waited for: a look-up, a check, the end of others' attempts. */
const send = (prepared: Prepared, maybeSent: boolean): Effect.Effect<Attempted> => {
  const { consent, recipient } = prepared
  if (consent.isFresh()) return sendNow(prepared, maybeSent)
  return Effect.matchCauseEffect(consent.askAgain(recipient.phone), {
    onFailure: (cause) =>
      Effect.as(
        Effect.logError("A message was not sent, since its consent could not be asked for", cause),
        givenUp
      ),
    onSuccess: (refusal) =>
      refusal === undefined ? sendNow(prepared, maybeSent) : Effect.succeed(refused(refusal, maybeSent))
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
  consent: Consent
): Effect.Effect<Attempted> => {
  const { attempts, index, maybeSent, phone: to, values } = recipient
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
    to,
    content: job.content,
    values,
    attempt: attempts,
    config: sessionSender.config
  }
  const prepared = { sessionSender, job, recipient, message, stillOwns, consent }
  // Most messages; nothing else is made for them.
  if (!maybeSent && !job.probe) return send(prepared, false)
  const made = Effect.suspend(() => (maybeSent ? lookUpOrSend(prepared, refusal) : send(prepared, false)))
  return job.probe ? checkFirst(prepared, made) : made
}

/** One attempt. */
export const attempt = (
  sessionSender: SessionSender | undefined,
  job: ClaimedJob,
  recipient: ClaimedRecipient,
  stillOwns: StillOwns,
  consent: Consent
): Effect.Effect<Attempted> =>
  Effect.suspend(() => tried(sessionSender, job, recipient, undefined, stillOwns, consent)).pipe(
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
    maybeSent: outcome._tag === "Unknown" || (outcome._tag === "Retry" && outcome.maybeSent)
  })

/** The attempt of one recipient. Its job's {@link Attempts} change it, and nobody else. */
export interface RecipientAttempt {
  readonly recipient: ClaimedRecipient
  /** True from its beginning on, whether it has ended or not. */
  hasBegun: boolean
  /** Undefined while nothing became of it. */
  outcome: Outcome | undefined
}

/** The attempts of one job's recipients in a batch. */
export interface Attempts {
  /** The attempts that are to begin, in their order. */
  readonly queue: ReadonlyArray<RecipientAttempt>
  /** With what they are made (`FailureActions.Apply`); undefined where nothing is attempted. */
  readonly connection: Connection | undefined
  /** False once the platform does not answer. */
  readonly goesOn: () => boolean
  /** Dies when the sender breaks. */
  begin(attempt: RecipientAttempt): Effect.Effect<Attempted>
  broken(attempt: RecipientAttempt, defect: unknown): Effect.Effect<Attempted>
  record(attempt: RecipientAttempt, attempted: Attempted): void
  /**
   * What became of those who are not under way, each once. For when nothing more is begun: who was not is due again at
   * no cost.
   */
  settlements(): ReadonlyArray<Settlement>
  /** How many are still to be settled. */
  remaining(): number
  /**
   * What is under way was interrupted: due again at no cost where a repetition does no harm, else it is unknown. Its
   * settlements follow.
   */
  interruptPending(): void
  /** What the failures ask of the engine, each once. */
  actionableFailures(): ReadonlyArray<Failure>
}

/**
 * Why recipients of a claim may have nothing any more, by their places: consent is asked for once more. A job's recipients
 * begin at `offset`.
 */
interface Refusals {
  readonly byPlace: ReadonlyMap<number, Refusal>
  readonly offset: number
  /** Whether a number is in a market that is closed for what is sent. */
  readonly isClosed: ClosedMarkets.IsClosed
  readonly consent: Consent
}

/** Of attempts that do not begin. */
const unasked: Consent = { isFresh: constTrue, askAgain: () => Effect.succeed(undefined) }

/** While the session's circuit is open a failed attempt costs none. A class: a closure for each method costs as much again. */
class AttemptsOfJob implements Attempts {
  readonly queue: ReadonlyArray<RecipientAttempt>
  readonly connection: Connection | undefined
  readonly goesOn: () => boolean
  readonly #sessionSender: SessionSender | undefined
  readonly #job: ClaimedJob
  readonly #circuit: SessionCircuit
  readonly #stillOwns: StillOwns
  readonly #consent: Consent
  /** These three are made when there are some, which is seldom. */
  #refusals: Map<RecipientAttempt, Failure> | undefined
  #inbound: Map<RecipientAttempt, Inbound> | undefined
  #actionableFailures: Array<Failure> | undefined
  #remaining: ReadonlyArray<RecipientAttempt>

  constructor(
    sessionSender: SessionSender | undefined,
    job: ClaimedJob,
    circuit: SessionCircuit,
    stillOwns: StillOwns,
    /** Null where nothing is to begin. */
    refusals: Refusals | null
  ) {
    this.#sessionSender = sessionSender
    this.#job = job
    this.#circuit = circuit
    this.#stillOwns = stillOwns
    this.#consent = refusals?.consent ?? unasked
    this.connection = sessionSender?.connection
    this.goesOn = circuit.mayBegin
    const all = job.recipients.map(
      (recipient): RecipientAttempt => ({ recipient, hasBegun: false, outcome: undefined })
    )
    this.#remaining = all
    this.queue = refusals === null ? [] : this.#queueOf(all, refusals)
  }

  #queueOf(
    all: ReadonlyArray<RecipientAttempt>,
    { byPlace, isClosed, offset }: Refusals
  ): ReadonlyArray<RecipientAttempt> {
    const consenting =
      byPlace.size === 0
        ? all
        : all.filter((attempt, place) => {
            const refused = byPlace.get(offset + place)
            return refused === undefined || this.#isAskedFirst(attempt, consentGone(refused))
          })
    if (isClosed === ClosedMarkets.nobody) return consenting
    return consenting.filter((attempt) => {
      const { maybeSent, phone } = attempt.recipient
      // What the platform may have is its to answer.
      if (maybeSent || !isClosed(phone)) return true
      attempt.outcome = Outcome.Failed({ failure: ClosedMarkets.failure })
      return false
    })
  }

  /** Who lost its consent is left out; but the platform may have it from before: then it is asked, or nobody knows. */
  #isAskedFirst(attempt: RecipientAttempt, failure: Failure): boolean {
    if (!attempt.recipient.maybeSent) attempt.outcome = Outcome.Skipped({ failure })
    else if (this.#sessionSender?.sender.lookUp === undefined)
      attempt.outcome = Outcome.Unknown({ failure: withdrawn })
    else {
      this.#refusals ??= new Map()
      this.#refusals.set(attempt, failure)
      return true
    }
    return false
  }

  begin(attempt: RecipientAttempt): Effect.Effect<Attempted> {
    attempt.hasBegun = true
    this.#circuit.began()
    const refusal = this.#refusals?.get(attempt)
    return tried(this.#sessionSender, this.#job, attempt.recipient, refusal, this.#stillOwns, this.#consent)
  }

  broken({ recipient }: RecipientAttempt, defect: unknown): Effect.Effect<Attempted> {
    return broken(this.#sessionSender, this.#job, recipient, defect)
  }

  record(attempt: RecipientAttempt, attempted: Attempted): void {
    const { actionable, answered, inbound, mayPass, outcome } = attempted
    this.#circuit.ended(answered)
    attempt.outcome = mayPass && this.#circuit.isOpen() ? spared(outcome) : outcome
    if (actionable !== null) {
      this.#actionableFailures ??= []
      this.#actionableFailures.push(actionable)
    }
    if (inbound !== null) {
      this.#inbound ??= new Map()
      this.#inbound.set(attempt, inbound)
    }
  }

  settlements(): ReadonlyArray<Settlement> {
    const { fence, jobId } = this.#job
    const settlements: Array<Settlement> = []
    const underWay: Array<RecipientAttempt> = []
    for (const attempt of this.#remaining) {
      const { hasBegun, recipient } = attempt
      if (hasBegun && attempt.outcome === undefined) {
        underWay.push(attempt)
        continue
      }
      if (!hasBegun) this.#circuit.unused()
      const { index } = recipient
      const outcome = attempt.outcome ?? Outcome.Released({ maybeSent: false })
      const inbound = this.#inbound?.get(attempt)
      settlements.push(
        inbound === undefined ? { jobId, fence, index, outcome } : { jobId, fence, index, outcome, inbound }
      )
    }
    this.#remaining = underWay
    return settlements
  }

  remaining(): number {
    return this.#remaining.length
  }

  interruptPending(): void {
    const sender = this.#sessionSender?.sender
    const harmless = sender === undefined || canRecover(sender)
    for (const attempt of this.#remaining) {
      if (attempt.outcome !== undefined || !attempt.hasBegun) continue
      this.#circuit.ended(null)
      attempt.outcome = harmless
        ? Outcome.Released({ maybeSent: true })
        : Outcome.Unknown({ failure: stopped })
    }
  }

  actionableFailures(): ReadonlyArray<Failure> {
    return this.#actionableFailures?.splice(0) ?? []
  }
}

export const prepareAttempts = (
  sessionSender: SessionSender | undefined,
  job: ClaimedJob,
  circuit: SessionCircuit,
  stillOwns: StillOwns,
  refusals: Refusals
): Attempts => new AttemptsOfJob(sessionSender, job, circuit, stillOwns, refusals)

/** A job whose attempts cannot begin: its recipients go back as they were. */
export const released = (job: ClaimedJob, circuit: SessionCircuit): Attempts =>
  new AttemptsOfJob(undefined, job, circuit, constTrue, null)
