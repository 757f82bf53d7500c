/** Attempts of one session's messages in a process of so many slots, without a store. */

import * as Effect from "effect/Effect"
import * as Runtime from "effect/Runtime"
import * as Caps from "../../src/domain/account/Caps.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as ClosedMarkets from "../../src/domain/session/ClosedMarkets.ts"
import * as QuietHours from "../../src/domain/session/QuietHours.ts"
import * as Moment from "../../src/runtime/Moment.ts"
import type { Sender } from "../../src/sender/Sender.ts"
import type { DispatchedJob } from "../../src/storage/JobStore.ts"
import * as Attempt from "../../src/worker/Attempt.ts"
import { AttemptQueue, InFlight } from "../../src/worker/AttemptQueue.ts"
import { Bulkhead } from "../../src/worker/Bulkhead.ts"
import type { SessionCircuit } from "../../src/worker/Circuits.ts"

export const job = (recipients: number): DispatchedJob => ({
  jobId: "01980000-0000-7000-8000-000000000000",
  accountId: "account",
  sessionId: "session",
  traceparent: null,
  replacesText: false,
  session: {
    id: "session",
    provider: "http",
    config: "",
    connectedSince: Time.at(0),
    retryForMs: null,
    closedMarkets: null,
    quietHours: QuietHours.none,
    failing: null
  },
  category: null,
  caps: Caps.none,
  currency: "EUR",
  timing: null,
  content: { kind: "direct", text: "Hello", linkPreview: false },
  fence: 1,
  probe: false,
  recipients: Array.from({ length: recipients }, (_, index) => ({
    index,
    address: String(34_600_000_000 + index),
    timing: null,
    values: [],
    attempts: 1,
    firstAttemptAt: Time.at(0),
    maybeSent: false,
    crashCount: 0,
    dueAt: Time.at(0)
  }))
})

export const circuit: SessionCircuit = {
  mayBegin: () => true,
  isOpen: () => false,
  began: () => {},
  ended: () => {},
  unused: () => {}
}

export const noRefusals = {
  byPlace: new Map(),
  offset: 0,
  now: Time.at(0),
  turnOf: Attempt.always,
  isClosed: ClosedMarkets.nobody,
  consent: { isFresh: () => true, askAgain: () => Effect.succeed(undefined) }
}

export const line = (some: Partial<Sender> & Pick<Sender, "send">) => ({
  sender: { provider: "http", deduplicates: false, ...some } as const,
  config: {},
  retryForMs: null,
  closedMarkets: [],
  connection: { config: "", connectedSince: Time.at(0) }
})

export const attemptsOf = (
  some: Partial<Sender> & Pick<Sender, "send">,
  claimed: DispatchedJob,
  of: SessionCircuit = circuit
): Attempt.Attempts => Attempt.prepareAttempts(line(some), claimed, of, () => true, noRefusals)

export const turnsOf = Effect.fnUntraced(function* (slots: number, only: string | null = "session") {
  const runtime = yield* Effect.runtime<never>()
  const clock = yield* Effect.clock
  const now = () => Moment.unsafeNow(clock)
  const bulkhead = new Bulkhead({ slots, oldAt: 0 })
  bulkhead.only(only)
  const turns = new AttemptQueue(bulkhead, now, (attempts) =>
    Runtime.runFork(runtime)(Effect.interruptible(attempts), { immediate: false })
  )
  let wakes = 0
  const inFlight = new InFlight(() => {
    wakes += 1
  })
  /** As after a claim. */
  const enter = (attempts: Attempt.Attempts, sessionId = "session", into = inFlight): void => {
    const asking = bulkhead.ask(1000, now())
    bulkhead.claimed(asking, sessionId, attempts.queue)
    bulkhead.over(asking)
    const claimed = { ...job(0), sessionId, recipients: attempts.queue }
    turns.enter({
      inFlight: into,
      job: claimed,
      attempts,
      worker: "worker",
      since: Time.at(0),
      enteredAt: now()
    })
  }
  const outcomes = (from = inFlight) =>
    from
      .collect()
      .toSorted((a, b) => a.settlement.index - b.settlement.index)
      .map(({ settlement }) => settlement.outcome)
  return { bulkhead, turns, inFlight, enter, outcomes, wakes: () => wakes }
})
