/** A process that writes sends of 250 recipients, each durable when it is counted. */
export interface Writer {
  /** For so many milliseconds, so many at once; answers recipients per second. */
  readonly write: (ms: number, atOnce: number) => Promise<number>
}

export const recipients = 250

/** Writes again and again until the time is over. */
export const during = async (ms: number, atOnce: number, one: () => Promise<unknown>): Promise<number> => {
  const began = performance.now()
  let count = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() - began < ms) {
        await one()
        count += 1
      }
    })
  )
  return (count * recipients * 1000) / (performance.now() - began)
}
