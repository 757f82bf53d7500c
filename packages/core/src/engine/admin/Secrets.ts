/** Changes the master key: seals everything again under the current one and reports what remains (contract.md §10). */
import * as Effect from "effect/Effect"
import * as ApiKey from "../../domain/account/ApiKey.ts"
import * as Time from "../../domain/Instant.ts"
import * as Keyring from "../../domain/Keyring.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import * as Webhook from "../../domain/webhook/Webhook.ts"
import * as Either from "../../effect/Either.ts"
import * as PersonHash from "../../secret/PersonHash.ts"
import { SecretBox } from "../../secret/SecretBox.ts"
import * as SessionSender from "../../sender/SessionSender.ts"
import type { Resealing, SealedPlace } from "../../storage/KeyringStore.ts"
import { KeyringStore } from "../../storage/KeyringStore.ts"
import { OperatorStore } from "../../storage/OperatorStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import * as Recorder from "./Recorder.ts"

/** Of each kind of place, how many. */
export type Counts = Readonly<Record<SealedPlace["kind"], number>>

/** An API key with secrets that are hashed under other master keys than the current one. */
export interface Dependent {
  readonly apiKey: ApiKey.ApiKey
  /** Ids of master keys; null for a hash that does not name its key. */
  readonly keys: ReadonlyArray<string | null>
}

export interface Resealed {
  /** The id of the current master key. */
  readonly key: string
  /** Texts that were sealed anew now. */
  readonly resealed: Counts
  /** Texts that none of the given keys opens. They stay as they are. */
  readonly unreadable: Counts
  /** How many operators still need another master key. Each moves when it is next used, or by a rotation. */
  readonly operators: number
  /** How many API keys still need another master key. Each moves when it is next used, or by a rotation. */
  readonly apiKeys: number
  /** The first {@link listed} of them. */
  readonly dependents: ReadonlyArray<Dependent>
  /** Ids of the other master keys that processes still have to be given. */
  readonly olderKeys: ReadonlyArray<string>
  /** Ids of those that nothing needed any more: from now on no process has to be given them. */
  readonly retired: ReadonlyArray<string>
}

export interface Secrets {
  /**
   * Seals again in commits of at most {@link step} places, while hosts run. After an interruption the finished part
   * stays; repeated, it does the rest.
   */
  readonly reseal: Effect.Effect<Resealed, StorageError>
}

/** Places of one commit. */
export const step = 100

/** API keys that are named, at most. */
export const listed = 1000

/** Until then some process may not have noticed that the current key replaced an earlier one. */
const settledMs = 30 * Time.second

const placeOf = ({ id, kind }: SealedPlace): string =>
  ({ session: SessionSender.place, webhook: Webhook.place, erasure: PersonHash.place })[kind](id)

const kinds: ReadonlyArray<SealedPlace["kind"]> = ["session", "webhook", "erasure"]

export const make = Effect.gen(function* () {
  const box = yield* SecretBox
  const store = yield* KeyringStore
  const operatorStore = yield* OperatorStore
  const record = yield* Recorder.make

  /** Every page, one after the other. */
  const eachPage = Effect.fnUntraced(function* <A>(
    read: (page: Page) => Effect.Effect<Paged<A>, StorageError>,
    use: (items: ReadonlyArray<A>) => Effect.Effect<void, StorageError>
  ) {
    let after: number | null = null
    do {
      const { items, next }: Paged<A> = yield* read({ limit: step, after })
      yield* use(items)
      after = next
    } while (after !== null)
  })

  /** The sealed texts that are not under the current key, opened and sealed anew; or unreadable. */
  const anew = (place: SealedPlace, key: string): ReadonlyArray<Resealing | "unreadable"> =>
    place.sealed
      .filter((sealed) => !Keyring.isUnder(key, sealed))
      .map((sealed) =>
        Either.match(box.open(placeOf(place), sealed), {
          onLeft: () => "unreadable",
          onRight: (plain) => {
            const { id, kind } = place
            return { kind, id, from: sealed, to: box.seal(placeOf(place), plain) }
          }
        })
      )

  const secrets: Secrets = {
    reseal: Effect.gen(function* () {
      const begun = yield* Time.now
      const remembered = yield* store.remembered
      const key = box.inUse()
      const resealed = { session: 0, webhook: 0, erasure: 0 }
      const unreadable = { session: 0, webhook: 0, erasure: 0 }
      for (const kind of kinds) {
        yield* eachPage(
          (page) => store.sealed(kind, page),
          Effect.fnUntraced(function* (places) {
            const found = places.flatMap((place) => anew(place, key))
            const resealings = found.flatMap((each) => (each === "unreadable" ? [] : [each]))
            unreadable[kind] += found.length - resealings.length
            const entry = (count: number) => ({ target: null, after: { key, kind, resealed: count } })
            if (resealings.length > 0)
              resealed[kind] += yield* record(
                { operation: "secrets.reseal", entry },
                store.reseal(resealings)
              )
          })
        )
      }

      const dependents: Array<Dependent> = []
      const needed = new Set<string | null>()
      let apiKeys = 0
      yield* eachPage(store.apiKeys, (items) =>
        Effect.sync(() => {
          for (const apiKey of items) {
            const keys = ApiKey.olderKeys(apiKey, key, begun)
            if (keys.length === 0) continue
            apiKeys += 1
            for (const each of keys) needed.add(each)
            if (dependents.length < listed) dependents.push({ apiKey, keys })
          }
        })
      )

      let operators = 0
      yield* eachPage(operatorStore.list, (items) =>
        Effect.sync(() => {
          for (const operator of items) {
            const keys = ApiKey.olderKeys(operator, key, begun)
            if (keys.length > 0) operators += 1
            for (const each of keys) needed.add(each)
          }
        })
      )

      const older = Keyring.asked(remembered).filter((id) => id !== key)
      const current = remembered.find(({ id }) => id === key)
      const isSettled = !store.isShared || (current !== undefined && begun - current.addedAt >= settledMs)
      const retired = isSettled && !needed.has(null) ? older.filter((id) => !needed.has(id)) : []
      const now = yield* Time.now
      const entry = () => ({ target: null, after: { key, retired } })
      const retire = retired.length > 0 ? store.retire({ keys: retired, now }) : Effect.void
      yield* record({ operation: "secrets.reseal", entry }, retire)
      const olderKeys = older.filter((id) => !retired.includes(id))
      return { key, resealed, unreadable, apiKeys, operators, dependents, olderKeys, retired }
    })
  }
  return secrets
})
