/** Prepares attempts: finds their senders, and those who may have nothing any more (contract.md §4, docs/adr/0034). */

import * as Arrays from "effect/Array"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Address from "../domain/Address.ts"
import * as Caps from "../domain/account/Caps.ts"
import * as RateCard from "../domain/billing/RateCard.ts"
import type { Purpose, Refusal } from "../domain/consent/Consent.ts"
import { groupBy } from "../domain/GroupBy.ts"
import * as Ids from "../domain/Ids.ts"
import * as Time from "../domain/Instant.ts"
import * as Job from "../domain/job/Job.ts"
import * as When from "../domain/job/When.ts"
import * as ClosedMarkets from "../domain/session/ClosedMarkets.ts"
import * as QuietHours from "../domain/session/QuietHours.ts"
import type { SecretBox } from "../secret/SecretBox.ts"
import type { Senders } from "../sender/Sender.ts"
import * as SessionSender from "../sender/SessionSender.ts"
import { ConsentSource } from "../storage/ConsentSource.ts"
import { InboundStore } from "../storage/InboundStore.ts"
import type { DispatchedJob } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { RateCardStore } from "../storage/RateCardStore.ts"
import * as Attempt from "./Attempt.ts"
import { Circuits } from "./Circuits.ts"

export interface Prepared {
  readonly job: DispatchedJob
  readonly attempts: Attempt.Attempts
}

/** Jobs that cannot be prepared are given back. `failed`: the sessions of which that is. */
export type Prepare = (
  claimed: ReadonlyArray<DispatchedJob>,
  stillOwns: Attempt.StillOwns
) => Effect.Effect<{ readonly prepared: ReadonlyArray<Prepared>; readonly failed: ReadonlySet<string> }>

/**
 * The consents that a job needs: for the purpose as it was accepted, and as it is now, since the platform may have given the
 * template another category (contract.md §11).
 */
const purposesOf = ({ category, content }: DispatchedJob): ReadonlyArray<Purpose> => {
  const accepted = Job.purpose(content)
  return category === null || category === accepted ? [accepted] : [accepted, category]
}

/** Without those who have had as many messages as the account's caps allow. Whom consent or time refuses counts for nothing. */
const keepingCaps = (stored: typeof JobStore.Service) =>
  Effect.fnUntraced(function* (
    prepared: ReadonlyArray<Prepared>,
    { accountId, caps, category, content }: DispatchedJob
  ) {
    const purpose = category ?? Job.purpose(content)
    if (purpose === "direct" || caps[purpose] === null) return prepared
    const now = yield* Time.now
    const asked = prepared.flatMap(({ attempts, job }) =>
      attempts.queue.map((recipient) => ({ jobId: job.jobId, recipient }))
    )
    if (asked.length === 0) return prepared
    const messages = asked.map(({ jobId, recipient: { address, index, maybeSent, timing } }) => ({
      message: Ids.messageId(jobId, index),
      address,
      since: (days: number) => Caps.sinceOf(address, timing?.timeZone ?? null, days, now),
      isAgain: maybeSent
    }))
    const places = yield* stored.overCap({ accountId, purpose, messages, now })
    if (places.size === 0) return prepared
    const over = new Set(asked.flatMap(({ recipient }, place) => (places.has(place) ? [recipient] : [])))
    return prepared.map(({ attempts, job }): Prepared => {
      const [queue, capped] = Arrays.partition(attempts.queue, (recipient) => over.has(recipient))
      const skipped = capped.map((recipient) => attempts.skip(recipient, Caps.failure))
      return { job, attempts: { ...attempts, queue, settled: [...attempts.settled, ...skipped] } }
    })
  })

/**
 * Prices what goes later than it was accepted, for its time or in the place of a refused text, as it goes: a card may have come into
 * force meanwhile (contract.md §14 "Time").
 */
const pricing = (cards: Context.Tag.Service<RateCardStore>) =>
  Effect.fnUntraced(function* (jobs: ReadonlyArray<DispatchedJob>) {
    const [first] = jobs
    const purpose = first === undefined ? "direct" : (first.category ?? Job.purpose(first.content))
    if (purpose === "direct") return jobs
    const now = yield* Time.now
    return yield* Effect.forEach(jobs, (job) => {
      const mayWait =
        job.timing !== null || job.replacesText || QuietHours.of(job.session.quietHours, purpose) !== null
      if (!mayWait) return Effect.succeed(job)
      return Effect.map(
        cards.inForce({ currency: job.currency, now }),
        (card): DispatchedJob =>
          card === null
            ? job
            : {
                ...job,
                recipients: job.recipients.map((each) => ({
                  ...each,
                  rate: RateCard.rate(card, purpose, each.address)
                }))
              }
      )
    })
  })

/** The refusals of recipients who may have no message for one of these purposes, by their places. */
const refusing = (consents: Context.Tag.Service<ConsentSource>, people: Context.Tag.Service<InboundStore>) =>
  Effect.fnUntraced(function* (
    accountId: string,
    addresses: ReadonlyArray<Address.Address>,
    purposes: ReadonlyArray<Purpose>
  ) {
    const found = new Map<number, Refusal>()
    for (const purpose of purposes)
      for (const [place, refusal] of yield* consents.refusals(accountId, addresses, purpose))
        found.set(place, refusal)
    // The platform may have told only now that two names are of two people: consent of the one is none of the other.
    const keys = Address.keysOfPairs(addresses)
    if (keys.length === 0) return found
    for (const place of Address.placesOfTwo(addresses, yield* people.others({ accountId, keys })))
      found.set(place, { _tag: "Missing" })
    return found
  })

export const make: Effect.Effect<
  Prepare,
  never,
  Circuits | ConsentSource | InboundStore | JobStore | RateCardStore | SecretBox | Senders
> = Effect.gen(function* () {
  const circuits = yield* Circuits
  const consents = yield* ConsentSource
  const people = yield* InboundStore
  const withinCaps = keepingCaps(yield* JobStore)
  const priced = pricing(yield* RateCardStore)
  const resolve = yield* SessionSender.make

  const refusals = refusing(consents, people)

  /** A one-time code goes to the number of a user id, where one is known by now (contract.md §14). */
  const withNumbers = Effect.fnUntraced(function* (jobs: ReadonlyArray<DispatchedJob>) {
    const keys = jobs.flatMap(({ content, recipients }) =>
      Job.purpose(content) === "authentication"
        ? recipients.flatMap(({ address }) => (Address.isUserId(address) ? [address] : []))
        : []
    )
    const [first] = jobs
    if (first === undefined || keys.length === 0) return jobs
    const others = yield* people.others({ accountId: first.accountId, keys })
    return jobs.map(
      (job): DispatchedJob => ({
        ...job,
        recipients: job.recipients.map((each) => ({
          ...each,
          address: Address.withNumber(each.address, others)
        }))
      })
    )
  })

  /** Jobs of one session, account and purposes share the look-ups. */
  const prepareGroup = Effect.fnUntraced(function* (
    claimed: ReadonlyArray<DispatchedJob>,
    stillOwns: Attempt.StillOwns
  ) {
    const [first] = claimed
    if (first === undefined) return []
    const { accountId, session, sessionId } = first
    const sessionSender = yield* resolve(session)
    const jobs = yield* priced(yield* withNumbers(claimed))
    const addresses = jobs.flatMap(({ recipients }) => recipients.map(({ address }) => address))
    const purposes = purposesOf(first)
    const clock = yield* Effect.clock
    const askedAt = Time.unsafeNow(clock)
    const byPlace = yield* refusals(accountId, addresses, purposes)
    const consent: Attempt.Consent = {
      isFresh: () => Attempt.isFresh(askedAt, Time.unsafeNow(clock)),
      askAgain: (address) => Effect.map(refusals(accountId, [address], purposes), (refused) => refused.get(0))
    }
    const category = first.category ?? Job.purpose(first.content)
    const isClosed = ClosedMarkets.closedFor(sessionSender?.closedMarkets ?? [], category)
    const quiet = QuietHours.of(session.quietHours, category)
    let offset = 0
    const prepared = jobs.map((job): Prepared => {
      const circuit = circuits.of(sessionId, job.probe)
      const { timing } = job
      const turnOf: Attempt.TurnOf =
        timing === null && quiet === null
          ? Attempt.always
          : ({ address, timing: own }, now) => When.turn({ timing, own, address, quiet }, now)
      const refused = { byPlace, offset, now: askedAt, isClosed, consent, turnOf }
      offset += job.recipients.length
      return { job, attempts: Attempt.prepareAttempts(sessionSender, job, circuit, stillOwns, refused) }
    })
    return yield* withinCaps(prepared, first)
  })

  return Effect.fnUntraced(function* (claimed, stillOwns) {
    const kindOf = (job: DispatchedJob) => `${job.sessionId} ${job.accountId} ${purposesOf(job).join(" ")}`
    const prepared: Array<Prepared> = []
    const failed = new Set<string>()
    for (const jobs of groupBy(claimed, kindOf).values()) {
      const exit = yield* Effect.exit(prepareGroup(jobs, stillOwns))
      if (Exit.isSuccess(exit)) {
        prepared.push(...exit.value)
        continue
      }
      yield* Effect.logError("Attempts could not begin", exit.cause)
      for (const job of jobs) {
        failed.add(job.sessionId)
        prepared.push({ job, attempts: Attempt.released(job, circuits.of(job.sessionId, job.probe)) })
      }
    }
    return { prepared, failed }
  })
})
