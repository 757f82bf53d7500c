/**
 * The circuits of sessions whose platforms do not answer (decisions.md §10), as this process sees them: it counts its
 * own attempts and tells the store, which all processes follow (`domain/session/Circuit`,
 * `SessionStore.markUnavailable`). While a session's circuit is open nothing more of it begins here but probes, and no
 * attempt of it counts.
 */
import type * as Cause from "effect/Cause"
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Metric from "effect/Metric"
import * as Runtime from "effect/Runtime"
import * as Circuit from "../domain/session/Circuit.ts"
import * as Moment from "../runtime/Moment.ts"
import { Signals } from "../runtime/Signals.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import { StoreClock } from "./StoreClock.ts"

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

/** What the store is still to be told of a session, beside that it is unavailable ({@link Opening}). */
type Change = "Available" | "ProbeFailed" | "ProbeUnused"

/** What the store knows of an open circuit. */
interface Opening {
  /** True once it was told: it may know, also when it did not say so. */
  isReported: boolean
  /** When it came to know; null while it does not. */
  knownAt: Order | null
}

interface Entry {
  circuit: Circuit.Circuit
  /** Null while the circuit is closed. */
  opening: Opening | null
}

/** Between two looks while something is under way, in milliseconds: so long a freeze of the process is not noticed. */
const lookEvery = Circuit.longestUnseen / 2

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

const unavailable = Metric.gauge("sendwright_sessions_unavailable", {
  description: "Sessions whose platform does not answer, of all accounts."
})

const outages = Metric.counter("sendwright_outages_total", {
  description: "Outages of sessions' platforms that this process found.",
  incremental: true
})

const reportFailed = (id: string, what: string) => (cause: Cause.Cause<unknown>) =>
  Effect.logWarning(`The store could not be told of session ${id} that ${what}`, cause)

export const layer: Layer.Layer<Circuits, never, SessionStore | StoreClock | Signals> = Layer.scoped(
  Circuits,
  Effect.gen(function* () {
    const sessions = yield* SessionStore
    const signals = yield* Signals
    const { within } = yield* StoreClock
    const clock = yield* Effect.clock
    const scope = yield* Effect.scope
    const runFork = Runtime.runFork(yield* Effect.runtime<never>())
    const oneByOne = (yield* Effect.makeSemaphore(1)).withPermits(1)
    const entries = new Map<string, Entry>()
    const changes = new Map<string, Change>()
    let last: Order = 0
    let isStoring = false
    let isWatched = false
    let seenAt: Moment.Moment = 0

    const nextPlace = (): Order => {
      last += 1
      return last
    }
    const entryOf = (sessionId: string): Entry => {
      const found = entries.get(sessionId)
      if (found !== undefined) return found
      const entry: Entry = { circuit: Circuit.idle, opening: null }
      entries.set(sessionId, entry)
      return entry
    }
    const isOpen = (sessionId: string): boolean => entries.get(sessionId)?.circuit._tag === "Open"
    const isUnreported = ({ opening }: Entry): boolean => opening !== null && opening.knownAt === null

    const time = (): Moment.Moment => Moment.unsafeNow(clock)
    /** The time. Whoever was under way while nobody looked for long had a frozen process, and no silent platform. */
    const see = (): Moment.Moment => {
      const now = time()
      if (isWatched && now - seenAt > Circuit.longestUnseen)
        for (const entry of entries.values()) entry.circuit = Circuit.thawed(entry.circuit)
      seenAt = now
      return now
    }

    const become = (sessionId: string, entry: Entry, circuit: Circuit.Circuit): void => {
      const before = entry.circuit
      entry.circuit = circuit
      if (circuit._tag === before._tag) return
      if (circuit._tag === "Open") {
        entry.opening = { isReported: false, knownAt: null }
        changes.delete(sessionId)
        return
      }
      // What the store was never told needs no end.
      if (entry.opening?.isReported === true) changes.set(sessionId, "Available")
      entry.opening = null
    }
    const update = (sessionId: string, event: Circuit.Event): void => {
      const entry = entryOf(sessionId)
      // First, since a freeze changes the circuit: the time-outs of a process that thaws come before anybody looks.
      if (event === "Unanswered") see()
      become(sessionId, entry, Circuit.next(entry.circuit, event, time))
    }

    const reportUnavailable = (id: string, opening: Opening) =>
      Effect.gen(function* () {
        opening.isReported = true
        const now = yield* Clock.currentTimeMillis
        const isNew = yield* sessions.markUnavailable({ id, now })
        opening.knownAt = nextPlace()
        if (!isNew) return
        yield* Metric.increment(outages)
        yield* Effect.logWarning(
          `Session ${id} is unavailable: its platform does not answer. Its jobs wait, and one message after another asks it again.`
        )
        yield* Effect.zipRight(signals.sends.notify, signals.deliveries.notify)
      }).pipe(Effect.catchAllCause(reportFailed(id, "it is unavailable")))

    const reportChange = (id: string, change: Change) =>
      Effect.gen(function* () {
        const now = yield* Clock.currentTimeMillis
        if (change !== "Available")
          return yield* sessions.returnProbe({ id, attempted: change === "ProbeFailed", now })
        if (!(yield* sessions.markAvailable({ id, now }))) return
        yield* Effect.logInfo(`Session ${id} is available: its platform answers again.`)
        yield* Effect.zipRight(signals.sends.notify, signals.deliveries.notify)
      }).pipe(
        Effect.catchAllCause((cause) => {
          // What has become of it meanwhile stands; an opening that is told to the store says all of it.
          const entry = entries.get(id)
          if (!changes.has(id) && (entry === undefined || !isUnreported(entry))) changes.set(id, change)
          return reportFailed(id, change === "Available" ? "it is available" : "its probe ended")(cause)
        })
      )

    const storeAll = oneByOne(
      Effect.gen(function* () {
        isStoring = true
        for (const [id, { opening }] of [...entries])
          if (opening !== null && opening.knownAt === null) yield* reportUnavailable(id, opening)
        for (const [id, change] of [...changes]) {
          changes.delete(id)
          yield* reportChange(id, change)
        }
      }).pipe(
        Effect.ensuring(
          Effect.sync(() => {
            isStoring = false
          })
        )
      )
    )

    /** Looks at all circuits; answers true when the store is to be told something. */
    const look = (): boolean => {
      const now = see()
      let isPending = changes.size > 0
      for (const [sessionId, entry] of entries) {
        if (Circuit.isQuiet(entry.circuit)) entries.delete(sessionId)
        else become(sessionId, entry, Circuit.look(entry.circuit, now))
        isPending ||= isUnreported(entry)
      }
      return isPending
    }

    const isUnderWay = (): boolean => {
      for (const { circuit } of entries.values()) if (circuit.underWay > 0) return true
      return false
    }
    /** Looks for as long as something is under way: half a minute of silence ends nothing that anybody would notice. */
    const watch: Effect.Effect<void> = Effect.zipRight(
      Effect.sleep(lookEvery),
      Effect.suspend(() => {
        if (!isUnderWay()) {
          isWatched = false
          return Effect.void
        }
        // Nobody waits for a slow store here, which would pass for a freeze.
        const reported = look() && !isStoring ? Effect.forkIn(within(storeAll), scope) : Effect.void
        return Effect.zipRight(reported, watch)
      })
    )
    const beWatched = (): void => {
      if (isWatched) return
      isWatched = true
      seenAt = time()
      runFork(watch, { scope, immediate: false })
    }

    return {
      of: (sessionId, probe) => {
        let probedAt: Moment.Moment = 0
        return {
          mayBegin: () => probe || !isOpen(sessionId),
          isOpen: () => isOpen(sessionId),
          began: () => {
            update(sessionId, "Began")
            beWatched()
            if (probe) probedAt = see()
          },
          ended: (answered) => {
            update(sessionId, answered === null ? "Ended" : answered ? "Answered" : "Unanswered")
            // After a minute another one has its turn.
            if (probe && isOpen(sessionId) && see() - probedAt < Circuit.longestProbe)
              changes.set(sessionId, "ProbeFailed")
          },
          unused: () => {
            // Also where this process had not learnt of the outage. Whatever else is to be told says more.
            if (probe && !changes.has(sessionId)) changes.set(sessionId, "ProbeUnused")
          }
        }
      },
      excluded: () => [...entries].flatMap(([sessionId, entry]) => (isUnreported(entry) ? [sessionId] : [])),
      asking: nextPlace,
      admit: ({ probe, sessionId }, asked) => {
        if (probe) {
          // Whoever gives out a probe knows of the outage.
          const entry = entryOf(sessionId)
          entry.circuit = { _tag: "Open", underWay: entry.circuit.underWay }
          entry.opening ??= { isReported: true, knownAt: null }
          entry.opening.knownAt ??= asked
          return true
        }
        const entry = entries.get(sessionId)
        if (entry === undefined || entry.opening === null) return true
        const { knownAt } = entry.opening
        if (knownAt === null || knownAt > asked) return false
        entry.circuit = Circuit.closed(entry.circuit)
        entry.opening = null
        changes.delete(sessionId)
        return true
      },
      store: Effect.suspend(() => (look() || isStoring ? storeAll : Effect.void)),
      measure: Effect.flatMap(sessions.countUnavailable, (count) => Metric.set(unavailable, count)).pipe(
        Effect.catchAllCause((cause) => Effect.logWarning("Outages could not be counted", cause))
      )
    }
  })
)
