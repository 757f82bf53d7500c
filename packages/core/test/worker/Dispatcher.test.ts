/** The protocol of a dispatcher, row by row: what it does at an event, and what it remembers then. */
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as FastCheck from "effect/FastCheck"
import type { Settlement } from "../../src/storage/JobStore.ts"
import { Outcome } from "../../src/storage/JobStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import { largest } from "../../src/worker/Bulkhead.ts"
import type { Event, Facts, Kind, Phase } from "../../src/worker/Dispatcher.ts"
import * as Dispatcher from "../../src/worker/Dispatcher.ts"
import * as PlainOutcome from "../../src/worker/PlainOutcome.ts"

/** What is claimed: a number of recipients. */
type Claimed = number
type State = Dispatcher.State<Settlement, Claimed>
type Seen = Event<Settlement, Claimed>

const cause = Cause.fail(new StorageError({ operation: "exchange", cause: "lost" }))
const facts: Facts = {
  now: 0,
  hasRoom: true,
  mayBring: "nothing",
  since: null,
  isIdle: true,
  inUse: new Set(),
  stopping: false,
  graceIsOver: false
}
const stopping = { stopping: true }

const settlement = (index: number): Settlement => ({
  jobId: "job",
  fence: 1,
  index,
  outcome: Outcome.Accepted({ providerId: "p", status: "accepted" })
})
const [s0, s1, s2, s3] = [settlement(0), settlement(1), settlement(2), settlement(3)]
const ofOther: Settlement = { ...settlement(4), jobId: "other" }
const releasedOnes = (count: number): ReadonlyArray<Settlement> =>
  Array.from({ length: count }, (_, index) => ({
    ...settlement(index),
    jobId: "claimed",
    outcome: Outcome.Released({ maybeSent: false })
  }))
const kind: Kind<Settlement, Claimed> = {
  settleMs: 25,
  idleMs: 250,
  looksFirst: false,
  plainOf: PlainOutcome.plainOutcomeOf,
  subjectOf: ({ jobId }) => jobId,
  released: (claimed) => claimed.flatMap(releasedOnes)
}
/** One that cannot give back what it has claimed, and looks before it claims. */
const ofWebhooks: Kind<Settlement, Claimed> = { ...kind, looksFirst: true, released: () => null }

const woken: Seen = { _tag: "Woken", noticed: false }
const noticed: Seen = { _tag: "Woken", noticed: true }
const looked = (inMs: number | null): Seen => ({ _tag: "Looked", inMs })
const interrupted: Seen = { _tag: "Interrupted" }
const begun: Seen = { _tag: "Begun" }
const collected = (settlements: ReadonlyArray<Settlement> = [], lapsed = false): Seen => ({
  _tag: "Collected",
  settlements,
  lapsed
})
const stored = (count = 0, isFull = false, postponed: ReadonlyArray<Settlement> = []): Seen => ({
  _tag: "Stored",
  postponed,
  claimed: count === 0 ? [] : [count],
  isFull
})
const failed: Seen = { _tag: "NotStored", cause, refused: false, doubtful: true }
const refused: Seen = { _tag: "NotStored", cause, refused: true, doubtful: false }
const works: Seen = { _tag: "Proved", works: true }
const down: Seen = { _tag: "Proved", works: false }
const registered: Seen = { _tag: "Registered", worker: "w2" }
/** The events as a store would tell them: it gives each name once. */
const named = (events: ReadonlyArray<readonly [Seen, Facts]>) => {
  let names = 1
  return events.map(
    ([event, facts]) =>
      [event._tag === "Registered" ? { ...event, worker: `w${++names}` } : event, facts] as const
  )
}

const storing = (settling = 0, claims = true): Partial<State> => ({
  phase: { _tag: "Storing", commit: { settling, claims } }
})
const passing = Cause.fail(new StorageError({ operation: "exchange", cause: "55P03", fault: "collision" }))
const proving = (settling: number, claims = false, because = cause): Partial<State> => ({
  phase: { _tag: "Proving", commit: { settling, claims }, cause: because }
})
const beginning: Phase<Claimed> = { _tag: "Beginning", claimed: [2] }
const hungry = { isHungry: true }

interface Row {
  readonly title: string
  /** Not hungry, and nothing is looked for before 10,000. */
  readonly from?: Partial<State>
  readonly event: Seen
  readonly facts?: Partial<Facts>
  /** The tags of its notices and its request. */
  readonly does: string
  /** Members of the request beside its tag. */
  readonly with?: object
  readonly becomes?: object
  readonly kind?: Kind<Settlement, Claimed>
}

const rows: ReadonlyArray<Row> = [
  {
    title: "that is told of something claims at once",
    event: noticed,
    does: "Commit",
    with: { settlements: [], worker: "w1", claims: true },
    becomes: { phase: { _tag: "Storing" } }
  },
  {
    title: "of webhooks that is told of something looks first: most commits tell nobody anything",
    event: noticed,
    kind: ofWebhooks,
    does: "Look"
  },
  {
    title: "that is told of something stores what has ended in the same commit",
    event: noticed,
    facts: { since: 0, isIdle: false },
    does: "Collect"
  },
  {
    title: "that has collected for a claim makes it",
    from: hungry,
    event: collected([s0]),
    facts: { isIdle: false },
    does: "Commit",
    with: { settlements: [s0], claims: true },
    becomes: { settlements: [s0] }
  },
  {
    title: "lets outcomes wait for others while these are under way",
    event: woken,
    facts: { now: 10, since: 4, isIdle: false },
    does: "Wait",
    with: { until: 29 }
  },
  {
    title: "stores them when they waited for long enough",
    event: woken,
    facts: { now: 29, since: 4, isIdle: false },
    does: "Collect"
  },
  {
    title: "stores them at once when nothing is under way that could bring more",
    event: woken,
    facts: { now: 4, since: 4 },
    does: "Collect"
  },
  {
    title: "claims with them where somebody may have more",
    event: collected([s0]),
    facts: { mayBring: "withOutcomes", isIdle: false },
    does: "Commit",
    with: { settlements: [s0], claims: true }
  },
  {
    title: "claims with them where nothing is under way any more: it would look next",
    event: collected([s0]),
    does: "Commit",
    with: { settlements: [s0], claims: true }
  },
  {
    title: "claims nothing with them where nobody may",
    event: collected([s0]),
    facts: { isIdle: false },
    does: "Commit",
    with: { settlements: [s0], claims: false }
  },
  {
    title: "makes no commit for whoever may have more alone",
    event: woken,
    facts: { mayBring: "withOutcomes", isIdle: false },
    does: "Wait"
  },
  {
    title: "claims at once for whoever ran out of what it had in hand",
    event: woken,
    facts: { mayBring: "now", isIdle: false },
    does: "Commit",
    with: { claims: true }
  },
  {
    title: "without room claims nothing, and does not look",
    from: { ...hungry, lookAt: 0 },
    event: noticed,
    facts: { hasRoom: false, isIdle: false },
    does: "Wait",
    becomes: { isHungry: true }
  },
  {
    title: "without room stores its outcomes all the same",
    from: hungry,
    event: collected([s0]),
    facts: { hasRoom: false, isIdle: false },
    does: "Commit",
    with: { settlements: [s0], claims: false }
  },
  {
    title: "begins what it claimed",
    from: { ...storing(1), settlements: [s0] },
    event: stored(2),
    does: "Begin",
    with: { claimed: [2], worker: "w1" },
    becomes: { phase: beginning, settlements: [], emptyClaims: 0 }
  },
  {
    title: "claims again when a claim was full",
    from: { phase: beginning, ...hungry },
    event: begun,
    does: "Commit",
    with: { claims: true }
  },
  {
    title: "is not hungry after a claim that was not full",
    from: { ...storing(), ...hungry },
    event: stored(2),
    does: "Begin",
    becomes: { isHungry: false, dueAt: null, lookAt: 25 }
  },
  {
    title: "looks when something is due before it waits",
    from: { phase: beginning, lookAt: 0 },
    event: begun,
    facts: { isIdle: false },
    does: "Look"
  },
  {
    title: "waits until something is due",
    event: looked(70),
    facts: { now: 30 },
    does: "Wait",
    with: { until: 100 },
    becomes: { dueAt: 100, lookAt: 280 }
  },
  {
    title: "looks again after a while: other processes accept, too",
    event: looked(null),
    facts: { now: 30 },
    does: "Wait",
    with: { until: 280 }
  },
  {
    title: "claims what is due",
    from: { dueAt: 100 },
    event: woken,
    facts: { now: 100 },
    does: "Commit",
    with: { claims: true }
  },
  {
    title: "claims once more when a claim did not bring what is due: it may begin with another session",
    from: { emptyClaims: 1, lookAt: 0 },
    event: looked(0),
    does: "Commit",
    with: { claims: true }
  },
  {
    title: "leaves to others for a while what two claims did not bring",
    from: { emptyClaims: 2, lookAt: 0 },
    event: looked(0),
    does: "Wait",
    with: { until: Dispatcher.pauseMs }
  },
  {
    title: "forgets that when it is told of something",
    from: { emptyClaims: 2 },
    event: noticed,
    does: "Commit",
    becomes: { emptyClaims: 0 }
  },
  {
    title: "does not know what is due after outcomes were stored: some may be due again",
    from: { ...storing(1, false), settlements: [s0], dueAt: 5000, emptyClaims: 1 },
    event: stored(),
    does: "Look",
    becomes: { settlements: [], dueAt: null }
  },
  {
    title: "gives back what a commit claimed though the grace period has begun",
    from: storing(),
    event: stored(2),
    facts: stopping,
    does: "Commit",
    with: { settlements: releasedOnes(2), claims: false }
  },
  {
    title: "of webhooks attempts what a commit claimed though the grace period has begun",
    from: storing(),
    event: stored(2),
    facts: stopping,
    kind: ofWebhooks,
    does: "Begin"
  },
  {
    title: "gives back what could not be begun, and backs off",
    from: { phase: beginning },
    event: { _tag: "NotBegun", cause },
    does: "BackOff",
    becomes: { settlements: releasedOnes(2), phase: { _tag: "Open" } }
  },
  {
    title: "of webhooks leaves to the rescue what could not be begun, with its name",
    from: { phase: beginning },
    event: { _tag: "NotBegun", cause },
    kind: ofWebhooks,
    does: "BackOff",
    becomes: { doubtful: true }
  },
  {
    title: "gives back what was not begun when its step broke",
    from: { phase: beginning },
    event: woken,
    does: "Commit",
    with: { settlements: releasedOnes(2) }
  },
  {
    title: "that is interrupted meanwhile gives it back, too",
    from: { phase: beginning },
    event: interrupted,
    does: "End",
    becomes: { settlements: releasedOnes(2), interrupted: true }
  },
  {
    title: "gives up a name under which something was not attempted",
    from: { retired: [] },
    event: collected([], true),
    does: "Commit",
    with: { claims: false },
    becomes: { doubtful: true }
  },
  {
    title: "waits in the grace period when there is nothing to store",
    from: hungry,
    event: woken,
    facts: stopping,
    does: "Wait"
  },
  {
    title: "stores outcomes in the grace period at once",
    event: woken,
    facts: { ...stopping, since: 0, isIdle: false },
    does: "Collect"
  },
  {
    title: "claims nothing with them then",
    from: hungry,
    event: collected([s0]),
    facts: stopping,
    does: "Commit",
    with: { settlements: [s0], claims: false }
  },
  {
    title: "doubts its name after a claim that may have been made",
    from: { ...storing(1), settlements: [s0] },
    event: failed,
    does: "Prove",
    becomes: { doubtful: true, worker: "w1", settlements: [s0] }
  },
  {
    title: "backs off after a failed commit that had no outcomes",
    from: { ...storing(), ...hungry },
    event: failed,
    does: "BackOff",
    with: { cause },
    becomes: { doubtful: true, isHungry: true, phase: { _tag: "Open" } }
  },
  {
    title: "does not doubt a name under which nothing was claimed",
    from: { ...storing(1, false), settlements: [s0] },
    event: failed,
    does: "Prove",
    becomes: { doubtful: false }
  },
  {
    title: "with a doubtful name makes a commit without a claim",
    from: { doubtful: true, ...hungry },
    event: woken,
    does: "Commit",
    with: { settlements: [], claims: false }
  },
  {
    title: "takes a new name when that was answered",
    from: { ...storing(0, false), doubtful: true },
    event: stored(),
    does: "Register"
  },
  {
    title: "claims under its new name, and gives up the former one",
    from: { doubtful: true, ...hungry },
    event: registered,
    does: "Commit",
    with: { worker: "w2", claims: true },
    becomes: { worker: "w2", retired: ["w1"], doubtful: false }
  },
  {
    title: "gives back what a retired name may have, when everything is stored",
    from: { ...storing(1), settlements: [s0], retired: ["w0"] },
    event: stored(),
    does: "GiveBack Look",
    becomes: { retired: [] }
  },
  {
    title: "leaves a retired name to the rescue when an outcome could not be stored",
    from: { ...storing(1), settlements: [s0], retired: ["w0", "w2"], unsettled: ["w0"] },
    event: stored(),
    does: "GiveBack Deregister Look",
    becomes: { retired: [] }
  },
  {
    title: "keeps a retired name alive while something runs under it",
    from: { ...storing(1), settlements: [s0], retired: ["w0"] },
    event: stored(),
    facts: { inUse: new Set(["w0"]), isIdle: false },
    does: "Look",
    becomes: { retired: ["w0"] }
  },
  {
    title: "gives it up when that ended, without a commit",
    from: { retired: ["w0"] },
    event: woken,
    does: "GiveBack Wait",
    becomes: { retired: [] }
  },
  {
    title: "keeps a retired name alive while an outcome is to be stored",
    from: { ...storing(1, false), settlements: [s0, s1], portion: 1, retired: ["w0"] },
    event: stored(),
    does: "Commit",
    becomes: { retired: ["w0"] }
  },
  {
    title: "halves nothing while the store is down",
    from: { ...proving(2), settlements: [s0, s1], refusals: 1 },
    event: down,
    does: "BackOff",
    becomes: { portion: null, refusals: 1, settlements: [s0, s1] }
  },
  {
    title: "makes a commit that failed once as it was again, when the store works",
    from: { ...proving(2, true), settlements: [s0, s1] },
    event: works,
    does: "BackOff",
    becomes: { portion: null, refusals: 1 }
  },
  {
    title: "stores half of what a working store refused twice",
    from: { ...proving(3), settlements: [s0, s1, s2], refusals: 1 },
    event: works,
    does: "BackOff",
    becomes: { portion: 2, refusals: 2 }
  },
  {
    title: "claims nothing while it looks for what is refused",
    from: { settlements: [s0, s1, s2], portion: 2 },
    event: collected(),
    does: "Commit",
    with: { settlements: [s0, s1], claims: false }
  },
  {
    title: "stores twice as many after a part that was stored",
    from: { ...storing(1, false), settlements: [s0, s1, s2, s3], portion: 1, refusals: 1 },
    event: stored(),
    does: "Commit",
    with: { settlements: [s1, s2] },
    becomes: { portion: 2, refusals: 0, acceptsOthers: true }
  },
  {
    title: "tries others first while nothing shows that the store takes any",
    from: { ...proving(1), settlements: [s0, s1], portion: 1, refusals: 3 },
    event: works,
    does: "BackOff",
    becomes: { settlements: [s1, s0], portion: 1 }
  },
  {
    title: "cuts an outcome that is refused alone by a store that takes others",
    from: { ...proving(1), settlements: [s0, s1], portion: 1, refusals: 1, acceptsOthers: true },
    event: works,
    does: "ReportRefused BackOff",
    becomes: {
      settlements: [{ index: 0, outcome: { _tag: "Unknown", failure: { code: "outcome_unstorable" } } }, s1],
      refusals: 0
    }
  },
  {
    title: "cuts the only outcome that it has when half a minute of refusals says that it is at fault",
    from: { ...proving(1), settlements: [s0], portion: 1, refusals: 29 },
    event: works,
    does: "ReportRefused BackOff",
    becomes: { settlements: [{ outcome: { _tag: "Unknown" } }] }
  },
  {
    title: "sets aside what the store may take later of a job, and never cuts it",
    from: {
      ...proving(1, false, passing),
      settlements: [s0, s1, ofOther],
      portion: 1,
      refusals: 99,
      acceptsOthers: true
    },
    event: works,
    facts: { now: 1000 },
    does: "BackOff",
    becomes: {
      settlements: [ofOther],
      aside: [s1, s0],
      asideUntil: 31_000,
      portion: null,
      acceptsOthers: false
    }
  },
  {
    title: "sets all aside while nothing shows that the store takes any",
    from: { ...proving(1, false, passing), settlements: [s0, ofOther], portion: 1, refusals: 9 },
    event: works,
    does: "BackOff",
    becomes: { settlements: [], aside: [ofOther, s0], portion: null }
  },
  {
    title: "lets a claim go first after a try that did not store half of them",
    from: { ...proving(3), settlements: [s0, s1, s2], refusals: 1 },
    event: works,
    does: "BackOff",
    becomes: { portion: 2, claimsApart: true }
  },
  {
    title: "claims without outcomes then",
    from: { settlements: [s0, s1], portion: 1, claimsApart: true, ...hungry },
    event: woken,
    does: "Commit",
    with: { settlements: [], claims: true },
    becomes: { claimsApart: false, portion: 1, settlements: [s0, s1] }
  },
  {
    title: "goes on to look for what is refused after it, as it was",
    from: { ...storing(0), settlements: [s0, s1], portion: 1, refusals: 3 },
    event: stored(),
    does: "Commit",
    with: { settlements: [s0], claims: false },
    becomes: { portion: 1, refusals: 3 }
  },
  {
    title: "keeps what the store postpones for two seconds, and claims meanwhile",
    from: { ...storing(2), settlements: [s0, s1] },
    event: stored(0, false, [s0]),
    facts: { now: 1000, since: 1000 },
    does: "Collect",
    becomes: { settlements: [], postponed: [s0], postponedUntil: 3000, portion: null }
  },
  {
    title: "puts nothing off that was postponed before",
    from: { ...storing(1), settlements: [s1], postponed: [s0], postponedUntil: 2500 },
    event: stored(0, false, [s1]),
    facts: { now: 2000 },
    does: "Look",
    becomes: { postponed: [s0, s1], postponedUntil: 2500 }
  },
  {
    title: "waits for the time of what is postponed",
    from: { postponed: [s0], postponedUntil: 3000, lookAt: 9000 },
    event: woken,
    facts: { now: 2999 },
    does: "Wait",
    with: { until: 3000 }
  },
  {
    title: "stores what was postponed with whatever else there is, and claims in the same commit",
    from: { ...hungry, postponed: [s0], postponedUntil: 3000 },
    event: collected([s1]),
    facts: { now: 3000 },
    does: "Commit",
    with: { settlements: [s0, s1], claims: true },
    becomes: { postponed: [] }
  },
  {
    title: "gives up no name while something of it is postponed",
    from: { ...storing(1, false), settlements: [s1], retired: ["w0"] },
    event: stored(0, false, [s1]),
    does: "Look",
    becomes: { retired: ["w0"], postponed: [s1] }
  },
  {
    title: "sets aside once more what is postponed when it is tried again",
    from: { ...storing(1, false), settlements: [s0, s2], aside: [s1], portion: 1, recalling: true },
    event: stored(0, false, [s0]),
    facts: { now: 40_000 },
    does: "Commit",
    with: { settlements: [s2] },
    becomes: { aside: [s1, s0], asideUntil: 70_000, recalling: false }
  },
  {
    title: "that is interrupted stores also what was postponed",
    from: { settlements: [s0], postponed: [s1], postponedUntil: 31_000 },
    event: interrupted,
    does: "End",
    becomes: { settlements: [s0, s1], postponed: [] }
  },
  {
    title: "that is interrupted tries again after a pause what the store postpones",
    from: { ...storing(2, false), settlements: [s0, s1], interrupted: true },
    event: stored(0, false, [s1]),
    facts: stopping,
    does: "Pause",
    becomes: { settlements: [s1], postponed: [] }
  },
  {
    title: "that is interrupted reports at last what the store postpones",
    from: { ...storing(1, false), settlements: [s1], interrupted: true, refusals: 2 },
    event: stored(0, false, [s1]),
    facts: { ...stopping, graceIsOver: true },
    does: "ReportUnsettled Leave"
  },
  {
    title: "claims beside what is set aside",
    from: { ...hungry, aside: [s0], asideUntil: 31_000 },
    event: collected([s1]),
    facts: { now: 30_999 },
    does: "Commit",
    with: { settlements: [s1], claims: true },
    becomes: { aside: [s0] }
  },
  {
    title: "claims nothing more when two whole claims are set aside",
    from: { aside: Array(2 * largest).fill(s0), asideUntil: 31_000 },
    event: collected([s1]),
    does: "Commit",
    with: { settlements: [s1], claims: false }
  },
  {
    title: "claims on when the whole of a claim is set aside",
    from: { ...hungry, aside: Array(largest).fill(s0), asideUntil: 31_000 },
    event: collected([s1]),
    does: "Commit",
    with: { settlements: [s1], claims: true }
  },
  {
    title: "stores one that was set aside again after half a minute, alone",
    from: { aside: [s0, s1], asideUntil: 31_000 },
    event: collected([s2]),
    facts: { now: 31_000 },
    does: "Commit",
    with: { settlements: [s0], claims: false },
    becomes: { settlements: [s0, s2], aside: [s1], recalling: true }
  },
  {
    title: "sets it aside once more at the first refusal, and asks for another one next",
    from: {
      ...proving(1, false, passing),
      settlements: [s0, s2],
      aside: [s1],
      portion: 1,
      recalling: true
    },
    event: works,
    facts: { now: 40_000 },
    does: "BackOff",
    becomes: { settlements: [s2], aside: [s1, s0], asideUntil: 70_000, portion: null, recalling: false }
  },
  {
    title: "stores all that was set aside once one of it is stored",
    from: { ...storing(1, false), settlements: [s0, s2], aside: [s1], portion: 1, recalling: true },
    event: stored(),
    does: "Commit",
    with: { settlements: [s2, s1] },
    becomes: { aside: [], portion: null, recalling: false }
  },
  {
    title: "gives up no name while something of it is set aside",
    from: { ...storing(1, false), settlements: [s1], aside: [s0], asideUntil: 31_000, retired: ["w0"] },
    event: stored(),
    does: "Look",
    becomes: { retired: ["w0"] }
  },
  {
    title: "that is interrupted stores also what it has set aside",
    from: { settlements: [s0], aside: [s1], asideUntil: 31_000 },
    event: interrupted,
    does: "End",
    becomes: { settlements: [s0, s1], aside: [] }
  },
  {
    title: "does not cut the only outcome that it has before that",
    from: { ...proving(1), settlements: [s0], portion: 1, refusals: 28 },
    event: works,
    does: "BackOff",
    becomes: { settlements: [s0] }
  },
  {
    title: "stores what a store says that it refuses apart from the claim, without delay and without doubt",
    from: { ...storing(2), settlements: [s0, s1] },
    event: refused,
    does: "Commit",
    with: { settlements: [s0, s1], claims: false },
    becomes: { portion: 2, doubtful: false, refusals: 0 }
  },
  {
    title: "then halves it",
    from: { ...storing(2, false), settlements: [s0, s1], portion: 2 },
    event: refused,
    does: "Commit",
    with: { settlements: [s0] }
  },
  {
    title: "then cuts the one at fault",
    from: { ...storing(1, false), settlements: [s0, s1], portion: 1 },
    event: refused,
    does: "ReportRefused Commit",
    with: { settlements: [{ index: 0, outcome: { _tag: "Unknown" } }] }
  },
  {
    title: "then leaves that to the rescue, with its name",
    from: {
      ...storing(1, false),
      settlements: [{ ...s0, outcome: Outcome.Released({ maybeSent: true }) }, s1],
      portion: 1
    },
    event: refused,
    does: "ReportRefused Commit",
    with: { settlements: [s1] },
    becomes: { doubtful: true, settlements: [s1] }
  },
  {
    title: "goes back to whole commits when all is stored",
    from: { ...storing(1, false), settlements: [s0], portion: 4, acceptsOthers: true },
    event: stored(),
    does: "Look",
    becomes: { portion: null, acceptsOthers: false }
  },
  {
    title: "that leaves ends what is under way",
    from: { settlements: [s0] },
    event: interrupted,
    does: "End",
    becomes: { interrupted: true, settlements: [s0] }
  },
  {
    title: "that leaves stores what that brought",
    from: { interrupted: true, settlements: [s0] },
    event: collected([s1]),
    does: "Commit",
    with: { settlements: [s0, s1], claims: false }
  },
  {
    title: "that leaves deregisters its names when all is stored",
    from: { ...storing(1, false), interrupted: true, settlements: [s0], retired: ["w0"] },
    event: stored(),
    does: "GiveBack Leave",
    with: { workers: ["w1"] },
    becomes: { phase: { _tag: "Left" } }
  },
  {
    title: "that leaves with nothing to store just leaves",
    from: { interrupted: true, doubtful: true },
    event: collected(),
    does: "GiveBack Leave",
    with: { workers: [] }
  },
  {
    title: "that leaves leaves to the rescue what an outcome was left of",
    from: { interrupted: true, doubtful: true, unsettled: ["w1"] },
    event: collected(),
    does: "Leave",
    with: { workers: ["w1"] }
  },
  {
    title: "that leaves makes a commit that failed again, by halves, while the grace lasts",
    from: { ...storing(4, false), interrupted: true, settlements: [s0, s1, s2, s3], refusals: 9 },
    event: failed,
    facts: stopping,
    does: "Pause",
    becomes: { settlements: [s0, s1, s2, s3], portion: 2 }
  },
  {
    title: "that leaves stores the others before one that is not taken",
    from: { ...storing(1, false), interrupted: true, settlements: [s0, s1], portion: 1 },
    event: failed,
    facts: stopping,
    does: "Pause",
    becomes: { settlements: [s1, s0], portion: 1 }
  },
  {
    title: "that leaves makes it again after the pause",
    from: { interrupted: true, settlements: [s0] },
    event: woken,
    does: "Commit"
  },
  {
    title: "that leaves makes a failed commit again, though the grace is over",
    from: { ...storing(1, false), interrupted: true, settlements: [s0], refusals: 1 },
    event: failed,
    facts: { stopping: true, graceIsOver: true },
    does: "Pause"
  },
  {
    title: "that leaves says what it could not store, when the grace is over",
    from: { ...storing(1, false), interrupted: true, settlements: [s0], refusals: 2 },
    event: failed,
    facts: { stopping: true, graceIsOver: true },
    does: "ReportUnsettled Leave",
    with: { workers: ["w1"] }
  },
  {
    title: "that has left does nothing more",
    from: { phase: { _tag: "Left" } },
    event: noticed,
    does: "Leave",
    with: { workers: [] }
  }
]

describe("a dispatcher", () => {
  for (const { becomes = {}, does, event, facts: some, from, kind: other, title, with: last } of rows) {
    it(title, () => {
      const state: State = { ...Dispatcher.make("w1"), lookAt: 10_000, ...from }
      const [after, notices, request] = Dispatcher.next(state, event, { ...facts, ...some }, other ?? kind)
      expect([...notices, request].map(({ _tag }) => _tag).join(" ")).toBe(does)
      if (last !== undefined) expect(request).toMatchObject(last)
      expect(after).toMatchObject(becomes)
    })
  }
})

const someFacts = FastCheck.record({
  now: FastCheck.nat(5000),
  hasRoom: FastCheck.boolean(),
  mayBring: FastCheck.constantFrom("now" as const, "withOutcomes" as const, "nothing" as const),
  since: FastCheck.option(FastCheck.nat(5000)),
  isIdle: FastCheck.boolean(),
  inUse: FastCheck.constantFrom(new Set<string>(), new Set(["w1"]), new Set(["w1", "w2"])),
  stopping: FastCheck.boolean(),
  graceIsOver: FastCheck.boolean()
})

/** Where a settlement may have gone: it is told apart by its place. */
const placesOf = (settlements: ReadonlyArray<Settlement>) => settlements.map(({ index }) => index)

/** Steps that keep what every step must keep; answers the next state. */
const checked = (state: State, event: Seen, facts: Facts) => {
  const [after, notices, request] = Dispatcher.next(state, event, facts, kind)
  const isLeft = state.phase._tag === "Left"
  const stored =
    event._tag === "Stored" && state.phase._tag === "Storing"
      ? state.settlements
          .slice(0, state.phase.commit.settling)
          .filter((one) => !event.postponed.includes(one))
      : []
  const told = notices.flatMap((notice) => {
    if (notice._tag === "ReportRefused" && notice.toRescue) return [notice.settlement]
    return notice._tag === "ReportUnsettled" ? notice.settlements : []
  })
  const brought = event._tag === "Collected" ? event.settlements : []
  const loaded = ({ aside, postponed, settlements }: State) =>
    placesOf([...settlements, ...postponed, ...aside])
  const accounted = new Set([...placesOf(stored), ...placesOf(told), ...loaded(after)])
  const known = isLeft ? [] : [...loaded(state), ...placesOf(brought)]
  expect(known.filter((place) => !accounted.has(place))).toEqual([])
  // What was claimed is begun, given back, or still to be begun.
  if (state.phase._tag === "Beginning" && event._tag !== "Begun")
    expect(after.settlements.length + after.aside.length).toBeGreaterThanOrEqual(
      isLeft ? 0 : (kind.released(state.phase.claimed)?.length ?? 0)
    )
  // A name is given up once, and only when nothing runs under it and nothing is to be stored.
  for (const notice of notices) {
    if (notice._tag !== "Deregister" && notice._tag !== "GiveBack") continue
    // What the commit claimed meanwhile is under the name that it has now.
    expect(after.settlements.filter((one) => state.settlements.includes(one))).toEqual([])
    for (const worker of notice.workers) {
      expect([...state.retired, ...(state.interrupted ? [state.worker] : [])]).toContain(worker)
      if (notice._tag === "GiveBack") expect(state.unsettled).not.toContain(worker)
      expect([...facts.inUse]).not.toContain(worker)
    }
  }
  if (request._tag === "Commit" && request.claims)
    expect([after.doubtful, after.interrupted, facts.stopping, facts.hasRoom]).toEqual([
      false,
      false,
      false,
      true
    ])
  return { after, notices, request }
}

describe("a dispatcher, whatever comes in whatever order,", () => {
  it("loses no settlement, gives up no name too soon, and claims nothing that it must not", () => {
    let index = 0
    const fresh = FastCheck.array(FastCheck.constant(null), { maxLength: 5 }).map((some) =>
      collected(some.map(() => settlement(index++)))
    )
    const event = FastCheck.oneof(
      fresh,
      FastCheck.constantFrom<Seen>(
        woken,
        noticed,
        looked(0),
        looked(null),
        stored(),
        stored(3),
        stored(3, true),
        failed,
        refused,
        works,
        down,
        begun,
        { _tag: "NotBegun", cause },
        registered,
        collected([], true)
      ),
      { weight: 1, arbitrary: FastCheck.constant(interrupted) }
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.tuple(event, someFacts), { maxLength: 60 }), (events) => {
        let state: State = Dispatcher.make("w1")
        for (const [each, facts] of named(events)) state = checked(state, each, facts).after
      }),
      { numRuns: 500 }
    )
  })

  it("stores, cuts or reports every settlement, also those that the store refuses for ever", () => {
    /** The store that a dispatcher would meet: it refuses some places, for ever or until they are cut, and is down at times. */
    const world = FastCheck.record({
      bad: FastCheck.uniqueArray(FastCheck.nat(19), { maxLength: 4 }),
      poison: FastCheck.uniqueArray(FastCheck.nat(19), { maxLength: 2 }),
      says: FastCheck.boolean(),
      outage: FastCheck.nat(40),
      /** Places whose session is locked, and until which step. */
      locked: FastCheck.tuple(FastCheck.uniqueArray(FastCheck.nat(19), { maxLength: 6 }), FastCheck.nat(9000))
    })
    FastCheck.assert(
      FastCheck.property(world, ({ bad, locked: [places, until], outage, poison, says }) => {
        let state: State = { ...Dispatcher.make("w1"), lookAt: Number.POSITIVE_INFINITY }
        let event = collected(Array.from({ length: 20 }, (_, index) => settlement(index)))
        const settled = new Map<number, string>()
        const reported: Array<number> = []
        const refuses = ({ index, outcome }: Settlement) =>
          poison.includes(index) || (bad.includes(index) && outcome._tag === "Accepted")
        let now = 0
        for (let step = 0; step < 2000; step++) {
          now += 1
          const { after, notices, request } = checked(state, event, { ...facts, now })
          state = after
          for (const notice of notices)
            if (notice._tag === "ReportRefused" && notice.toRescue) reported.push(notice.settlement.index)
          if (request._tag === "Wait" && request.until === Number.POSITIVE_INFINITY) break
          switch (request._tag) {
            case "Wait":
              now = request.until ?? now
              event = woken
              break
            case "Look":
              event = looked(null)
              break
            case "Commit":
              if (step < outage) event = failed
              else if (request.settlements.some(refuses)) event = says ? refused : failed
              else {
                const postponed = request.settlements.filter(
                  ({ index }) => now < until && places.includes(index)
                )
                for (const one of request.settlements)
                  if (!postponed.includes(one)) settled.set(one.index, one.outcome._tag)
                event = stored(0, false, postponed)
              }
              break
            case "Prove":
              event = step < outage ? down : works
              break
            case "Register":
              event = registered
              break
            default:
              event = woken
          }
        }
        expect(state.settlements).toEqual([])
        for (let place = 0; place < 20; place++) {
          const isPoison = poison.includes(place)
          const isCut = isPoison || bad.includes(place)
          expect([place, settled.get(place)]).toEqual([
            place,
            isPoison ? undefined : isCut ? "Unknown" : "Accepted"
          ])
        }
        expect([...reported].sort()).toEqual([...poison].sort())
      }),
      { numRuns: 40 }
    )
  })

  it("goes on claiming while somebody holds rows of jobs, and stores all of it in the end", () => {
    const unlocksAt = 3_600_000
    const world = FastCheck.record({
      locked: FastCheck.uniqueArray(FastCheck.nat(9), { maxLength: 10 }),
      brought: FastCheck.integer({ min: 1, max: 40 })
    })
    FastCheck.assert(
      FastCheck.property(world, ({ brought, locked }) => {
        const all = Array.from({ length: brought }, (_, index) => ({
          ...settlement(index),
          jobId: `job-${index % 10}`
        }))
        const isLocked = ({ jobId }: Settlement) => locked.some((place) => jobId === `job-${place}`)
        let state: State = { ...Dispatcher.make("w1"), lookAt: Number.POSITIVE_INFINITY }
        let event = collected(all)
        let now = 0
        let [claims, blocked] = [0, 0]
        const settled = new Map<number, string>()
        while (now < unlocksAt || (settled.size < brought && now < 2 * unlocksAt)) {
          const { after, request } = checked(state, event, { ...facts, now })
          state = after
          event = woken
          if (request._tag === "Look") event = looked(0)
          else if (request._tag === "Commit") {
            const waits = now < unlocksAt && request.settlements.some(isLocked)
            event = waits ? { ...failed, cause: passing } : stored()
            now += waits ? 5000 : 1
            blocked += waits && settled.size > 0 ? 1 : 0
            if (!waits) for (const { index, outcome } of request.settlements) settled.set(index, outcome._tag)
            if (!waits && request.claims && now < unlocksAt) claims += 1
          } else if (request._tag === "Prove") event = works
          else if (request._tag === "Register") event = registered
          else now += 5000
        }
        expect([...settled.values()]).toEqual(all.map(() => "Accepted"))
        // The commits that wait for the rows take a third of the time at most, and others claim.
        expect(claims).toBeGreaterThan(300)
        expect(blocked * 5000).toBeLessThan(unlocksAt / 3)
      }),
      { numRuns: 30 }
    )
  })
})
