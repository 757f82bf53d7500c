/**
 * The circuits of sessions whose platforms do not answer (contract.md §10), as this process sees them: it counts its
 * own attempts and tells the store, which all processes follow (`domain/session/Circuit`), in the commits of their outcomes.
 * While a session's circuit is open nothing more of it begins here but probes, and no attempt of it counts.
 */

import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Runtime from "effect/Runtime"
import * as Time from "../domain/Instant.ts"
import * as Circuit from "../domain/session/Circuit.ts"
import * as Metrics from "../runtime/Metrics.ts"
import * as Moment from "../runtime/Moment.ts"
import { Signals } from "../runtime/Signals.ts"
import type { ClaimedJob } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import * as Outcomes from "./Outcomes.ts"
import { StoreClock } from "./StoreClock.ts"

/** The circuit of one session, for the attempts of one message or job. */
export interface SessionCircuit {
  /** True when another attempt may begin. */
  readonly mayBegin: () => boolean
  /** True when a failed attempt costs none. */
  readonly isOpen: () => boolean
  readonly began: () => void
  /** An attempt ended; null when that tells nothing of the platform. `asked` is false where it was not even asked. */
  readonly ended: (answered: boolean | null, asked?: false) => void
  /** The probe will not be attempted. */
  readonly unused: () => void
}

/** The news of a session that the store is still to be told, besides that the session is unavailable ({@link Opening}). */
type Change = Exclude<Circuit.News["what"], "OutageBegan">

/** What the store knows of an open circuit. */
interface Opening {
  /** True once a commit had it: the store may know, also when the answer was lost. */
  isTold: boolean
  isKnown: boolean
}

interface Entry {
  circuit: Circuit.Circuit
  /** Null while the circuit is closed. */
  opening: Opening | null
}

type Exchange = Parameters<Context.Tag.Service<JobStore>["settleAndClaim"]>[0]
type Exchanged = Effect.Effect.Success<ReturnType<Context.Tag.Service<JobStore>["settleAndClaim"]>>

/** Between two looks while something is under way, in milliseconds: so long a freeze of the process is not noticed. */
const lookEvery = Circuit.longestUnseen / 2

/** Between two tries to tell a store that did not take it, in milliseconds. */
const retryMs = 1000

export class Circuits extends Context.Tag("@sendwright/core/worker/Circuits")<
  Circuits,
  {
    /** @param probe true for a message that probes the platform: it may begin while the circuit is open */
    readonly of: (sessionId: string, probe: boolean) => SessionCircuit
    /** True of a session for which nothing is claimed now: the store does not know yet that it is unavailable. */
    readonly isUntold: (sessionId: string) => boolean
    /** The sessions whose outage the store knows; taken when recipients are asked for, for {@link admit}. */
    readonly known: () => ReadonlySet<string>
    /**
     * True when the job may be attempted. What is no probe and was asked for when the store knew of the outage tells that it
     * is over; what was asked for before must wait for its end.
     */
    readonly admit: (job: Pick<ClaimedJob, "probe" | "sessionId">, known: ReadonlySet<string>) => boolean
    /**
     * `JobStore.settleAndClaim`, which tells the store the news: a recipient is not due before its session is known to be
     * unavailable. Where the store did not take them they are told apart, so that they hold up no outcome.
     */
    readonly settleAndClaim: (
      command: Omit<Exchange, "news">
    ) => Effect.Effect<Exchanged & { readonly known: ReadonlySet<string> }, StorageError>
    /** Tells the store the news, where there are some. Returns when it was told, or could not be; the next call tries again. */
    readonly store: Effect.Effect<void>
    /** Reads how many sessions are unavailable, for the metric. */
    readonly measure: Effect.Effect<void>
  }
>() {}

const reportTurned = (id: string, hasBegun: boolean): Effect.Effect<void> =>
  Effect.annotateLogs(
    hasBegun
      ? Effect.logWarning(
          `Session ${id} is unavailable: its platform does not answer. Its jobs wait, and one message after another asks it again.`
        )
      : Effect.logInfo(`Session ${id} is available: its platform answers again.`),
    { sessionId: id }
  )

export const layer: Layer.Layer<Circuits, never, JobStore | SessionStore | StoreClock | Signals> =
  Layer.scoped(
    Circuits,
    Effect.gen(function* () {
      const jobs = yield* JobStore
      const sessions = yield* SessionStore
      const signals = yield* Signals
      const { within } = yield* StoreClock
      const clock = yield* Effect.clock
      const scope = yield* Effect.scope
      const runFork = Runtime.runFork(yield* Effect.runtime<never>())
      const measured = Metrics.ofSessions()
      const tell = Outcomes.make()
      const entries = new Map<string, Entry>()
      const changes = new Map<string, Change>()
      /** True after a commit that had news failed: they may be why. */
      let isApart = false
      let retryAt: Moment.Moment = 0
      /** Commits under way that have news. */
      let telling = 0
      let isWatched = false
      let seenAt: Moment.Moment = 0

      const entryOf = (sessionId: string): Entry => {
        const found = entries.get(sessionId)
        if (found !== undefined) return found
        const entry: Entry = { circuit: Circuit.idle, opening: null }
        entries.set(sessionId, entry)
        return entry
      }
      const isOpen = (sessionId: string): boolean => entries.get(sessionId)?.circuit._tag === "Open"
      const isUntold = (sessionId: string): boolean => entries.get(sessionId)?.opening?.isKnown === false

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
          entry.opening = { isTold: false, isKnown: false }
          changes.delete(sessionId)
          return
        }
        // An outage of which the store was never told needs no end.
        if (entry.opening?.isTold === true) changes.set(sessionId, "OutageEnded")
        entry.opening = null
      }
      const update = (sessionId: string, event: Circuit.Event): void => {
        const entry = entryOf(sessionId)
        // First, since a freeze changes the circuit: the time-outs of a process that thaws come before anybody looks.
        if (event === "Unanswered") see()
        become(sessionId, entry, Circuit.next(entry.circuit, event, time))
      }

      /** Looks at all circuits, and takes the news for a commit. An outage is in each commit until the store knows it. */
      const take = (): ReadonlyArray<Circuit.News> => {
        const now = see()
        const news: Array<Circuit.News> = []
        for (const [sessionId, entry] of entries) {
          if (Circuit.isQuiet(entry.circuit)) entries.delete(sessionId)
          else become(sessionId, entry, Circuit.look(entry.circuit, now))
          if (entry.opening?.isKnown !== false) continue
          entry.opening.isTold = true
          news.push({ sessionId, what: "OutageBegan" })
        }
        for (const [sessionId, what] of changes) news.push({ sessionId, what })
        changes.clear()
        return news
      }
      const openingsOf = (news: ReadonlyArray<Circuit.News>) =>
        news.flatMap(({ sessionId, what }) => {
          const opening = what === "OutageBegan" ? entries.get(sessionId)?.opening : undefined
          return opening ? [{ sessionId, opening }] : []
        })
      /** What has become of a session meanwhile stands; an opening that is told says all of it. */
      const putBack = ({ sessionId, what }: Circuit.News): void => {
        if (what !== "OutageBegan" && !changes.has(sessionId) && !isUntold(sessionId))
          changes.set(sessionId, what)
      }

      const known = (): ReadonlySet<string> =>
        new Set(
          [...entries].flatMap(([sessionId, { opening }]) => (opening?.isKnown === true ? sessionId : []))
        )

      const told = (news: ReadonlyArray<Circuit.News>, turned: ReadonlyArray<string>): Effect.Effect<void> =>
        Effect.forEach(
          turned,
          (id) =>
            reportTurned(
              id,
              news.some(({ sessionId, what }) => sessionId === id && what === "OutageBegan")
            ),
          { discard: true }
        ).pipe(Effect.zipRight(signals.sends.notify), Effect.zipRight(signals.deliveries.notify))

      const exchange = (command: Omit<Exchange, "news">, news: ReadonlyArray<Circuit.News>) => {
        const knows = new Set([...known(), ...news.map(({ sessionId }) => sessionId)])
        if (news.length === 0)
          return Effect.flatMap(jobs.settleAndClaim(command), (answer) =>
            Effect.as(tell(answer.ends), { ...answer, known: knows })
          )
        const openings = openingsOf(news)
        telling += 1
        return jobs.settleAndClaim({ ...command, news }).pipe(
          Effect.onExit((exit) =>
            Effect.sync(() => {
              telling -= 1
              retryAt = time() + retryMs
              const unheard = exit._tag === "Failure" ? undefined : exit.value.unheard
              const again = news.filter(({ sessionId }) => unheard?.includes(sessionId) !== false)
              isApart = again.length > 0
              for (const { opening, sessionId } of openings)
                if (unheard?.includes(sessionId) === false) opening.isKnown = true
              again.forEach(putBack)
            })
          ),
          Effect.tap(({ ends }) => tell(ends)),
          Effect.tap(({ turned }) => (turned.length === 0 ? Effect.void : told(news, turned))),
          Effect.map((answer) => ({ ...answer, known: knows }))
        )
      }

      const store = Effect.suspend(() => {
        const news = take()
        if (news.length === 0) return Effect.void
        return Effect.flatMap(Time.now, (now) => exchange({ now, settlements: [], claim: null }, news)).pipe(
          Effect.asVoid,
          Effect.catchAllCause((cause) =>
            Effect.logWarning(
              `The store could not be told what became of ${[...new Set(news.map(({ sessionId }) => sessionId))].join(", ")}`,
              cause
            )
          )
        )
      })

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
          see()
          // Nobody waits for a slow store here, which would pass for a freeze.
          return Effect.zipRight(telling > 0 ? Effect.void : Effect.forkIn(within(store), scope), watch)
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
          const unused = () => {
            // Also where this process had not learnt of the outage. Whatever else is to be told says more.
            if (probe && !changes.has(sessionId)) changes.set(sessionId, "ProbeUnused")
          }
          return {
            mayBegin: () => probe || !isOpen(sessionId),
            isOpen: () => isOpen(sessionId),
            began: () => {
              update(sessionId, "Began")
              beWatched()
              if (probe) probedAt = see()
            },
            ended: (answered, asked) => {
              if (asked === false) unused()
              update(sessionId, answered === null ? "Ended" : answered ? "Answered" : "Unanswered")
              // After a minute another one has its turn.
              if (asked !== false && probe && isOpen(sessionId) && see() - probedAt < Circuit.longestProbe)
                changes.set(sessionId, "ProbeFailed")
            },
            unused
          }
        },
        isUntold,
        known,
        admit: ({ probe, sessionId }, known) => {
          if (probe) {
            // Whoever gives out a probe knows of the outage.
            const entry = entryOf(sessionId)
            entry.circuit = { _tag: "Open", underWay: entry.circuit.underWay }
            entry.opening = { isTold: true, isKnown: true }
            return true
          }
          const entry = entries.get(sessionId)
          if (entry === undefined || entry.opening === null) return true
          if (!entry.opening.isKnown || !known.has(sessionId)) return false
          entry.circuit = Circuit.closed(entry.circuit)
          entry.opening = null
          changes.delete(sessionId)
          return true
        },
        settleAndClaim: (command) =>
          Effect.suspend(() => {
            if (!isApart) return exchange(command, take())
            // Nobody waits for what could not be told.
            if (telling === 0 && time() >= retryAt) runFork(within(store), { scope })
            return exchange(command, [])
          }),
        store,
        measure: Effect.map(sessions.countDown, measured).pipe(
          Effect.catchAllCause((cause) =>
            Effect.logWarning("Sessions that may not send could not be counted", cause)
          )
        )
      }
    })
  )
