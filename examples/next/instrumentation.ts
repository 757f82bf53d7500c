/** Next calls this once, at its start. */
export const register = async (): Promise<void> => {
  // Written so that Next leaves the rest out where it builds for the edge.
  if (process.env.NEXT_RUNTIME === "nodejs") {
    const { shop } = await import("./lib/shop.ts")
    const { sw } = await shop()
    await sw.start()
  }
}
