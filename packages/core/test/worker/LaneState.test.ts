/** The protocol of a lane, row by row: what it does at an event, and what it remembers then. */
import { describe, expect, it } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as FastCheck from "effect/FastCheck"
import type { DispatchedJob, Settlement } from "../../src/storage/JobStore.ts"
import { Outcome } from "../../src/storage/JobStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import * as BatchSize from "../../src/worker/BatchSize.ts"
import type { Facts, LaneEvent, Phase } from "../../src/worker/LaneState.ts"
import * as LaneState from "../../src/worker/LaneState.ts"

const cause = Cause.fail(new StorageError({ operation: "exchange", cause: "lost" }))
const facts: Facts = {
  now: 0,
  free: 16,
  spare: 16,
  room: 2000,
  young: false,
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
const claimed = (count: number): ReadonlyArray<DispatchedJob> => [
  {
    jobId: "claimed",
    accountId: "account",
    sessionId: "session",
    session: {
      id: "session",
      provider: "sandbox",
      config: "sealed",
      connectedSince: 0,
      retryForMs: null,
      closedMarkets: null
    },
    category: null,
    content: { kind: "direct", text: "Hello", linkPreview: false },
    fence: 1,
    probe: false,
    recipients: Array.from({ length: count }, (_, index) => ({
      index,
      phone: String(index),
      values: [],
      attempts: 1,
      firstAttemptAt: 0,
      maybeSent: false,
      crashCount: 0
    }))
  }
]
const releasedOnes = (count: number) =>
  Array.from({ length: count }, (_, index) => ({
    jobId: "claimed",
    index,
    outcome: { _tag: "Released", maybeSent: false }
  }))
const batch = (id: number, worker = "w1") => ({ id, worker })

const ready: LaneEvent = { _tag: "Ready" }
const waited: LaneEvent = { _tag: "Waited" }
const interrupted: LaneEvent = { _tag: "Interrupted" }
const collected = (
  settlements: ReadonlyArray<Settlement> = [],
  batches: ReadonlyArray<LaneState.BatchView> = []
): LaneEvent => ({ _tag: "Collected", settlements, batches })
const stored = (count = 0): LaneEvent => ({ _tag: "Stored", claimed: count === 0 ? [] : claimed(count) })
const failed: LaneEvent = { _tag: "NotStored", cause, refused: false, doubtful: true }
const refused: LaneEvent = { _tag: "NotStored", cause, refused: true, doubtful: false }
const works: LaneEvent = { _tag: "Proved", works: true }
const down: LaneEvent = { _tag: "Proved", works: false }
const registered: LaneEvent = { _tag: "Registered", worker: "w2" }
/** The events as a store would tell them: it gives each name once. */
const named = (events: ReadonlyArray<readonly [LaneEvent, Facts]>) => {
  let names = 1
  return events.map(
    ([event, facts]) =>
      [event._tag === "Registered" ? { ...event, worker: `w${++names}` } : event, facts] as const
  )
}
const started = (awaited: number | null, ...ids: ReadonlyArray<number>): LaneEvent => ({
  _tag: "Started",
  batches: ids.map((id) => batch(id)),
  awaited
})

const collecting: Phase = { _tag: "Collecting", watched: null }
const watched = { batch: 1, since: 0 }
const storing = (settling = 0, claims = true): Partial<LaneState.LaneState> => ({
  phase: { _tag: "Storing", commit: { settling, claims } }
})
const passing = Cause.fail(new StorageError({ operation: "exchange", cause: "55P03", contentRefused: false }))
const proving = (settling: number, claims = false, because = cause): Partial<LaneState.LaneState> => ({
  phase: { _tag: "Proving", commit: { settling, claims }, cause: because }
})
const starting: Phase = { _tag: "Starting", claimed: claimed(2), since: 0 }
const watching: Phase = { _tag: "Watching", watched }

interface Row {
  readonly title: string
  readonly from: Partial<LaneState.LaneState>
  readonly event: LaneEvent
  readonly facts?: Partial<Facts>
  /** The tags of its notices and its request. */
  readonly does: string
  /** Members of the request beside its tag. */
  readonly with?: object
  readonly becomes?: object
}

const rows: ReadonlyArray<Row> = [
  {
    title: "that is ready collects what its batches have",
    from: { batches: [batch(1)] },
    event: ready,
    does: "Collect"
  },
  {
    title: "that backed off with outcomes collects first: the store is told of outages before them",
    from: { phase: { _tag: "BackingOff" }, settlements: [s0] },
    event: ready,
    does: "Collect"
  },
  {
    title: "that rests while outcomes wait for their rows collects first",
    from: { phase: { _tag: "Resting" }, aside: [s0], asideUntil: 1 },
    event: ready,
    does: "Collect"
  },
  {
    title: "whose step broke behind its commit collects first, which frees the slots of the claim",
    from: storing(),
    event: ready,
    facts: { free: 0 },
    does: "Collect",
    becomes: { phase: collecting }
  },
  {
    title: "that rests and has nothing claims at once when it is woken",
    from: { phase: { _tag: "Resting" } },
    event: ready,
    does: "SettleAndClaim",
    with: { settlements: [], worker: "w1", limit: 16 },
    becomes: { phase: { _tag: "Storing" } }
  },
  {
    title: "stores what it collected and claims for as long as a slot is free",
    from: { phase: collecting },
    event: collected([s0]),
    does: "SettleAndClaim",
    with: { settlements: [s0], worker: "w1", limit: 16 },
    becomes: { phase: { _tag: "Storing" }, settlements: [s0] }
  },
  {
    title: "claims as many as its batch size says, also while others have in hand what begins next",
    from: { phase: collecting, size: 80 },
    event: collected(),
    facts: { free: 3, spare: 0 },
    does: "SettleAndClaim",
    with: { limit: 80 }
  },
  {
    title: "claims no fewer than can begin",
    from: { phase: collecting, size: 16 },
    event: collected(),
    facts: { free: 64, spare: 48 },
    does: "SettleAndClaim",
    with: { limit: 48 }
  },
  {
    title: "of a young process claims no more than can begin at once",
    from: { phase: collecting, size: 80 },
    event: collected(),
    facts: { free: 64, spare: 3, young: true },
    does: "SettleAndClaim",
    with: { limit: 3 }
  },
  {
    title: "of a young process waits where others have in hand what begins next",
    from: { phase: collecting, size: 80 },
    event: collected(),
    facts: { free: 3, spare: 0, young: true },
    does: "AwaitSlot",
    becomes: { phase: { _tag: "Full" } }
  },
  {
    title: "without a slot waits for one",
    from: { phase: collecting },
    event: collected(),
    facts: { free: 0 },
    does: "AwaitSlot",
    becomes: { phase: { _tag: "Full" } }
  },
  {
    title: "without a slot stores its outcomes all the same",
    from: { phase: collecting },
    event: collected([s0]),
    facts: { free: 0 },
    does: "SettleAndClaim",
    with: { settlements: [s0], limit: null }
  },
  {
    title: "waits a tenth of a second where all lanes hold as much as they may",
    from: { phase: collecting, size: 80 },
    event: collected(),
    facts: { now: 500, room: 79 },
    does: "AwaitSlot",
    with: { forMs: BatchSize.targetMs },
    becomes: { phase: { _tag: "Full" }, crowdedUntil: 500 + BatchSize.targetMs }
  },
  {
    title: "waits for the rest of it when it was woken in vain",
    from: { phase: collecting, size: 80, crowdedUntil: 500 + BatchSize.targetMs },
    event: collected(),
    facts: { now: 530, room: 79 },
    does: "AwaitSlot",
    with: { forMs: BatchSize.targetMs - 30 },
    becomes: { crowdedUntil: 500 + BatchSize.targetMs }
  },
  {
    title: "claims all the same after that: what others hold may hang",
    from: { phase: collecting, size: 80, crowdedUntil: 500 + BatchSize.targetMs },
    event: collected(),
    facts: { now: 500 + BatchSize.targetMs, room: -5 },
    does: "SettleAndClaim",
    with: { limit: 80 },
    becomes: { crowdedUntil: null }
  },
  {
    title: "claims as many as its batch size says once there is room",
    from: { phase: collecting, size: 80, crowdedUntil: 500 + BatchSize.targetMs },
    event: collected(),
    facts: { now: 510, room: 80 },
    does: "SettleAndClaim",
    with: { limit: 80 },
    becomes: { crowdedUntil: null }
  },
  {
    title: "needs no room for what begins at once",
    from: { phase: collecting, size: 16 },
    event: collected(),
    facts: { now: 500, room: 0 },
    does: "SettleAndClaim",
    with: { limit: 16 },
    becomes: { crowdedUntil: null }
  },
  {
    title: "stores its outcomes where there is no room",
    from: { phase: collecting, size: 80 },
    event: collected([s0]),
    facts: { now: 500, room: 79 },
    does: "SettleAndClaim",
    with: { settlements: [s0], limit: null },
    becomes: { crowdedUntil: 500 + BatchSize.targetMs }
  },
  {
    title: "looks again after a commit without a claim",
    from: { ...storing(1, false), settlements: [s0] },
    event: stored(),
    does: "ReportStored Collect",
    becomes: { settlements: [] }
  },
  {
    title: "adapts its batch size to a batch that was answered in time",
    from: { phase: { _tag: "Collecting", watched } },
    event: collected(Array.from({ length: 16 }, (_, index) => settlement(index))),
    facts: { now: 10 },
    does: "SettleAndClaim",
    with: { limit: 80 },
    becomes: { size: 80 }
  },
  {
    title: "that claimed nothing rests",
    from: { ...storing(1), settlements: [s0] },
    event: stored(),
    does: "ReportStored Rest",
    becomes: { phase: { _tag: "Resting" }, settlements: [] }
  },
  {
    title: "attempts what it claimed",
    from: { ...storing(1), settlements: [s0] },
    event: stored(2),
    facts: { now: 7 },
    does: "ReportStored Attempt",
    with: { claimed: claimed(2), worker: "w1" },
    becomes: { phase: { _tag: "Starting", since: 7 }, settlements: [] }
  },
  {
    title: "wakes the next lane with a large claim",
    from: storing(),
    event: stored(16),
    does: "ReportStored WakeNextLane Attempt"
  },
  {
    title: "releases what a commit claimed though the grace period has begun",
    from: storing(),
    event: stored(2),
    facts: stopping,
    does: "ReportStored Collect",
    becomes: { settlements: releasedOnes(2) }
  },
  {
    title: "waits for the batch that it started",
    from: { phase: starting },
    event: started(1, 1, 2),
    does: "AwaitBatch",
    with: { batch: 1 },
    becomes: { batches: [batch(1), batch(2)], phase: { _tag: "Watching" } }
  },
  {
    title: "does not wait for suspects",
    from: { phase: starting },
    event: started(null, 2),
    does: "Collect",
    becomes: { batches: [batch(2)], phase: { _tag: "Collecting", watched: null } }
  },
  {
    title: "releases a batch that could not be started, and backs off",
    from: { phase: starting },
    event: { _tag: "NotStarted", cause },
    does: "BackOff",
    becomes: { settlements: releasedOnes(2), phase: { _tag: "BackingOff" } }
  },
  {
    title: "collects when the batch or its patience has ended",
    from: { phase: watching },
    event: waited,
    does: "Collect",
    becomes: { phase: { _tag: "Collecting", watched } }
  },
  {
    title: "rests in the grace period when there is nothing to store",
    from: { phase: collecting },
    event: collected(),
    facts: stopping,
    does: "Rest"
  },
  {
    title: "stores its outcomes in the grace period, and claims nothing",
    from: { phase: collecting },
    event: collected([s0]),
    facts: stopping,
    does: "SettleAndClaim",
    with: { settlements: [s0], limit: null }
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
    from: storing(),
    event: failed,
    does: "BackOff",
    with: { cause },
    becomes: { doubtful: true, phase: { _tag: "BackingOff" } }
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
    from: { phase: collecting, doubtful: true },
    event: collected(),
    does: "SettleAndClaim",
    with: { settlements: [], limit: null },
    becomes: { phase: { _tag: "Storing", commit: { claims: false } } }
  },
  {
    title: "takes a new name when that was answered",
    from: { ...storing(0, false), doubtful: true },
    event: stored(),
    does: "Register"
  },
  {
    title: "claims under its new name, and gives up the former one",
    from: { phase: { _tag: "Registering" }, doubtful: true },
    event: registered,
    does: "Collect",
    becomes: { worker: "w2", retired: ["w1"], doubtful: false }
  },
  {
    title: "gives back what a retired name may have, when everything is stored",
    from: { ...storing(1), settlements: [s0], retired: ["w0"] },
    event: stored(),
    does: "GiveBack ReportStored Rest",
    becomes: { retired: [] }
  },
  {
    title: "leaves a retired name to the rescue when an outcome could not be stored",
    from: { ...storing(1), settlements: [s0], retired: ["w0", "w2"], left: ["w0"] },
    event: stored(),
    does: "GiveBack Deregister ReportStored Rest",
    becomes: { retired: [] }
  },
  {
    title: "keeps a retired name alive while a batch runs under it",
    from: { ...storing(1), settlements: [s0], retired: ["w0"], batches: [batch(1, "w0")] },
    event: stored(),
    does: "ReportStored Rest",
    becomes: { retired: ["w0"] }
  },
  {
    title: "keeps a retired name alive while an outcome is to be stored",
    from: { ...storing(1, false), settlements: [s0, s1], portion: 1, retired: ["w0"] },
    event: stored(),
    does: "ReportStored SettleAndClaim",
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
    from: { phase: collecting, settlements: [s0, s1, s2], portion: 2 },
    event: collected(),
    does: "SettleAndClaim",
    with: { settlements: [s0, s1], limit: null }
  },
  {
    title: "stores twice as many after a part that was stored",
    from: { ...storing(1, false), settlements: [s0, s1, s2, s3], portion: 1, refusals: 1 },
    event: stored(),
    does: "ReportStored SettleAndClaim",
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
    title: "claims beside what is set aside",
    from: { phase: collecting, aside: [s0], asideUntil: 31_000 },
    event: collected([s1]),
    facts: { now: 30_999 },
    does: "SettleAndClaim",
    with: { settlements: [s1], limit: 16 },
    becomes: { aside: [s0] }
  },
  {
    title: "claims nothing more when two whole batches are set aside",
    from: { phase: collecting, aside: Array(2 * BatchSize.largest).fill(s0), asideUntil: 31_000 },
    event: collected([s1]),
    does: "SettleAndClaim",
    with: { settlements: [s1], limit: null }
  },
  {
    title: "claims on when the whole of a batch is set aside",
    from: { phase: collecting, aside: Array(BatchSize.largest).fill(s0), asideUntil: 31_000, size: 16 },
    event: collected([s1]),
    does: "SettleAndClaim",
    with: { settlements: [s1], limit: 16 }
  },
  {
    title: "stores one that was set aside again after half a minute, alone",
    from: { phase: collecting, aside: [s0, s1], asideUntil: 31_000 },
    event: collected([s2]),
    facts: { now: 31_000 },
    does: "SettleAndClaim",
    with: { settlements: [s0], limit: null },
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
    does: "ReportStored SettleAndClaim",
    with: { settlements: [s2, s1] },
    becomes: { aside: [], portion: null, recalling: false }
  },
  {
    title: "gives up no name while something of it is set aside",
    from: { ...storing(1, false), settlements: [s1], aside: [s0], retired: ["w0"] },
    event: stored(),
    does: "ReportStored Collect",
    becomes: { retired: ["w0"] }
  },
  {
    title: "that is interrupted stores also what it has set aside",
    from: { phase: watching, settlements: [s0], aside: [s1], asideUntil: 31_000 },
    event: interrupted,
    does: "StopBatches",
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
    does: "SettleAndClaim",
    with: { settlements: [s0, s1], limit: null },
    becomes: { portion: 2, doubtful: false, refusals: 0 }
  },
  {
    title: "then halves it",
    from: { ...storing(2, false), settlements: [s0, s1], portion: 2 },
    event: refused,
    does: "SettleAndClaim",
    with: { settlements: [s0] }
  },
  {
    title: "then cuts the one at fault",
    from: { ...storing(1, false), settlements: [s0, s1], portion: 1 },
    event: refused,
    does: "ReportRefused SettleAndClaim",
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
    does: "ReportRefused SettleAndClaim",
    with: { settlements: [s1] },
    becomes: { doubtful: true, settlements: [s1] }
  },
  {
    title: "goes back to whole batches when all is stored",
    from: { ...storing(1, false), settlements: [s0], portion: 4, acceptsOthers: true },
    event: stored(),
    does: "ReportStored Collect",
    becomes: { portion: null, acceptsOthers: false }
  },
  {
    title: "that is interrupted stops its batches",
    from: { phase: watching, settlements: [s0] },
    event: interrupted,
    does: "StopBatches",
    becomes: { interrupted: true, settlements: [s0] }
  },
  {
    title: "that leaves stores what its batches brought",
    from: { phase: collecting, interrupted: true, settlements: [s0] },
    event: collected([s1]),
    does: "SettleAndClaim",
    with: { settlements: [s0, s1], limit: null }
  },
  {
    title: "that leaves deregisters its names when all is stored",
    from: { ...storing(1, false), interrupted: true, settlements: [s0], retired: ["w0"] },
    event: stored(),
    does: "GiveBack ReportStored Leave",
    with: { workers: ["w1"] },
    becomes: { phase: { _tag: "Left" } }
  },
  {
    title: "that leaves with nothing to store just leaves",
    from: { phase: collecting, interrupted: true, doubtful: true, retired: ["w0"] },
    event: collected(),
    does: "GiveBack Leave",
    with: { workers: [] }
  },
  {
    title: "that leaves leaves to the rescue what an outcome was left of",
    from: { phase: collecting, interrupted: true, doubtful: true, retired: ["w0"], left: ["w0", "w1"] },
    event: collected(),
    does: "Leave",
    with: { workers: ["w0", "w1"] }
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
    title: "that leaves looks again after the pause",
    from: { phase: { _tag: "Pausing" }, interrupted: true, settlements: [s0] },
    event: ready,
    does: "Collect"
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
    does: "ReportUnsettled Leave"
  },
  {
    title: "that has left does nothing more",
    from: { phase: { _tag: "Left" } },
    event: ready,
    does: "Leave",
    with: { workers: [] }
  }
]

describe("a lane", () => {
  for (const { becomes = {}, does, event, facts: some, from, title, with: last } of rows) {
    it(title, () => {
      const state = { ...LaneState.make("w1", 16), ...from }
      const [after, notices, request] = LaneState.next(state, event, { ...facts, ...some })
      expect([...notices, request].map(({ _tag }) => _tag).join(" ")).toBe(does)
      if (last !== undefined) expect(request).toMatchObject(last)
      expect(after).toMatchObject(becomes)
    })
  }
})

const someFacts = FastCheck.record({
  now: FastCheck.nat(5000),
  free: FastCheck.nat(64),
  spare: FastCheck.nat(64),
  young: FastCheck.boolean(),
  room: FastCheck.integer({ min: -16, max: 2000 }),
  stopping: FastCheck.boolean(),
  graceIsOver: FastCheck.boolean()
})

/** Where a settlement may have gone: it is told apart by its place. */
const placesOf = (settlements: ReadonlyArray<Settlement>) => settlements.map(({ index }) => index)

/** Steps that keep what every step must keep; answers the next state. */
const checked = (state: LaneState.LaneState, event: LaneEvent, facts: Facts) => {
  const [after, notices, request] = LaneState.next(state, event, facts)
  const isLeft = state.phase._tag === "Left"
  const stored =
    event._tag === "Stored" && state.phase._tag === "Storing"
      ? state.settlements.slice(0, state.phase.commit.settling)
      : []
  const told = notices.flatMap((notice) => {
    if (notice._tag === "ReportRefused" && notice.left) return [notice.settlement]
    return notice._tag === "ReportUnsettled" ? notice.settlements : []
  })
  const brought = event._tag === "Collected" ? event.settlements : []
  const loaded = (state: LaneState.LaneState) => [...placesOf(state.settlements), ...placesOf(state.aside)]
  const accounted = new Set([...placesOf(stored), ...placesOf(told), ...loaded(after)])
  const known = isLeft ? [] : [...loaded(state), ...placesOf(brought)]
  expect(known.filter((place) => !accounted.has(place))).toEqual([])
  // A name is given up once, and only when nothing runs under it and nothing is to be stored.
  for (const notice of notices) {
    if (notice._tag !== "Deregister" && notice._tag !== "GiveBack") continue
    // The recipients that the commit claimed meanwhile are under the name that the lane has now.
    expect(after.settlements.filter((one) => state.settlements.includes(one))).toEqual([])
    for (const worker of notice.workers) {
      expect([...state.retired, ...(state.interrupted ? [state.worker] : [])]).toContain(worker)
      if (notice._tag === "GiveBack") expect(state.left).not.toContain(worker)
      expect(after.batches.map(({ worker }) => worker)).not.toContain(worker)
    }
  }
  if (request._tag === "SettleAndClaim" && request.limit !== null)
    expect([after.doubtful, after.interrupted, facts.stopping]).toEqual([false, false, false])
  return { after, notices, request }
}

describe("a lane, whatever comes in whatever order,", () => {
  it("loses no settlement, gives up no name too soon, and claims nothing that it must not", () => {
    let index = 0
    const fresh = FastCheck.array(FastCheck.constant(null), { maxLength: 5 }).map((some) =>
      collected(some.map(() => settlement(index++)))
    )
    const event = FastCheck.oneof(
      fresh,
      FastCheck.constantFrom<LaneEvent>(
        ready,
        stored(),
        stored(3),
        failed,
        refused,
        works,
        down,
        { _tag: "NotStarted", cause },
        registered,
        started(1, 1),
        started(null, 2),
        waited
      ),
      { weight: 1, arbitrary: FastCheck.constant(interrupted) }
    )
    FastCheck.assert(
      FastCheck.property(FastCheck.array(FastCheck.tuple(event, someFacts), { maxLength: 60 }), (events) => {
        let state = LaneState.make("w1", 16)
        for (const [each, facts] of named(events)) state = checked(state, each, facts).after
      }),
      { numRuns: 300 }
    )
  })

  it("stores, cuts or reports every settlement, also those that the store refuses for ever", () => {
    /** The store that a lane would meet: it refuses some places, for ever or until they are cut, and is down at times. */
    const world = FastCheck.record({
      bad: FastCheck.uniqueArray(FastCheck.nat(19), { maxLength: 4 }),
      poison: FastCheck.uniqueArray(FastCheck.nat(19), { maxLength: 2 }),
      says: FastCheck.boolean(),
      outage: FastCheck.nat(40)
    })
    FastCheck.assert(
      FastCheck.property(world, ({ bad, outage, poison, says }) => {
        let state = LaneState.make("w1", 16)
        let event = collected(Array.from({ length: 20 }, (_, index) => settlement(index)))
        const settled = new Map<number, string>()
        const reported: Array<number> = []
        const refuses = ({ index, outcome }: Settlement) =>
          poison.includes(index) || (bad.includes(index) && outcome._tag === "Accepted")
        for (let step = 0; step < 2000; step++) {
          const { after, notices, request } = checked(state, event, { ...facts, now: step })
          state = after
          for (const notice of notices)
            if (notice._tag === "ReportRefused" && notice.left) reported.push(notice.settlement.index)
          if (request._tag === "Rest") break
          switch (request._tag) {
            case "Collect":
              event = collected()
              break
            case "SettleAndClaim":
              if (step < outage) event = failed
              else if (request.settlements.some(refuses)) event = says ? refused : failed
              else {
                for (const { index, outcome } of request.settlements) settled.set(index, outcome._tag)
                event = stored()
              }
              break
            case "Prove":
              event = step < outage ? down : works
              break
            case "Register":
              event = registered
              break
            default:
              event = ready
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
        let state = LaneState.make("w1", 16)
        let event = collected(all)
        let now = 0
        let [claims, blocked] = [0, 0]
        const settled = new Map<number, string>()
        while (now < unlocksAt || (settled.size < brought && now < 2 * unlocksAt)) {
          const { after, request } = checked(state, event, { ...facts, now })
          state = after
          event = ready
          if (request._tag === "Collect") event = collected()
          else if (request._tag === "SettleAndClaim") {
            const waits = now < unlocksAt && request.settlements.some(isLocked)
            event = waits ? { ...failed, cause: passing } : stored()
            now += waits ? 5000 : 1
            blocked += waits && settled.size > 0 ? 1 : 0
            if (!waits) for (const { index, outcome } of request.settlements) settled.set(index, outcome._tag)
            if (!waits && request.limit !== null && now < unlocksAt) claims += 1
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
