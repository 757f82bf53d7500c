/** The host as a library: its configuration, its layer and its process. The API for a server of one's own is `@sendwright/http`. */
export * as Host from "./Host.ts"
export * as HostConfig from "./HostConfig.ts"
export * as Process from "./Process.ts"
