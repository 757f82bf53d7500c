/**
 * For test authors: the engine in memory, builders, and a platform over HTTP. The suites that prove a store or a
 * sender of your own are `@sendwright/core/testing/StorageSuite` and `…/SenderSuite`, which need `@effect/vitest`.
 */
import "./effect/Version.ts"

export * as Fixtures from "./testing/Fixtures.ts"
export * as HttpPlatform from "./testing/HttpPlatform.ts"
export * as RecordingTransport from "./testing/RecordingTransport.ts"
export * as TestEngine from "./testing/TestEngine.ts"
