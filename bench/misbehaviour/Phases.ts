/** The gateways of `../oscillation.ts`: for how long each is well, and hangs, by turns; and how long a well one takes. */
export const wellMs = 1500
export const hangsMs = 20_000
export const latencyMs = 20
