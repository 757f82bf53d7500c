/** The parts of the API that a whole server chooses by itself: routes, limits, and what waits for its end. */

export * as Address from "./http/Address.ts"
export * as AdminToken from "./http/AdminToken.ts"
export * as ClientAddress from "./http/ClientAddress.ts"
export * as Guesses from "./http/Guesses.ts"
export * as HttpApp from "./http/HttpApp.ts"
export * as HttpLimits from "./http/HttpLimits.ts"
export * as InFlight from "./http/InFlight.ts"
export * as NodeHttp from "./http/NodeHttp.ts"
export * as Origins from "./http/Origins.ts"
export * as Routes from "./http/Routes.ts"
export * as Steps from "./http/Steps.ts"
