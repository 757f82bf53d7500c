/** What is in memory has no size of its own. */

import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Time from "../../domain/Instant.ts"
import type { Noted } from "../../domain/Size.ts"
import { SizeStore } from "../SizeStore.ts"
import { MemoryDatabase } from "./MemoryDatabase.ts"

export const layer: Layer.Layer<SizeStore, never, MemoryDatabase> = Layer.effect(
  SizeStore,
  Effect.map(MemoryDatabase, (db) => {
    const days = new Map<number, Noted>()
    return {
      measure: Effect.succeed({ kind: "memory", bytes: 0, freeBytes: null } as const),
      note: ({ before, noted }) =>
        Effect.sync(() => {
          for (const at of days.keys()) if (at < before) days.delete(at)
          if (!days.has(noted.at)) days.set(noted.at, noted)
        }),
      firstSince: (at) =>
        Effect.sync(
          () => [...days.values()].filter((each) => each.at >= at).sort((a, b) => a.at - b.at)[0] ?? null
        ),
      oldest: Effect.sync(() => ({
        events: Time.firstOf([...db.deliveries.values()].map(({ event }) => event.createdAt)),
        results: Time.firstOf([...db.jobs.values()].map(({ job }) => job.createdAt))
      })),
      shrink: () => Effect.succeed({ hasMore: false, ms: 0 })
    }
  })
)
