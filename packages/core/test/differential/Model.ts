/**
 * A small model of a job's rules (contract.md §4), written beside the stores' own and of nothing of theirs: which step may
 * move which recipient from which status to which, what a fence keeps out, and how counts and the job's status follow. The
 * stores agree with each other by `Compare`; by this one they agree with the contract.
 */
import type { Step } from "./History.ts"

type Status =
  | "queued"
  | "sending"
  | "unknown"
  | "skipped"
  | "canceled"
  | "accepted"
  | "sent"
  | "failed"
  | "delivered"
  | "read"

/** Later news wins over earlier: a receipt moves a recipient to the right only. */
const order: ReadonlyArray<ReadonlyArray<Status>> = [
  ["queued"],
  ["sending"],
  ["unknown", "skipped", "canceled"],
  ["accepted"],
  ["sent"],
  ["failed"],
  ["delivered"],
  ["read"]
]

const placeOf = (status: Status): number => order.findIndex((level) => level.includes(status))

const outcomes = {
  accepted: ["accepted"],
  sent: ["sent"],
  failed: ["failed"],
  unknown: ["unknown"],
  skipped: ["skipped"],
  // One that waits for its next attempt is still `sending`.
  retry: ["sending"],
  released: ["queued", "sending"]
} as const satisfies Readonly<Record<string, ReadonlyArray<Status>>>

export interface SeenJob {
  readonly id: string
  readonly status: string
  readonly counts: Readonly<Record<Status, number>>
}

/** What is seen of a store after a step. */
export interface Seen {
  readonly jobs: ReadonlyArray<SeenJob>
  /** Statuses by the job's id, in the order of its recipients. */
  readonly recipients: ReadonlyMap<string, ReadonlyArray<Status>>
}

/** One recipient that a claim took, under its fence. */
export interface Taken {
  readonly jobId: string
  readonly index: number
  readonly fence: number
}

/** What a step asked and was answered, in ids. */
export interface Done {
  readonly step: Step
  /** The job that the step names; null where it names none. */
  readonly jobId: string | null
  readonly settled: ReadonlyArray<
    Taken & { readonly end: keyof typeof outcomes; readonly stopsJob: boolean; readonly maybeSent: boolean }
  >
  readonly claimed: ReadonlyArray<Taken>
  readonly reported: ReadonlyArray<{
    readonly jobId: string
    readonly index: number
    readonly status: Status
  }>
}

const ended = ["completed", "canceled", "failed"]
const isOpen = (status: Status): boolean => status === "queued" || status === "sending"

export class Model {
  private before: Seen = { jobs: [], recipients: new Map() }
  /** Under which fence and whose each recipient is in hand, by the job and its place. */
  private readonly inHand = new Map<string, { readonly fence: number; readonly worker: number }>()
  /** Whose message may be at the platform: nobody says of them that it surely failed. */
  private readonly maybeSent = new Set<string>()
  /** What becomes of those of a job that was canceled or stopped, by its id, until it is retried. */
  private readonly leaving = new Map<string, "canceled" | "failed">()
  /** All that was ever reported of a recipient: what came before its outcome is applied with it, or later. */
  private readonly told = new Map<string, Set<Status>>()

  /** What the contract does not allow of a step and what is seen after it; null where all is as it should be. */
  after(done: Done, seen: Seen): string | null {
    for (const { index, jobId, status } of done.reported) {
      const name = `${jobId} ${index}`
      this.told.set(name, (this.told.get(name) ?? new Set()).add(status))
    }
    const settled = new Map<string, ReadonlyArray<Status>>()
    const stopped = new Set<string>()
    for (const { end, fence, index, jobId, maybeSent, stopsJob } of done.settled) {
      const name = `${jobId} ${index}`
      if (this.inHand.get(name)?.fence !== fence || settled.has(name)) continue
      settled.set(name, outcomes[end])
      if (stopsJob) stopped.add(jobId)
      if (maybeSent) this.maybeSent.add(name)
    }
    for (const name of settled.keys()) this.inHand.delete(name)
    const { step } = done
    if (step.do === "rescue" || step.do === "giveBack")
      for (const [name, { worker }] of this.inHand) {
        if (worker !== step.worker) continue
        this.inHand.delete(name)
        if (step.do === "rescue") this.maybeSent.add(name)
      }
    const taker = step.do === "exchange" ? step.claim?.worker : step.do === "accept" ? step.claim : null
    const claimed = new Set<string>()
    for (const { fence, index, jobId } of done.claimed) {
      const name = `${jobId} ${index}`
      if (claimed.has(name)) return `${name} was claimed twice at once`
      if (this.inHand.has(name)) return `${name} was claimed while it was in hand`
      claimed.add(name)
      this.inHand.set(name, { fence, worker: taker ?? -1 })
    }
    for (const jobId of stopped) if (!this.leaving.has(jobId)) this.leaving.set(jobId, "failed")
    if (step.do === "cancel" && done.jobId !== null) this.leaving.set(done.jobId, "canceled")
    const wrong = this.moved(done, seen, settled, claimed, stopped) ?? this.rolledUp(seen)
    this.before = seen
    return wrong
  }

  private moved(
    done: Done,
    seen: Seen,
    settled: ReadonlyMap<string, ReadonlyArray<Status>>,
    claimed: ReadonlySet<string>,
    stopped: ReadonlySet<string>
  ): string | null {
    for (const [jobId, statuses] of seen.recipients) {
      const earlier = this.before.recipients.get(jobId)
      const isEnded = ended.includes(this.before.jobs.find((job) => job.id === jobId)?.status ?? "")
      for (const [index, to] of statuses.entries()) {
        const name = `${jobId} ${index}`
        const from = earlier?.[index]
        const told = (status: Status): boolean => this.told.get(name)?.has(status) === true
        if (from === undefined) {
          if (done.step.do !== "accept" || done.jobId !== jobId) return `${name} came from nowhere`
          if (to !== (claimed.has(name) ? "sending" : "queued")) return `${name} began as ${to}`
          continue
        }
        if (claimed.has(name)) {
          if (isEnded) return `${name} of an ended job was claimed`
          if (!(isOpen(from) || settled.has(name))) return `${name} was claimed although ${from}`
          if (to !== "sending") return `${name} was claimed and is ${to}`
          continue
        }
        const isRaised = placeOf(to) > placeOf(from) && told(to)
        if (isRaised || to === from) {
          const ends = settled.get(name)
          const isApplied = ends === undefined || isRaised || placeOf(from) > placeOf("sending")
          if (!isApplied && !ends.includes(to)) return `${name} was settled and is still ${to}`
          continue
        }
        const allowed = this.allowed(done, name, jobId, from, settled, stopped)
        if (!allowed.includes(to)) return `${name} went from ${from} to ${to}`
        if (!isOpen(to) || to === "queued") this.inHand.delete(name)
      }
    }
    return null
  }

  /** Where a step leads, of recipients that no claim took and of whom no receipt tells. */
  private allowed(
    { jobId: named, step }: Done,
    name: string,
    jobId: string,
    from: Status,
    settled: ReadonlyMap<string, ReadonlyArray<Status>>,
    stopped: ReadonlySet<string>
  ): ReadonlyArray<Status> {
    const given = (up: Status): Status => (this.maybeSent.has(name) ? "unknown" : up)
    // One that was in hand when its job was canceled or stopped ends so once nobody has it any more.
    const left = this.leaving.get(jobId)
    const released: ReadonlyArray<Status> = left === undefined ? ["queued", "sending"] : [given(left)]
    switch (step.do) {
      case "exchange":
        return [
          ...(settled.get(name) ?? []).filter((to) => isOpen(from) || placeOf(to) > placeOf(from)),
          ...(settled.has(name) && left !== undefined ? released : []),
          ...(stopped.has(jobId) && isOpen(from) ? [given("failed")] : [])
        ]
      case "rescue":
        return from === "sending" ? [...released, "unknown"] : []
      case "giveBack":
        return from === "sending" ? released : []
      case "cancel":
        return named === jobId && isOpen(from) ? [given("canceled")] : []
      case "retry":
        return named === jobId && !step.dryRun && (from === "failed" || from === "unknown") ? ["queued"] : []
      default:
        return []
    }
  }

  /** Counts and the job's status follow from its recipients; one that has ended is asked for no more but by a retry. */
  private rolledUp(seen: Seen): string | null {
    for (const { counts, id: jobId, status } of seen.jobs) {
      const statuses = seen.recipients.get(jobId) ?? []
      for (const [name, count] of Object.entries(counts)) {
        const real = statuses.filter((each) => each === name).length
        if (real !== count) return `${jobId} counts ${count} ${name} of ${real}`
      }
      const hasOpen = statuses.some(isOpen)
      if (ended.includes(status) === hasOpen) return `${jobId} is ${status} with ${statuses.join(", ")}`
      if (status === "queued" && statuses.some((each) => each !== "queued"))
        return `${jobId} is queued with ${statuses.join(", ")}`
    }
    return null
  }
}
