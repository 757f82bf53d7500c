/**
 * Does what comes together one right after the other. Between other work, and between the turns that a client's process
 * takes on the same core, each task would find its code and data in no cache; that costs more than most requests do.
 */

/** More than so many gain nothing, and keep the rest of the process waiting. */
const most = 16

/**
 * @param later when to do what has come by then: `setImmediate` after what was read, `process.nextTick` at once
 * @param again when to do what is left
 * @returns takes a task; one that may wait is done after the others, but at least one of these with each go
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
      // One that throws takes none of the others with it.
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
