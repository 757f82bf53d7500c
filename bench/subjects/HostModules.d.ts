/** Types of the host's modules that its package does not export. A declaration, so that the build emits nothing for it. */
export type Adapter = typeof import("../../packages/host/src/http/Adapter.ts")
export type Content = typeof import("../../packages/host/src/http/Content.ts")
export type Serve = typeof import("../../packages/host/src/http/Serve.ts")
