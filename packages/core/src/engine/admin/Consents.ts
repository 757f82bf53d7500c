/** Registration of consents, item by item, and what is known of a phone. */
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type { ConsentRecord, Purpose, Scope, Status, Verdict } from "../../domain/Consent.ts"
import * as Consent from "../../domain/Consent.ts"
import type { InvalidRequest } from "../../domain/Errors.ts"
import { NotFound } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Phone from "../../domain/Phone.ts"
import { AccountStore } from "../../storage/AccountStore.ts"
import { ConsentStore } from "../../storage/ConsentStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { Wake } from "../../worker/Wake.ts"
import { refuse } from "./Faults.ts"
import * as Text from "./Text.ts"

export interface NewConsent {
  readonly phone: string
  readonly status?: Status | undefined
  readonly purpose?: Scope | undefined
  readonly source: string
  readonly proof?: string | undefined
  /** RFC 3339; now when absent. */
  readonly occurred_at?: string | undefined
}

/** What became of one item: recorded, or its faults. */
export type ConsentResult =
  | { readonly _tag: "Recorded"; readonly record: ConsentRecord }
  | { readonly _tag: "Refused"; readonly phone: string; readonly faults: ReadonlyArray<Fault.Fault> }

export interface ConsentState {
  readonly phone: string
  readonly current: ReadonlyArray<{ readonly purpose: Purpose; readonly verdict: Verdict<ConsentRecord> }>
  /** Newest first. */
  readonly history: ReadonlyArray<ConsentRecord>
}

export interface Consents {
  /** Items without a fault are recorded, the others are told, in the order given. */
  readonly record: (
    accountId: string,
    consents: ReadonlyArray<NewConsent>
  ) => Effect.Effect<ReadonlyArray<ConsentResult>, NotFound | StorageError>
  readonly find: (
    accountId: string,
    phone: string
  ) => Effect.Effect<ConsentState, InvalidRequest | NotFound | StorageError>
}

const maximumProof = 2000

/** Clocks of those who register may be ahead of ours. */
const skewMs = 5 * Time.minute

const purposes: ReadonlyArray<Purpose> = ["marketing", "utility", "authentication", "direct"]

const check = (item: NewConsent, index: number, now: Instant): ReadonlyArray<Fault.Fault> => {
  const path = ["consents", index]
  const phone = Phone.check(item.phone)
  const occurredAt = item.occurred_at === undefined ? now : Time.parse(item.occurred_at)
  const timePath = [...path, "occurred_at"]
  return [
    ...(phone === undefined ? [] : [Fault.make([...path, "phone"], "recipient_invalid", phone)]),
    ...Text.faults(item.source, "source", 255, [...path, "source"]),
    ...(item.proof === undefined ? [] : Text.faults(item.proof, "proof", maximumProof, [...path, "proof"])),
    ...(occurredAt === undefined
      ? [Fault.make(timePath, "invalid_value", "`occurred_at` must be an RFC 3339 date-time.")]
      : occurredAt > now + skewMs
        ? [Fault.make(timePath, "out_of_range", "`occurred_at` must not be in the future.")]
        : [])
  ]
}

export const make = Effect.gen(function* () {
  const accounts = yield* AccountStore
  const store = yield* ConsentStore
  const wake = yield* Wake
  const ids = Ids.make(yield* Ids.RandomBytes)

  const account = Effect.fnUntraced(function* (id: string) {
    if ((yield* accounts.find(id)) === null) return yield* new NotFound({ what: "account" })
  })

  const recordOf = (item: NewConsent, now: Instant): ConsentRecord => ({
    id: ids.uuid(now),
    phone: item.phone,
    purpose: item.purpose ?? "all",
    status: item.status ?? "granted",
    source: item.source,
    proof: item.proof ?? null,
    occurredAt: (item.occurred_at === undefined ? undefined : Time.parse(item.occurred_at)) ?? now,
    recordedAt: now
  })

  const consents: Consents = {
    record: Effect.fnUntraced(function* (accountId, items) {
      yield* account(accountId)
      const now = yield* Clock.currentTimeMillis
      const results = items.map((item, index): ConsentResult => {
        const faults = check(item, index, now)
        return faults.length === 0
          ? { _tag: "Recorded", record: recordOf(item, now) }
          : { _tag: "Refused", phone: item.phone, faults }
      })
      const records = results.flatMap((result) => (result._tag === "Recorded" ? [result.record] : []))
      if (records.length > 0) yield* store.record({ accountId, records })
      yield* wake.deliveries.notify
      return results
    }),
    find: Effect.fnUntraced(function* (accountId, phone) {
      yield* account(accountId)
      const message = Phone.check(phone)
      yield* refuse(
        message === undefined ? [] : [Fault.make(["query", "phone"], "recipient_invalid", message)]
      )
      const history = yield* store.history({ accountId, phone })
      const current = purposes.map((purpose) => ({ purpose, verdict: Consent.decide(history, purpose) }))
      return { phone, current, history: [...history].reverse() }
    })
  }
  return consents
})
