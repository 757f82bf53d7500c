/**
 * Direct messages: the checks of a send, accepted as a job of one recipient that is claimed in the same commit and
 * attempted inline, so that quota, idempotency, history and events have a single path. A message whose process died
 * meanwhile is rescued like any other.
 */

import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Schedule from "effect/Schedule"
import * as Schema from "effect/Schema"
import * as Address from "../domain/Address.ts"
import * as ApiKey from "../domain/account/ApiKey.ts"
import * as Idempotency from "../domain/account/Idempotency.ts"
import * as Plan from "../domain/account/Plan.ts"
import * as RateCard from "../domain/billing/RateCard.ts"
import type * as Consent from "../domain/consent/Consent.ts"
import { DailyLimitReached, SendFailed } from "../domain/Errors.ts"
import * as Ids from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { EarlierAttempt, Tried } from "../domain/job/Attempts.ts"
import * as Attempts from "../domain/job/Attempts.ts"
import * as ClientTexts from "../domain/job/ClientTexts.ts"
import * as Direct from "../domain/job/Direct.ts"
import * as Job from "../domain/job/Job.ts"
import * as Priority from "../domain/job/Priority.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import * as Retry from "../domain/Retry.ts"
import * as Circuit from "../domain/session/Circuit.ts"
import * as FailureCatalogue from "../domain/session/FailureCatalogue.ts"
import type { Session } from "../domain/session/Session.ts"
import * as Sessions from "../domain/session/Session.ts"
import * as Metrics from "../runtime/Metrics.ts"
import * as Moment from "../runtime/Moment.ts"
import { Signals } from "../runtime/Signals.ts"
import * as Traces from "../runtime/Traces.ts"
import type { DirectMessageRequest } from "../schema/Requests.ts"
import type * as SessionSender from "../sender/SessionSender.ts"
import { ConsentSource } from "../storage/ConsentSource.ts"
import type { Inbound } from "../storage/InboundStore.ts"
import type { AcceptSend, ClaimedJob, IdempotencyRecord, Settlement } from "../storage/JobStore.ts"
import { JobStore, Outcome, processOf } from "../storage/JobStore.ts"
import { RateCardStore } from "../storage/RateCardStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import * as Attempt from "../worker/Attempt.ts"
import type { SessionCircuit } from "../worker/Circuits.ts"
import { Circuits } from "../worker/Circuits.ts"
import { type EqualFailures, endsOf } from "../worker/EqualFailures.ts"
import type * as FailureActions from "../worker/FailureActions.ts"
import { Heartbeat } from "../worker/Heartbeat.ts"
import * as Measured from "../worker/Measured.ts"
import type * as Prepare from "../worker/Prepare.ts"
import * as Checks from "./Checks.ts"
import * as DirectInFlight from "./DirectInFlight.ts"
import type { Caller, DirectAcknowledgement, DirectCommand } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"
import type * as Windows from "./Windows.ts"

/** The stored answer of a direct message, which a replay gives again. */
const Answer = Schema.parseJson(
  Schema.Union(
    Schema.Struct({
      outcome: Schema.Literal("taken"),
      to: Schema.NullOr(Schema.String),
      userId: Schema.optionalWith(Schema.NullOr(Schema.String), { default: () => null }),
      status: Schema.Literal("accepted", "queued", "sent"),
      sentAs: Schema.optionalWith(Schema.Literal(...Job.allSentAs), { default: () => "text" }),
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

/** The members that the answer to every message has. */
interface Known {
  readonly to: string | null
  readonly userId: string | null
  readonly sentAs: Job.SentAs
  readonly createdAt: Instant
}

const queued = (known: Known): Answer => ({ outcome: "taken", ...known, status: "queued" })

const answerOf = (outcome: Outcome, known: Known): Answer => {
  // A text is not left to a worker, since its caller waits; the template in its place is.
  const isLeft = outcome._tag === "Released" || outcome._tag === "Retry"
  if (isLeft && known.sentAs === "template") return queued(known)
  switch (outcome._tag) {
    case "Accepted":
      return { outcome: "taken", ...known, status: outcome.status }
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

/**
 * The failure of a message whose process was frozen between acceptance and attempt: another process may have rescued
 * it.
 */
const processStalled: Failure = {
  code: "outcome_unknown",
  provider_code: null,
  message: "The service was held up before the attempt; the message may be sent by another process.",
  permanent: false
}

/**
 * The failure of messages that were not sent because the platform does not answer. Only one message at a time probes
 * it; the others are refused and not queued, since their callers wait.
 */
const unavailable = FailureCatalogue.failure("provider_unavailable", {
  providerCode: null,
  message: "The platform does not answer at present; the message was not sent. Try again later."
})

/** The failure of messages that the platform forbids at present (contract.md §13). */
const restricted: Failure = {
  code: "platform_restriction",
  provider_code: null,
  message: "The platform restricts the session's answers to people; the message was not sent.",
  permanent: false
}

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
        userId: answer.userId,
        status: answer.status,
        sentAs: answer.sentAs,
        createdAt: Time.at(answer.createdAt),
        replayed
      })
    : Effect.fail(new SendFailed({ messageId, outcome: answer.outcome, failure: answer.failure }))

/** Returns why consent no longer allows the message; undefined while it does. */
type ConsentNow = (claimed: ClaimedJob) => Effect.Effect<Consent.Refusal | undefined, StorageError>

const ended = (failure: Failure, maybeSent: boolean): Outcome =>
  maybeSent ? Outcome.Unknown({ failure }) : Outcome.Failed({ failure })

/** The retries of a commit that another's lock is in the way of, or that has a word which the platform will not tell again. */
const untilStored = Schedule.exponential("50 millis").pipe(
  Schedule.union(Schedule.spaced("2 seconds")),
  Schedule.upTo("20 seconds")
)

/**
 * Attempts the message, and again if the next attempt is soon; a failure that is still transient then is the outcome.
 * Consent is checked before each further attempt (contract.md §4), since a STOP may have come meanwhile. If it
 * cannot be checked, nothing is sent.
 */
const dispatch = Effect.fnUntraced(function* (
  claimed: ClaimedJob,
  sessionSender: SessionSender.SessionSender | undefined,
  circuit: SessionCircuit,
  applyActions: FailureActions.Apply,
  consentNow: ConsentNow,
  consentedAt: Instant,
  worker: string,
  stillOwns: Attempt.StillOwns,
  measured: ReturnType<typeof Metrics.ofAttempts>
) {
  const clock = yield* Effect.clock
  const started = Time.unsafeNow(clock)
  let askedAt = consentedAt
  const consent: Attempt.Consent = {
    isFresh: () => Attempt.isFresh(askedAt, Time.unsafeNow(clock)),
    askAgain: () => consentNow(claimed)
  }
  const [recipient] = claimed.recipients
  if (recipient === undefined)
    return { outcome: Outcome.Released({ maybeSent: false }), inbound: null, earlier: [] }
  let { attempts } = recipient
  let inbound: Inbound | null = null
  const earlier: Array<EarlierAttempt> = []
  /** Of the last attempt. */
  let tried: Tried | undefined
  /** Attempts once. A message that would have to wait for a pause to end is refused, since its caller waits. */
  const attempt = Effect.fnUntraced(function* (next: typeof recipient) {
    circuit.began()
    const beganAt = Moment.unsafeNow(clock)
    const attempted = yield* Attempt.attempt(sessionSender, claimed, next, stillOwns, consent)
    const ms = Moment.unsafeNow(clock) - beganAt
    Measured.ended(measured, attempted.outcome, ms)
    tried = { ms: Math.round(ms), process: processOf(worker) }
    circuit.ended(attempted.answered)
    const { actionable: failure, outcome } = attempted
    inbound = attempted.inbound ?? inbound
    if (failure === null)
      return outcome._tag === "Released" ? Outcome.Unknown({ failure: processStalled }) : outcome
    yield* Effect.ignoreLogged(
      applyActions(claimed, [failure], { connection: sessionSender?.connection, since: started })
    )
    return outcome._tag === "Released" ? ended(failure, outcome.maybeSent) : outcome
  })
  let outcome = yield* attempt(recipient)
  while (outcome._tag === "Retry") {
    const now = yield* Time.now
    const { failure, maybeSent } = outcome
    if (outcome.at - started > Retry.directWindow || circuit.isOpen()) {
      return { outcome: ended(failure, maybeSent), inbound, earlier, tried }
    }
    earlier.push(Attempts.earlier(attempts, now, "retried", failure, tried))
    yield* Effect.sleep(outcome.at - now)
    askedAt = Time.unsafeNow(clock)
    const refusal = yield* Effect.option(consentNow(claimed))
    if (Option.isNone(refusal)) return { outcome: ended(failure, maybeSent), inbound, earlier, tried }
    if (refusal.value !== undefined)
      return { outcome: Attempt.withoutConsent(refusal.value, claimed, maybeSent), inbound, earlier, tried }
    attempts += 1
    outcome = yield* attempt({ ...recipient, attempts, maybeSent })
  }
  return { outcome, inbound, earlier, tried }
})

/** Admits a message: its circuit, to which the attempt is reported; null while the platform must not be asked. */
const admission = (circuits: Context.Tag.Service<Circuits>, sessions: Context.Tag.Service<SessionStore>) => {
  /** Whether the message may be sent, may probe, or is refused, while its session's platform may be out. */
  const mayAsk = Effect.fnUntraced(function* ({ id, outage }: Session) {
    const isKnown = outage !== null || circuits.of(id, false).isOpen()
    if (!isKnown) return "available"
    // The store may not know of an outage yet, and perhaps no other message will write it there.
    yield* circuits.store
    const now = yield* Time.now
    // The caller's session may be a second old. Whether the outage has ended since shows at the next probe.
    if (outage !== null && !Circuit.mayProbeDirectly(outage, now)) return "refused"
    return yield* Effect.catchAll(sessions.acquireProbe({ id, now }), () =>
      Effect.succeed("refused" as const)
    )
  })

  return Effect.fnUntraced(function* (session: Session) {
    const known = circuits.known()
    const answer = yield* mayAsk(session)
    const probe = answer === "granted"
    return answer !== "refused" && circuits.admit({ sessionId: session.id, probe }, known)
      ? { probe, circuit: circuits.of(session.id, probe) }
      : null
  })
}

/**
 * Attempts a claimed template once, in the place of a text, and by a worker's own rules: its consent, its category, closed markets and
 * caps. What does not end it a worker does later.
 */
const dispatchTemplate = Effect.fnUntraced(function* (
  claimed: ClaimedJob,
  { account, session }: Caller,
  templates: Context.Tag.Service<TemplateStore>,
  prepare: Prepare.Prepare,
  applyActions: FailureActions.Apply,
  worker: string,
  stillOwns: Attempt.StillOwns,
  measured: ReturnType<typeof Metrics.ofAttempts>
) {
  const released: Outcome = Outcome.Released({ maybeSent: false })
  const nothing = { outcome: released, inbound: null, earlier: [] }
  const { content } = claimed
  if (content.kind !== "template") return nothing
  const template = yield* templates.find({ sessionId: session.id, templateId: content.templateId })
  if (template?.status !== "approved" || Sessions.obstacleOf(session, "template") !== null) return nothing
  const dispatched = {
    ...claimed,
    session: Sessions.outbound(session),
    category: template.category,
    caps: account.caps,
    currency: account.currency
  }
  const { prepared } = yield* prepare([dispatched], stillOwns)
  const attempts = prepared[0]?.attempts
  const [recipient] = attempts?.queue ?? []
  if (attempts === undefined || recipient === undefined)
    return { ...nothing, outcome: attempts?.settled[0]?.outcome ?? released }
  const [since, beganAt] = [yield* Time.now, yield* Moment.now]
  const attempted = yield* Effect.catchAllDefect(attempts.begin(recipient), (defect) =>
    attempts.broken(recipient, defect)
  )
  const ms = (yield* Moment.now) - beganAt
  const { inbound = null, outcome } = attempts.settle(recipient, attempted)
  Measured.ended(measured, outcome, ms)
  if (attempted.actionable !== null)
    yield* Effect.ignoreLogged(
      applyActions(claimed, [attempted.actionable], { connection: attempts.connection, since })
    )
  return { outcome, inbound, earlier: [], tried: { ms: Math.round(ms), process: processOf(worker) } }
})

/** Attempts a claimed message by its session's sender. */
const attempting = (
  resolve: SessionSender.Resolve,
  applyActions: FailureActions.Apply,
  equal: Context.Tag.Service<EqualFailures>,
  consentNow: ConsentNow,
  templates: Context.Tag.Service<TemplateStore>,
  prepare: Prepare.Prepare
) => {
  const measured = Metrics.ofAttempts()
  return Effect.fnUntraced(function* (
    claimed: ClaimedJob,
    caller: Caller,
    circuit: SessionCircuit,
    consentedAt: Instant,
    worker: string,
    stillOwns: Attempt.StillOwns
  ) {
    const { session } = caller
    const sessionSender = yield* resolve(session)
    const since = yield* Time.now
    const done =
      claimed.content.kind === "template"
        ? yield* dispatchTemplate(
            claimed,
            caller,
            templates,
            prepare,
            applyActions,
            worker,
            stillOwns,
            measured
          )
        : yield* dispatch(
            claimed,
            sessionSender,
            circuit,
            applyActions,
            consentNow,
            consentedAt,
            worker,
            stillOwns,
            measured
          )
    const attempted = { connection: sessionSender?.connection, since }
    const ends = claimed.recipients.flatMap(({ address }) => endsOf(done.outcome, address, attempted))
    yield* Effect.ignoreLogged(equal.note(session, "answer", ends))
    return done
  })
}

const acceptSend = (
  { account, key, session }: Caller,
  request: DirectMessageRequest,
  {
    address,
    idempotency,
    content,
    jobId,
    now,
    rate,
    replacedAt,
    requestId,
    traceparent,
    worker
  }: Pick<AcceptSend, "content" | "idempotency" | "jobId" | "now" | "requestId" | "traceparent"> & {
    readonly address: Address.Address
    readonly replacedAt: Instant | null
    readonly rate: RateCard.Rate | null
    readonly worker: string
  }
): AcceptSend => ({
  now,
  jobId,
  requestId,
  traceparent,
  accountId: account.id,
  sessionId: session.id,
  publicKey: key.publicKey,
  content,
  replacedAt,
  ...ClientTexts.job.ofBody(request),
  priority: Priority.ofDirect,
  perMinute: null,
  stopWhen: null,
  recipients: [
    {
      address,
      values: [],
      market: rate?.market ?? null,
      price: rate?.unitPrice ?? null
    }
  ],
  currency: account.currency,
  estimatedCost: rate?.unitPrice ?? null,
  idempotency,
  demand: Plan.demand(account.plan, "direct", { isOwner: ApiKey.isOfSession(key), units: 1 }),
  claim: worker
})

const consentBy =
  (consents: Context.Tag.Service<ConsentSource>): ConsentNow =>
  ({ accountId, content, recipients }) =>
    Effect.map(
      consents.refusals(
        accountId,
        recipients.map(({ address }) => address),
        Job.purpose(content)
      ),
      (refusals) => refusals.get(0)
    )

/** The answer of the key's earlier request. If that is in progress, waits for its outcome. */
const replaying = (
  inFlight: Effect.Effect.Success<ReturnType<typeof DirectInFlight.make>>,
  heartbeat: Context.Tag.Service<Heartbeat>
) =>
  Effect.fnUntraced(function* (caller: Caller, key: string, record: IdempotencyRecord) {
    const { jobId } = record
    const messageId = Ids.messageId(jobId, 0)
    const found =
      record.answer === null
        ? yield* inFlight.outcome({ publicKey: caller.key.publicKey, key, jobId }, heartbeat.leaseMs)
        : record
    const answer: Answer = Option.getOrElse(decode(found?.answer), () => ({
      outcome: "unknown",
      failure: withoutOutcome
    }))
    return yield* reply(messageId, answer, true)
  })

/** The platform surely does not have the text, since the person's window is closed. */
const isWindowClosed = (outcome: Outcome): boolean =>
  outcome._tag === "Failed" && FailureCatalogue.isOfWindow(outcome.failure)

const busy = new StorageError({
  operation: "JobStore.settleAndClaim",
  cause: "Another transaction has the session's jobs locked.",
  fault: "collision"
})

/**
 * Settles the message. A commit with the platform's word on the person is retried until the store accepts it, and any that
 * another's lock is in the way of.
 */
const settling = (circuits: Context.Tag.Service<Circuits>) => (settlement: Settlement) => {
  let left = settlement
  const once = Effect.gen(function* () {
    const now = yield* Time.now
    const { postponed } = yield* circuits.settleAndClaim({ now, settlements: [left], claim: null })
    const [again] = postponed
    if (again === undefined) return
    left = again
    return yield* busy
  })
  return Effect.retry(once, {
    schedule: untilStored,
    while: (error) => error === busy || (left.inbound !== undefined && error.fault !== "content")
  })
}

/** The part of a settlement that an attempt leaves. */
type Ended = Pick<Settlement, "earlier" | "outcome" | "tried"> & { readonly inbound: Inbound | null }

/**
 * Attempts what goes now and stores what became of it; then the template, where a text is refused that has one in its place. That it
 * goes is a commit before it is attempted, so whatever ends this process, it goes once.
 */
const finishing = (
  jobs: Context.Tag.Service<JobStore>,
  settle: ReturnType<typeof settling>,
  signals: Context.Tag.Service<Signals>,
  untilReleased: Effect.Effect<void>
) =>
  Effect.fnUntraced(function* <E>(
    first: ClaimedJob,
    named: Omit<Known, "sentAs">,
    worker: string,
    hasOther: boolean,
    attempt: (claimed: ClaimedJob) => Effect.Effect<Ended, E>
  ) {
    const { jobId } = first
    const attemptNow = Effect.fnUntraced(function* (claimed: ClaimedJob) {
      const sentAs = claimed.content.kind === "template" ? "template" : "text"
      const { inbound, ...ended } = yield* attempt(claimed)
      yield* untilReleased
      const isReplaced = sentAs === "text" && hasOther && isWindowClosed(ended.outcome)
      const answer = isReplaced
        ? queued({ ...named, sentAs: "template" })
        : answerOf(ended.outcome, { ...named, sentAs })
      const settlement = { jobId, fence: claimed.fence, index: 0, ...ended, answer: encode(answer) }
      yield* settle(inbound === null ? settlement : { ...settlement, inbound })
      return { answer, isReplaced }
    })
    const { answer, isReplaced } = yield* attemptNow(first)
    if (!isReplaced) return answer
    const again = yield* jobs.claimMessage({ jobId, worker, now: yield* Time.now })
    const last = again === null ? answer : (yield* attemptNow(again)).answer
    // A worker waits for whatever keeps the message from going now.
    yield* signals.sends.notify
    return last
  })

/** The content and the price of a message to a person: the checks that look things up, as those of a send. */
const examining = ({ checks, windows }: Options, cards: Context.Tag.Service<RateCardStore>) =>
  Effect.fnUntraced(function* (caller: Caller, request: DirectMessageRequest, now: Instant) {
    const address = yield* checks.direct(caller, request)
    const otherwise = yield* checks.otherwise(caller, request.otherwise, address)
    const closed = yield* windows.refusal(caller, address)
    const card = yield* cards.inForce({ currency: caller.account.currency, now })
    const rateOf = (category: RateCard.Category) =>
      card === null ? null : RateCard.rate(card, category, address)
    const priced = otherwise === undefined ? null : rateOf(otherwise.template.category)
    const content = Direct.contentOf({
      ...request,
      otherwise: otherwise && {
        ...otherwise,
        market: priced?.market ?? null,
        price: priced?.unitPrice ?? null
      }
    })
    const { content: goes } = Job.outgoing({ replacedAt: closed === null ? null : now }, content)
    yield* checks.consent({
      caller,
      purpose: Job.purpose(goes),
      addresses: [address],
      path: () => [Address.personOf(address).phone === null ? "user_id" : "to"]
    })
    if (closed !== null && otherwise === undefined) return yield* closed
    const category = goes.kind === "template" ? goes.template.category : "service"
    return { address, content, goes, rate: rateOf(category) }
  })

interface Options {
  readonly checks: Checks.Checks
  readonly windows: Windows.Windows
  readonly ids: Ids.Ids
  readonly resolve: SessionSender.Resolve
  readonly applyActions: FailureActions.Apply
  readonly equal: Context.Tag.Service<EqualFailures>
  readonly prepare: Prepare.Prepare
}

export const make = Effect.fnUntraced(function* (options: Options) {
  const { applyActions, checks, equal, ids, prepare, resolve } = options
  const consents = yield* ConsentSource
  const cards = yield* RateCardStore
  const jobs = yield* JobStore
  const heartbeat = yield* Heartbeat
  const signals = yield* Signals
  const circuits = yield* Circuits
  const sessions = yield* SessionStore
  const inFlight = yield* DirectInFlight.make(jobs.findByIdempotencyKey)

  const consentNow = consentBy(consents)
  const admit = admission(circuits, sessions)
  const replay = replaying(inFlight, heartbeat)
  const settle = settling(circuits)

  const attempt = attempting(resolve, applyActions, equal, consentNow, yield* TemplateStore, prepare)
  const finish = finishing(jobs, settle, signals, inFlight.untilReleased)
  const examine = examining(options, cards)
  const countAccepted = Metrics.ofAcceptance()

  const send = Effect.fnUntraced(function* (caller: Caller, command: DirectCommand) {
    const now = yield* Time.now
    const { session } = caller

    const { key, request } = yield* Checks.directShape(command)

    const fingerprint = () => Idempotency.fingerprint("direct", request)
    if (key !== null) {
      const record = yield* checks.findByIdempotencyKey(caller, key, fingerprint)
      if (record !== null) return yield* replay(caller, key, record)
    }

    const { address, content, goes, rate } = yield* examine(caller, request, now)
    const { phone, userId } = Address.personOf(address)
    const jobId = ids.jobId(now)
    const deliver = Effect.fnUntraced(function* (worker: string) {
      // Checked before the commit, so that a refused message consumes nothing and its key stays free.
      if (goes.kind === "direct" && Sessions.refusesReplies(session, now))
        return yield* new SendFailed({ messageId: null, outcome: "failed", failure: restricted })
      const admitted = yield* admit(session)
      if (admitted === null)
        return yield* new SendFailed({ messageId: null, outcome: "failed", failure: unavailable })
      const { circuit, probe } = admitted
      const keyed = key === null ? null : { key, fingerprint: fingerprint() }
      const { requestId } = command
      const replacedAt = goes.kind === "template" ? now : null
      const asked = {
        ...{ address, content, jobId, now, rate, replacedAt, requestId, worker },
        traceparent: yield* Traces.current,
        idempotency: keyed
      }
      const accepting = acceptSend(caller, request, asked)
      const refused = Effect.suspend(() => {
        circuit.unused()
        return circuits.store
      })
      const since = yield* Moment.now
      const accepted = yield* checks
        .accept(accepting, ({ limit, resetsAt }) => new DailyLimitReached({ limit, resetsAt }))
        .pipe(Effect.onError(() => refused))
      if (accepted._tag === "Replayed") return yield* Effect.as(refused, accepted)
      countAccepted(1)
      const { claimed, job } = accepted
      if (claimed === null)
        return yield* Effect.dieMessage("A direct message was accepted without its claim.")
      const named = { to: phone, userId, createdAt: job.createdAt }
      const answer = yield* finish(
        { ...claimed, probe },
        named,
        worker,
        request.otherwise !== undefined,
        (claimed) => attempt(claimed, caller, circuit, now, worker, () => heartbeat.stillOwns(worker, since))
      )
      const { attempts, deliveries, outcomes } = signals
      yield* Effect.all([deliveries.notify, outcomes.notify, attempts.notify], { discard: true })
      return { _tag: "Sent" as const, messageId: Ids.messageId(job.id, 0), answer }
    })
    // Registered before the commit, after which a repeated request can find the job.
    const done = yield* Effect.acquireUseRelease(heartbeat.register, deliver, heartbeat.deregister).pipe(
      (attempt) => inFlight.during(jobId, attempt),
      Effect.uninterruptible
    )
    return done._tag === "Replayed"
      ? yield* replay(caller, key ?? "", done.record)
      : yield* reply(done.messageId, done.answer, false)
  })

  return spanIfTraced("Engine.sendDirect", send)
})
