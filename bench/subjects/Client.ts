/** A process that posts messages to a gateway, 64 at once. */
export interface Client {
  /** For so many milliseconds; answers messages per second. */
  readonly post: (ms: number) => Promise<number>
}

export const atOnce = 64

export const during = async (ms: number, one: (n: number) => Promise<unknown>): Promise<number> => {
  const began = performance.now()
  let count = 0
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (performance.now() - began < ms) {
        count += 1
        await one(count)
      }
    })
  )
  return (count * 1000) / (performance.now() - began)
}
