/** The host as a library: its contract, its configuration, its layer, and its API for a server of one's own. */
export * as Api from "./api/Api.ts"
export * as Host from "./Host.ts"
export * as HostConfig from "./HostConfig.ts"
export * as Description from "./http/Description.ts"
export * as Problems from "./http/Problems.ts"
export * as Process from "./Process.ts"
export * as Sendwright from "./Sendwright.ts"
