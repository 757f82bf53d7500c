/**
 * Does what comes together one right after the other. Between other work, and between the turns that a client's process
 * takes on the same core, each task would find its code and data in no cache; that costs more than most requests do.
 */

/** More than so many gain nothing, and keep the rest of the process waiting. */
const most = 16

/**
 * @param later when to do what has come by then: `setImmediate` after what was read, `process.nextTick` at once
 * @param again when to do what is left
 */
export const make = (
  later: (run: () => void) => void,
  again: (run: () => void) => void = later
): ((task: () => void) => void) => {
  const waiting: Array<() => void> = []
  const run = (): void => {
    const now = waiting.splice(0, most)
    if (waiting.length > 0) again(run)
    try {
      for (let task = now.shift(); task !== undefined; task = now.shift()) task()
    } finally {
      // One that throws takes none of the others with it.
      if (now.length > 0) {
        waiting.unshift(...now)
        again(run)
      }
    }
  }
  return (task) => {
    if (waiting.push(task) === 1) later(run)
  }
}
