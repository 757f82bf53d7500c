/** The acts of operators, for the operator. */
import * as Effect from "effect/Effect"
import type { Entry, Query } from "../../domain/Audit.ts"
import type { Paged } from "../../domain/Page.ts"
import { AuditStore } from "../../storage/AuditStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"

export interface AuditLog {
  /** Newest first. */
  readonly list: (query: Query) => Effect.Effect<Paged<Entry>, StorageError>
}

export const make = Effect.map(AuditStore, ({ list }): AuditLog => ({ list }))
