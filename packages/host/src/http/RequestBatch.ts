/**
 * Runs tasks that arrive together directly one after another. Interleaved with other work, or with a client's process
 * on the same core, each task would find its code and data in no cache, which costs more than most requests do.
 */

/** A larger batch gains nothing and delays the rest of the process. */
const most = 16

/**
 * @param later schedules the first run: `setImmediate` runs after the reads of this turn, `process.nextTick`
 *   immediately after this operation
 * @param again schedules the rest
 * @returns adds a task; one with `mayWait` runs after the others, but each run includes at least one of these
 */
export const make = (
  later: (run: () => void) => void,
  again: (run: () => void) => void = later
): ((task: () => void, mayWait?: boolean) => void) => {
  const urgent: Array<() => void> = []
  const patient: Array<() => void> = []
  const run = (): void => {
    const now = urgent.splice(0, most)
    for (const task of patient.splice(0, Math.max(1, most - now.length))) now.push(task)
    if (urgent.length + patient.length > 0) again(run)
    try {
      for (let task = now.shift(); task !== undefined; task = now.shift()) task()
    } finally {
      // The remaining tasks run even if one throws.
      if (now.length > 0) {
        urgent.unshift(...now)
        again(run)
      }
    }
  }
  return (task, mayWait = false) => {
    const isFirst = urgent.length + patient.length === 0
    ;(mayWait ? patient : urgent).push(task)
    if (isFirst) later(run)
  }
}
