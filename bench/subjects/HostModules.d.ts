/** Types of the host's modules that its package does not export. A declaration, so that the build emits nothing for it. */
export type HttpApp = typeof import("../../packages/host/src/http/HttpApp.ts")
export type Routes = typeof import("../../packages/host/src/http/Routes.ts")
export type NodeServer = typeof import("../../packages/host/src/http/NodeServer.ts")
