/**
 * The circuits of sessions whose platforms do not answer (decisions.md §10), as this process sees them: it counts its own
 * attempts and tells the store, which all processes follow (`domain/Circuit`, `SessionStore.markUnavailable`). While a
 * session's circuit is open nothing more of it begins here but probes, and no attempt of it counts.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Circuit from "../domain/Circuit.ts"
import * as Moment from "../loop/Moment.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { Wake } from "./Wake.ts"

/** The circuit of one session, for the attempts of one message or job. */
export interface SessionCircuit {
  /** True when another attempt may begin. */
  readonly mayBegin: () => boolean
  /** True when a failed attempt costs none. */
  readonly isOpen: () => boolean
  readonly began: () => void
  /** An attempt ended; null when that tells nothing of the platform. */
  readonly ended: (answered: boolean | null) => void
  /** It will not be attempted. */
  readonly unused: () => void
}

/** A change that the store is still to be told. */
type Change = "Unavailable" | "Available" | "ProbeFailed" | "ProbeUnused"

/** The place of a claim or an opening in the order in which they came. */
export type Order = number

export class Circuits extends Context.Tag("@sendwright/core/worker/Circuits")<
  Circuits,
  {
    /** @param probe true for a message that probes the platform: it may begin while the circuit is open */
    readonly of: (sessionId: string, probe: boolean) => SessionCircuit
    /** Sessions for which nothing is claimed now: the store does not know yet that they are unavailable. */
    readonly excluded: () => Iterable<string>
    /** Called when a claim is asked for; {@link admit} takes the answer with what the claim brought. */
    readonly asking: () => Order
    /**
     * True when the job may be attempted. A claim that was asked for before the store knew of the outage brings what must
     * wait for its end; one that was asked for later, and brings no probe, tells that the outage is over.
     */
    readonly admit: (job: Pick<ClaimedJob, "probe" | "sessionId">, asked: Order) => boolean
    /**
     * Tells the store what has changed. Returns when it was told, or could not be; the next call tries again. To be called
     * before outcomes are stored: a recipient must not be due before its session is known to be unavailable.
     */
    readonly store: Effect.Effect<void>
    /** Reads how many sessions are unavailable, for the metric. */
    readonly measure: Effect.Effect<void>
  }
>() {}

const began = (circuit: Circuit.Circuit) => Circuit.next(circuit, "Began")
const hadAnswer = (circuit: Circuit.Circuit) => Circuit.next(circuit, "Answered")
const hadNone = (circuit: Circuit.Circuit) => Circuit.next(circuit, "Unanswered")
const ended = (circuit: Circuit.Circuit) => Circuit.next(circuit, "Ended")

const unavailable = Metric.gauge("sendwright_sessions_unavailable", {
  description: "Sessions whose platform does not answer, of all accounts."
})

const outages = Metric.counter("sendwright_outages_total", {
  description: "Outages of sessions' platforms that this process found.",
  incremental: true
})

export const layer: Layer.Layer<Circuits, never, SessionStore | Wake> = Layer.effect(
  Circuits,
  Effect.gen(function* () {
    const sessions = yield* SessionStore
    const wake = yield* Wake
    const clock = yield* Effect.clock
    const oneByOne = (yield* Effect.makeSemaphore(1)).withPermits(1)
    const circuits = new Map<string, { circuit: Circuit.Circuit }>()
    const changes = new Map<string, Change>()
    /** When the store came to know of each open circuit; null while it does not. */
    const known = new Map<string, Order | null>()
    let last: Order = 0
    let isStoring = false

    const nextPlace = (): Order => {
      last += 1
      return last
    }
    const entryOf = (sessionId: string): { circuit: Circuit.Circuit } => {
      const known = circuits.get(sessionId)
      if (known !== undefined) return known
      const entry = { circuit: Circuit.idle }
      circuits.set(sessionId, entry)
      return entry
    }
    const isOpen = (sessionId: string): boolean => circuits.get(sessionId)?.circuit._tag === "Open"

    const update = (sessionId: string, step: (circuit: Circuit.Circuit) => Circuit.Circuit): void => {
      const entry = entryOf(sessionId)
      const before = entry.circuit
      const after = step(before)
      entry.circuit = after
      if (after._tag === before._tag) return
      if (after._tag === "Open") {
        known.set(sessionId, null)
        changes.set(sessionId, "Unavailable")
        return
      }
      known.delete(sessionId)
      // What the store was never told needs no end.
      if (changes.get(sessionId) === "Unavailable") changes.delete(sessionId)
      else changes.set(sessionId, "Available")
    }

    const tell = (id: string, change: Change) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        switch (change) {
          case "Unavailable": {
            const isNew = yield* sessions.markUnavailable({ id, now })
            if (isOpen(id)) known.set(id, nextPlace())
            if (!isNew) return
            yield* Metric.increment(outages)
            yield* Effect.logWarning(
              `Session ${id} is unavailable: its platform does not answer. Its jobs wait, and one message after another asks it again.`
            )
            break
          }
          case "Available":
            if (!(yield* sessions.markAvailable({ id, now }))) return
            yield* Effect.logInfo(`Session ${id} is available: its platform answers again.`)
            break
          case "ProbeFailed":
          case "ProbeUnused":
            return yield* sessions.returnProbe({ id, attempted: change === "ProbeFailed", now })
        }
        yield* Effect.zipRight(wake.sends.notify, wake.deliveries.notify)
      })

    const storeAll = oneByOne(
      Effect.gen(function* () {
        isStoring = true
        for (const [id, change] of [...changes]) {
          changes.delete(id)
          yield* Effect.catchAllCause(tell(id, change), (cause) => {
            if (!changes.has(id)) changes.set(id, change)
            return Effect.logWarning(`The outage of session ${id} could not be stored (${change})`, cause)
          })
        }
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            isStoring = false
          })
        )
      )
    )

    return {
      of: (sessionId, probe) => ({
        mayBegin: () => probe || !isOpen(sessionId),
        isOpen: () => isOpen(sessionId),
        began: () => update(sessionId, began),
        ended: (answered) => {
          update(sessionId, answered === null ? ended : answered ? hadAnswer : hadNone)
          if (probe && isOpen(sessionId)) changes.set(sessionId, "ProbeFailed")
        },
        unused: () => {
          if (probe && isOpen(sessionId)) changes.set(sessionId, "ProbeUnused")
        }
      }),
      excluded: () => [...known].flatMap(([sessionId, at]) => (at === null ? [sessionId] : [])),
      asking: nextPlace,
      admit: ({ probe, sessionId }, asked) => {
        if (probe) {
          if (isOpen(sessionId)) return true
          const entry = entryOf(sessionId)
          entry.circuit = { _tag: "Open", underWay: entry.circuit.underWay }
          known.set(sessionId, asked)
          return true
        }
        if (!isOpen(sessionId)) return true
        const since = known.get(sessionId) ?? null
        if (since === null || since > asked) return false
        const entry = entryOf(sessionId)
        entry.circuit = Circuit.closed(entry.circuit)
        known.delete(sessionId)
        changes.delete(sessionId)
        return true
      },
      store: Effect.suspend(() => {
        const now = Moment.unsafeNow(clock)
        for (const [sessionId, { circuit }] of circuits) {
          if (circuit._tag === "Closed" && circuit.underWay === 0 && circuit.unanswered === 0)
            circuits.delete(sessionId)
          else update(sessionId, (before) => Circuit.look(before, now))
        }
        return changes.size === 0 && !isStoring ? Effect.void : storeAll
      }),
      measure: Effect.flatMap(sessions.countUnavailable, (count) => Metric.set(unavailable, count)).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("Outages could not be counted", cause))
      )
    }
  })
)
