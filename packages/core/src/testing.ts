/**
 * For test authors: the engine in memory, and builders. The suite that proves a store of your own is
 * `@sendwright/core/testing/StorageSuite`, which needs `@effect/vitest`.
 */
export * as Fixtures from "./testing/Fixtures.ts"
export * as RecordingTransport from "./testing/RecordingTransport.ts"
export * as TestEngine from "./testing/TestEngine.ts"
