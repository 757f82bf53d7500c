import * as Sends from "../Sends.ts"

/** What a drain took, until what was done is recorded. */
export interface Drained {
  /** More than were asked for, where more were in hand at the end. */
  readonly recipients: number
  readonly ms: number
  /** Of the process. */
  readonly cpuUs: number
}

/** A process that keeps work and does it, by a handler that does nothing. Work is counted in recipients. */
export interface Queue {
  /** Adds work, a multiple of 250. A peer keeps a job for each recipient, whatever is asked for. */
  readonly fill: (recipients: number, perJob: number) => Promise<void>
  /** Does so much of it. */
  readonly drain: (recipients: number) => Promise<Drained>
  /** From adding one recipient to an idle queue to the handler's call, so many times, in milliseconds. */
  readonly latencies: (count: number) => Promise<ReadonlyArray<number>>
}

/** One that takes work in transactions of an app's. */
export interface Embedded {
  /** From the COMMIT of a transaction in which one recipient was added, said to an idle queue, to the handler's call. */
  readonly commits: (count: number) => Promise<ReadonlyArray<number>>
}

/** What loops have sent when they run as they will: as much is in hand as will be. */
export const lead = 8000

/** Recipients that the loops may have sent beyond the lead before anybody looks. */
export const overshoot = 4000

/** Sendwright's. */
export interface OwnQueue extends Queue {
  /**
   * Does {@link lead} of it and then so much that is measured, amid more: neither how the loops begin is in it, nor how
   * they end, when they give back what they have in hand. `sent` is how much was done in all.
   */
  readonly drainAmid: (recipients: number) => Promise<{ readonly drained: Drained; readonly sent: number }>
}

/** Begins to measure; answers what so many recipients took since. */
export const stopwatch = (): ((recipients: number) => Drained) => {
  const began = performance.now()
  const before = process.cpuUsage()
  return (recipients) => {
    const { system, user } = process.cpuUsage(before)
    return { recipients, ms: performance.now() - began, cpuUs: system + user }
  }
}

export const batch = 250

/** What a peer keeps of a recipient: as much as a send says of it. */
export const payload = (n: number) => ({
  phone: Sends.phone(n),
  external_id: `customer-${n}`,
  variables: { "body.1": `Name ${n}` }
})

export const payloads = Array.from({ length: batch }, (_, n) => payload(n))

export const inBatches = async (recipients: number, add: () => Promise<unknown>): Promise<void> => {
  for (let added = 0; added < recipients; added += batch) await add()
}

/** Counts what the handler was called for, and tells when it was called often enough. */
export const counter = () => {
  let count = 0
  let wanted = 0
  let reached: () => void = () => {}
  return {
    hit: (more = 1): void => {
      const before = count
      count += more
      if (before < wanted && count >= wanted) reached()
    },
    /** Since the last `until`. */
    count: () => count,
    /** Begins at none. */
    until: (target: number): Promise<void> => {
      count = 0
      wanted = target
      return new Promise((resolve) => {
        reached = resolve
      })
    }
  }
}

export type Counter = ReturnType<typeof counter>

/**
 * Adds one at a time, so far apart that the queue is idle in between.
 *
 * @param prepare what is done before, and not measured
 */
export const latenciesOf = async (
  count: number,
  counter: Counter,
  add: (n: number) => Promise<unknown>,
  prepare: (n: number) => Promise<unknown> = async () => {}
): Promise<ReadonlyArray<number>> => {
  const latencies: Array<number> = []
  const warmUp = 5
  for (let n = 0; n < count + warmUp; n++) {
    await prepare(n)
    const called = counter.until(1).then(() => performance.now())
    const began = performance.now()
    await Promise.all([add(n), called])
    if (n >= warmUp) latencies.push((await called) - began)
    await new Promise((resolve) => setTimeout(resolve, 15 + (n % 11)))
  }
  return latencies
}
