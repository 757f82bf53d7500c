/**
 * For test authors: the engine in memory, builders, and a platform over HTTP. The suite that proves a
 * sender of your own is `@sendwright/core/testing/SenderSuite`, which needs `@effect/vitest`.
 */
import "./effect/Version.ts"

export * as Fixtures from "./testing/Fixtures.ts"
export * as HttpPlatform from "./testing/HttpPlatform.ts"
export * as RecordingTransport from "./testing/RecordingTransport.ts"
export * as TestEngine from "./testing/TestEngine.ts"
