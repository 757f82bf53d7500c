/**
 * How many recipients a lane takes with one commit. While a window is under way its lane takes nothing of others: it
 * holds what is attempted within a short time. A platform that answers at once is given large windows, which cost
 * little per recipient; a slow one gets no more than are attempted side by side.
 */

/** The time that a window should take, in milliseconds. */
export const targetMs = 100

/** The largest window: what is read and written in one step must not keep the event loop. */
export const largest = 250

/**
 * The size after a window that took its time.
 *
 * @param least how many are attempted side by side
 */
export const next = (
  size: number,
  { recipients, tookMs }: { readonly recipients: number; readonly tookMs: number },
  least: number
): number => {
  const most = Math.max(least, largest)
  if (tookMs > targetMs) return Math.max(least, Math.min(size, Math.floor((recipients * targetMs) / tookMs)))
  // One that was not half full tells nothing of a fuller one.
  if (recipients < size / 2) return size
  // Half of the time is aimed at: the next may be slower.
  const fitting = Math.floor((recipients * targetMs) / 2 / Math.max(1, tookMs))
  return Math.min(most, Math.max(size, fitting))
}
