/**
 * Direct messages: the checks of a send, accepted as a job of one recipient that is claimed in the same commit and
 * attempted inline, so that quota, idempotency, history and events have a single path. What a process
 * that dies in between leaves is taken back like any other.
 */
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Catalogue from "../domain/Catalogue.ts"
import * as Circuit from "../domain/Circuit.ts"
import type * as Consent from "../domain/Consent.ts"
import { DailyLimitReached, SendFailed } from "../domain/Errors.ts"
import * as Idempotency from "../domain/Idempotency.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Job from "../domain/Job.ts"
import type { Failure } from "../domain/Recipient.ts"
import type { Session } from "../domain/Session.ts"
import * as Moment from "../loop/Moment.ts"
import type * as Lines from "../sender/Lines.ts"
import { ConsentStore } from "../storage/ConsentStore.ts"
import type { Inbound } from "../storage/InboundStore.ts"
import type { AcceptSend, ClaimedJob, Earlier, Settlement } from "../storage/JobStore.ts"
import { JobStore, Outcome } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import type { SessionCircuit } from "../worker/Circuits.ts"
import { Circuits } from "../worker/Circuits.ts"
import type * as Consequences from "../worker/Consequences.ts"
import * as Dispatch from "../worker/Dispatch.ts"
import { Presence } from "../worker/Presence.ts"
import { Wake } from "../worker/Wake.ts"
import * as Checks from "./Checks.ts"
import type { Caller, DirectAcknowledgement, DirectCommand } from "./Operations.ts"
import { traced } from "./Traced.ts"
import * as UnderWay from "./UnderWay.ts"

/** A direct message answers its caller: it is tried again only while that takes no longer than this. */
const patienceMs = 5 * Time.second

/** The answer that a replay gives again, kept with the job. */
const Answer = Schema.parseJson(
  Schema.Union(
    Schema.Struct({
      outcome: Schema.Literal("taken"),
      to: Schema.String,
      status: Schema.Literal("accepted", "sent"),
      createdAt: Schema.Number
    }),
    Schema.Struct({
      outcome: Schema.Literal("failed", "unknown"),
      failure: Schema.Struct({
        code: Schema.String,
        provider_code: Schema.NullOr(Schema.String),
        message: Schema.String,
        permanent: Schema.Boolean
      })
    })
  )
)
type Answer = typeof Answer.Type

const encode = Schema.encodeSync(Answer)
const decode = Schema.decodeUnknownOption(Answer)

const answerOf = (outcome: Outcome, to: string, createdAt: Instant): Answer => {
  switch (outcome._tag) {
    case "Accepted":
      return { outcome: "taken", to, status: outcome.status, createdAt }
    case "Unknown":
      return { outcome: "unknown", failure: outcome.failure }
    case "Failed":
    case "Skipped":
    case "Retry":
      return { outcome: "failed", failure: outcome.failure }
    case "Released":
      return { outcome: "failed", failure: stopping }
  }
}

const stopping: Failure = {
  code: "stopping",
  provider_code: null,
  message: "The service is stopping; the message was not sent.",
  permanent: false
}

/** The process was frozen between its acceptance and the attempt: another one may have taken it up. */
const heldUp: Failure = {
  code: "outcome_unknown",
  provider_code: null,
  message: "The service was held up before the attempt; the message may be sent by another process.",
  permanent: false
}

/** A platform that does not answer is asked by one message after another; the others are refused, for somebody waits. */
const unavailable = Catalogue.failure("provider_unavailable", {
  providerCode: null,
  message: "The platform does not answer at present; the message was not sent. Try again later."
})

const withoutOutcome: Failure = {
  code: "outcome_unknown",
  provider_code: null,
  message: "An earlier request under this Idempotency-Key has no outcome yet.",
  permanent: false
}

const reply = (
  messageId: string,
  answer: Answer,
  replayed: boolean
): Effect.Effect<DirectAcknowledgement, SendFailed> =>
  answer.outcome === "taken"
    ? Effect.succeed({
        messageId,
        to: answer.to,
        status: answer.status,
        createdAt: answer.createdAt,
        replayed
      })
    : Effect.fail(new SendFailed({ messageId, outcome: answer.outcome, failure: answer.failure }))

/** Why the recipient may have nothing any more; undefined where consent stands. */
type ConsentNow = (claimed: ClaimedJob) => Effect.Effect<Consent.Refusal | undefined, StorageError>

const ended = (failure: Failure, uncertain: boolean): Outcome =>
  uncertain ? Outcome.Unknown({ failure }) : Outcome.Failed({ failure })

/** Nobody tells an opt-out again when its outcome is lost, so a store that is away is asked for a while. */
const untilStored = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("2 seconds")),
  Schedule.upTo("20 seconds")
)

/**
 * Attempts it, again while that is soon; what is then still transient is a failure. Consent is asked for before each
 * further attempt (decisions.md §4): a STOP may have come meanwhile. Where it cannot be asked for nothing is sent.
 */
const dispatch = Effect.fnUntraced(function* (
  claimed: ClaimedJob,
  line: Lines.Line | undefined,
  circuit: SessionCircuit,
  draw: Consequences.Draw,
  consentNow: ConsentNow,
  keeps: Dispatch.Keeps
) {
  const started = yield* Clock.currentTimeMillis
  const [recipient] = claimed.recipients
  if (recipient === undefined) return { outcome: Outcome.Released({ uncertain: false }), optOut: null }
  let { attempts } = recipient
  let optOut: Inbound | null = null
  /** A message that would wait for a pause to end is refused here: somebody waits for the answer. */
  const attempt = Effect.fnUntraced(function* (next: typeof recipient) {
    circuit.began()
    const attempted = yield* Dispatch.attempt(line, claimed, next, keeps)
    circuit.ended(attempted.answered)
    const { consequence: failure, outcome } = attempted
    optOut = attempted.optOut ?? optOut
    if (failure === null) return outcome._tag === "Released" ? Outcome.Unknown({ failure: heldUp }) : outcome
    yield* Effect.ignoreLogged(draw(claimed, [failure]))
    return outcome._tag === "Released" ? Outcome.Failed({ failure }) : outcome
  })
  let outcome = yield* attempt(recipient)
  while (outcome._tag === "Retry") {
    const now = yield* Clock.currentTimeMillis
    const { failure, uncertain } = outcome
    if (outcome.at - started > patienceMs || circuit.isOpen()) {
      return { outcome: ended(failure, uncertain), optOut }
    }
    yield* Effect.sleep(outcome.at - now)
    const consent = yield* Effect.option(consentNow(claimed))
    if (Option.isNone(consent)) return { outcome: ended(failure, uncertain), optOut }
    if (consent.value !== undefined)
      return { outcome: Dispatch.withoutConsent(consent.value, uncertain), optOut }
    attempts += 1
    outcome = yield* attempt({ ...recipient, attempts, uncertain })
  }
  return { outcome, optOut }
})

/** The leave to attempt a message, with the circuit to report to; null while the platform is not to be asked. */
const admission = (circuits: Context.Tag.Service<Circuits>, sessions: Context.Tag.Service<SessionStore>) => {
  /** The place of the message while its session's platform does not answer. */
  const mayAsk = Effect.fnUntraced(function* ({ id, outage }: Session) {
    const isKnown = outage !== null || circuits.of(id, false).isOpen()
    if (!isKnown) return "available"
    // An outage that the store could not be told of, this process may have nobody else to tell.
    yield* circuits.store
    const now = yield* Clock.currentTimeMillis
    // The caller's session may be a second old: an outage that is over is found with the next probe.
    if (outage !== null && !Circuit.mayProbeDirectly(outage, now)) return "refused"
    return yield* Effect.catchAll(sessions.takeProbe({ id, now }), () => Effect.succeed("refused" as const))
  })

  return Effect.fnUntraced(function* (session: Session) {
    const asked = circuits.asking()
    const answer = yield* mayAsk(session)
    const probe = answer === "granted"
    return answer !== "refused" && circuits.admit({ sessionId: session.id, probe }, asked)
      ? { probe, circuit: circuits.of(session.id, probe) }
      : null
  })
}

type DirectRequest = Effect.Effect.Success<ReturnType<typeof Checks.directShape>>

const acceptSend = (
  { account, key, session }: Caller,
  request: DirectRequest,
  jobId: string,
  now: Instant,
  worker: string,
  idempotency: AcceptSend["idempotency"]
): AcceptSend => ({
  now,
  jobId,
  accountId: account.id,
  sessionId: session.id,
  publicKey: key.publicKey,
  content: { kind: "direct", text: request.message, linkPreview: request.linkPreview ?? false },
  reference: request.reference ?? null,
  recipients: [{ phone: request.to, externalId: null, values: [], market: null, price: null }],
  currency: account.currency,
  estimatedCost: null,
  idempotency,
  demand: {
    units: 1,
    dailyLimit: account.plan.daily_direct_messages,
    minimumWaitMs: account.plan.minimum_wait_ms
  },
  claim: worker
})

const consentBy =
  (consents: Context.Tag.Service<ConsentStore>): ConsentNow =>
  ({ accountId, content, recipients }) =>
    Effect.map(
      consents.refusals({
        accountId,
        phones: recipients.map(({ phone }) => phone),
        purpose: Job.purpose(content)
      }),
      (refusals) => refusals.get(0)
    )

/** The answer of the request that the key stands for; one that is under way is waited for. */
const replaying = (
  underWay: Effect.Effect.Success<ReturnType<typeof UnderWay.make>>,
  presence: Context.Tag.Service<Presence>
) =>
  Effect.fnUntraced(function* (caller: Caller, key: string, earlier: Earlier) {
    const { jobId } = earlier
    const messageId = Ids.messageId(jobId, 0)
    const found =
      earlier.answer === null
        ? yield* underWay.outcome({ publicKey: caller.key.publicKey, key, jobId }, presence.leaseMs)
        : earlier
    const answer: Answer = Option.getOrElse(decode(found?.answer), () => ({
      outcome: "unknown",
      failure: withoutOutcome
    }))
    return yield* reply(messageId, answer, true)
  })

/** An opt-out is stored again and again until the store has it. */
const settling = (jobs: Context.Tag.Service<JobStore>) => (settlement: Settlement) => {
  const once = Effect.flatMap(Clock.currentTimeMillis, (now) =>
    jobs.exchange({ now, settlements: [settlement], claim: null })
  )
  return settlement.inbound === undefined
    ? once
    : Effect.retry(once, {
        schedule: untilStored,
        while: ({ contentRefused }) => contentRefused !== true
      })
}

export const make = Effect.fnUntraced(function* (options: {
  readonly checks: Checks.Checks
  readonly ids: Ids.Ids
  readonly open: Lines.Open
  readonly draw: Consequences.Draw
}) {
  const { checks, draw, ids, open } = options
  const consents = yield* ConsentStore
  const jobs = yield* JobStore
  const presence = yield* Presence
  const wake = yield* Wake
  const circuits = yield* Circuits
  const sessions = yield* SessionStore
  const underWay = yield* UnderWay.make(jobs.earlier)

  const consentNow = consentBy(consents)
  const admit = admission(circuits, sessions)
  const replay = replaying(underWay, presence)
  const settle = settling(jobs)

  const attempt = Effect.fnUntraced(function* (
    claimed: ClaimedJob,
    { session }: Caller,
    circuit: SessionCircuit,
    keeps: Dispatch.Keeps
  ) {
    const line = yield* open(session)
    const done = yield* dispatch(claimed, line, circuit, draw, consentNow, keeps)
    // Before the outcome: whoever comes next is to know.
    yield* circuits.store
    return done
  })

  const send = Effect.fnUntraced(function* (caller: Caller, command: DirectCommand) {
    const now = yield* Clock.currentTimeMillis
    const { session } = caller
    const header = command.idempotencyKey

    const request = yield* Checks.directShape({ request: command.request, idempotencyKey: { header } })

    const idempotencyKey = header === undefined ? undefined : Idempotency.parseKey(header)
    const fingerprint = () => Idempotency.fingerprint("direct", request)
    if (idempotencyKey !== undefined) {
      const earlier = yield* checks.earlier(caller, idempotencyKey, fingerprint)
      if (earlier !== null) return yield* replay(caller, idempotencyKey, earlier)
    }

    yield* Checks.directContent(request)

    yield* checks.consent({ caller, purpose: "direct", phones: [request.to], path: () => ["to"] })

    const jobId = ids.jobId(now)
    const deliver = Effect.fnUntraced(function* (worker: string) {
      // Before the commit: a message that is not attempted costs nothing, and its key stays free.
      const leave = yield* admit(session)
      if (leave === null)
        return yield* new SendFailed({ messageId: null, outcome: "failed", failure: unavailable })
      const { circuit, probe } = leave
      const keyed = idempotencyKey === undefined ? null : { key: idempotencyKey, fingerprint: fingerprint() }
      const accepting = acceptSend(caller, request, jobId, now, worker, keyed)
      const refused = Effect.suspend(() => {
        circuit.unused()
        return circuits.store
      })
      const since = yield* Moment.now
      const accepted = yield* checks
        .accept(accepting, ({ limit, resetsAt }) => new DailyLimitReached({ limit, resetsAt }))
        .pipe(Effect.onError(() => refused))
      if (accepted._tag === "Replayed") return yield* Effect.as(refused, accepted)
      const { claimed, job } = accepted
      if (claimed === null)
        return yield* Effect.dieMessage("A direct message was accepted without its claim.")
      const { optOut, outcome } = yield* attempt({ ...claimed, probe }, caller, circuit, () =>
        presence.keeps(since)
      )
      yield* underWay.untilReleased
      const answer = answerOf(outcome, request.to, job.createdAt)
      const settlement = { jobId: job.id, fence: claimed.fence, index: 0, outcome, answer: encode(answer) }
      yield* settle(optOut === null ? settlement : { ...settlement, inbound: optOut })
      yield* Effect.zipRight(wake.deliveries.notify, wake.attempts.notify)
      return { _tag: "Sent" as const, messageId: Ids.messageId(job.id, 0), answer }
    })
    // Before its commit, from which on a repetition finds it.
    const done = yield* Effect.acquireUseRelease(presence.enter, deliver, presence.leave).pipe(
      (attempt) => underWay.during(jobId, attempt),
      Effect.uninterruptible
    )
    return done._tag === "Replayed"
      ? yield* replay(caller, idempotencyKey ?? "", done.earlier)
      : yield* reply(done.messageId, done.answer, false)
  })

  return traced("Engine.sendDirect", send)
})
