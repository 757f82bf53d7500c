/** Template sends and their estimates: checks 6 to 11 of `Checks`, from top to bottom. */

import * as Effect from "effect/Effect"
import * as Address from "../domain/Address.ts"
import * as ApiKey from "../domain/account/ApiKey.ts"
import * as Idempotency from "../domain/account/Idempotency.ts"
import * as Plan from "../domain/account/Plan.ts"
import * as RateCard from "../domain/billing/RateCard.ts"
import * as Consent from "../domain/consent/Consent.ts"
import { QuotaExceeded } from "../domain/Errors.ts"
import type * as Ids from "../domain/Ids.ts"
import * as Time from "../domain/Instant.ts"
import * as ClientTexts from "../domain/job/ClientTexts.ts"
import * as Job from "../domain/job/Job.ts"
import * as Pace from "../domain/job/Pace.ts"
import * as Priority from "../domain/job/Priority.ts"
import * as StopWhen from "../domain/job/StopWhen.ts"
import * as ClosedMarkets from "../domain/session/ClosedMarkets.ts"
import type { Template } from "../domain/template/Template.ts"
import * as Either from "../effect/Either.ts"
import * as Metrics from "../runtime/Metrics.ts"
import { Signals } from "../runtime/Signals.ts"
import * as Traces from "../runtime/Traces.ts"
import type { TemplateMessage, TemplateMessageRequest, Unchecked } from "../schema/Requests.ts"
import { Senders } from "../sender/Sender.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import { ConsentSource } from "../storage/ConsentSource.ts"
import { ConsentStore } from "../storage/ConsentStore.ts"
import { EmbeddedCommits } from "../storage/EmbeddedCommits.ts"
import type { AcceptSend, IdempotencyRecord } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { Transactions } from "../storage/Transactions.ts"
import * as Checks from "./Checks.ts"
import * as Estimates from "./Estimates.ts"
import type { Acknowledgement, Caller, SendCommand } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"

const replayed = (record: IdempotencyRecord): Acknowledgement => ({
  jobId: record.jobId,
  recipients: record.recipients,
  replayed: true
})

const acceptSend = (
  { account, key, session }: Caller,
  { addresses, currency, recipients, template, times, values }: Checks.ResolvedRequest,
  {
    idempotency,
    jobId,
    now,
    prices,
    request,
    requestId,
    traceparent
  }: Pick<AcceptSend, "idempotency" | "jobId" | "now" | "requestId" | "traceparent"> & {
    readonly request: TemplateMessageRequest
    readonly prices: ReadonlyArray<RateCard.Rate | null>
  }
): AcceptSend => ({
  now,
  jobId,
  accountId: account.id,
  sessionId: session.id,
  publicKey: key.publicKey,
  requestId,
  traceparent,
  content: Job.contentOf(template),
  ...ClientTexts.job.ofBody(request),
  priority: Priority.priorityOf(request.priority, template.category),
  perMinute: Pace.perMinuteOf(request.pace),
  stopWhen: StopWhen.read(request.stop_when),
  timing: times.timing,
  recipients: recipients.map((given, place) => ({
    address: addresses[place] ?? "",
    ...times.recipients[place],
    ...ClientTexts.recipient.ofBody(given),
    values: values[place] ?? [],
    market: prices[place]?.market ?? null,
    price: prices[place]?.unitPrice ?? null
  })),
  currency,
  estimatedCost: RateCard.total(prices),
  idempotency,
  demand: Plan.demand(account.plan, "template", {
    isOwner: ApiKey.isOfSession(key),
    units: addresses.length
  }),
  claim: null
})

/** Checks 8 and 9. */
const check = (checks: Checks.Checks, caller: Caller, request: TemplateMessageRequest, now: Time.Instant) =>
  Effect.tap(checks.resolve(caller, request, now), ({ addresses, template }) =>
    checks.consent({
      caller,
      purpose: template.category,
      addresses,
      path: (index) => [
        "recipients",
        index,
        Address.personOf(addresses[index] ?? "").phone === null ? "user_id" : "phone"
      ]
    })
  )

const paceOf = ({ session }: Caller, { pace }: TemplateMessageRequest): number | null =>
  Pace.slower(session.pacing.messagesPerSecond, Pace.perMinuteOf(pace))

export const make = Effect.fnUntraced(function* (checks: Checks.Checks, ids: Ids.Ids) {
  const consents = yield* ConsentSource
  const recorded = yield* ConsentStore
  const jobs = yield* JobStore
  const signals = yield* Signals
  const commits = yield* EmbeddedCommits
  const { isEmbedded } = yield* Transactions
  const countAccepted = Metrics.ofAcceptance()
  const senders = yield* Senders

  /** Before the commit of an embedder's transaction there is nothing to see: a store that tells of it wakes whoever dispatches. */
  const wake = commits === null ? signals.sends.notify : Effect.unlessEffect(signals.sends.notify, isEmbedded)

  const closedTo = ({ session }: Caller, template: Template) =>
    ClosedMarkets.closedFor(SessionSender.closedOf(session, senders.get(session.provider)), template.category)

  const send = Effect.fnUntraced(function* (caller: Caller, command: SendCommand) {
    const now = yield* Time.now

    const shaped = Checks.sendShape(command)
    if (Either.isLeft(shaped)) return yield* checks.misshapen(caller, shaped.left, now)
    const { key, request } = shaped.right

    const fingerprint = () => Idempotency.fingerprint("template", request)
    const checked = yield* Effect.either(check(checks, caller, request, now))
    // The commit asks whether the key is known. What is refused before it has no commit, and a known key comes first.
    if (Either.isLeft(checked)) {
      const record = yield* checks.findByIdempotencyKey(caller, key, fingerprint)
      return record === null ? yield* Effect.fail(checked.left) : replayed(record)
    }
    const resolved = checked.right
    const { addresses, card, template } = resolved

    const prices = RateCard.rates(card, template.category, addresses, closedTo(caller, template))
    const sending = acceptSend(caller, resolved, {
      now,
      jobId: ids.jobId(now),
      request,
      requestId: command.requestId,
      traceparent: yield* Traces.current,
      prices,
      idempotency: { key, fingerprint: fingerprint() }
    })
    // An idle dispatcher can claim the send in the same group commit (docs/adr/0016).
    if (jobs.commitsInGroups) yield* signals.sends.notify
    const accepted = yield* checks
      .accept(
        sending,
        ({ limit, resetsAt, used }) =>
          new QuotaExceeded({ limit, used, requested: addresses.length, resetsAt })
      )
      // A send that nobody claims is accepted while the store is held.
      .pipe(Effect.catchTag("StoreQuarantined", Effect.die))
    if (accepted._tag === "Replayed") return replayed(accepted.record)
    countAccepted(accepted.job.recipients)
    yield* wake
    const acknowledgement: Acknowledgement = {
      jobId: accepted.job.id,
      recipients: accepted.job.recipients,
      replayed: false
    }
    return acknowledgement
  })

  const estimate = Effect.fnUntraced(function* (
    caller: Caller,
    request: TemplateMessage | Unchecked,
    options?: { readonly explain?: boolean | undefined }
  ) {
    const now = yield* Time.now
    const shaped = Checks.estimateShape(request)
    if (Either.isLeft(shaped)) return yield* checks.misshapen(caller, shaped.left, now)
    const resolved = yield* checks.resolve(caller, shaped.right, now)
    const { addresses, card, template } = resolved
    const purpose = template.category
    const cost = RateCard.estimate(card, purpose, addresses, closedTo(caller, template))
    const accountId = caller.account.id
    const refusals = yield* consents.refusals(accountId, addresses, purpose)
    const names = addresses.map(Address.consentKeysOf)
    const evidence =
      options?.explain === true
        ? Consent.byPerson(names, yield* recorded.evidence({ accountId, phones: names.flat(), purpose }))
        : null
    const priority = Priority.priorityOf(shaped.right.priority, purpose)
    const perSecond = paceOf(caller, shaped.right)
    return Estimates.make({ request: resolved, priority, cost, refusals, evidence, perSecond, now })
  })

  return { send: spanIfTraced("Engine.send", send), estimate: spanIfTraced("Engine.estimate", estimate) }
})
