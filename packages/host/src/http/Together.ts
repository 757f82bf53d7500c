/**
 * Does what comes together one right after the other. Between other work, and between the turns that a client's process
 * takes on the same core, each task would find its code and data in no cache; that costs more than most requests do.
 */

/** More than so many gain nothing, and keep the rest of the process waiting. */
const most = 16

/** @param later when to do what has come by then: `setImmediate` after what was read, `process.nextTick` at once */
export const make = (later: (run: () => void) => void): ((task: () => void) => void) => {
  let waiting: Array<() => void> = []
  const run = (): void => {
    const now = waiting.slice(0, most)
    waiting = waiting.slice(most)
    if (waiting.length > 0) later(run)
    for (const task of now) task()
  }
  return (task) => {
    if (waiting.push(task) === 1) later(run)
  }
}
