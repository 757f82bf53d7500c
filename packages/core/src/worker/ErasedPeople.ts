/**
 * What platforms bring of people who were erased: what these said before is not taken up again, nor who they are, since a
 * receipt of an old message would tell it. What they say afterwards is a new contact.
 */
import * as Effect from "effect/Effect"
import * as Erasure from "../domain/Erasure.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import * as Occurrence from "../domain/Occurrence.ts"
import type { Key } from "../domain/Person.ts"
import * as Person from "../domain/Person.ts"
import type { PersonHash } from "../secret/PersonHash.ts"
import type { Erased } from "../storage/ErasureStore.ts"
import type { InboundItem } from "../storage/InboundStore.ts"
import type { Report } from "../storage/JobStore.ts"
import type { StorageError } from "../storage/StorageError.ts"

/** The keys by which an item names somebody. */
const keysOf = ({ identity, perhapsRefusal }: InboundItem, portfolio: string): ReadonlyArray<Key> => [
  ...(perhapsRefusal === undefined ? [] : Person.keysOf(perhapsRefusal, portfolio)),
  ...(identity === null
    ? []
    : [
        ...Person.keysOf(identity.person, portfolio),
        ...(identity.formerly === null ? [] : Person.keysOf(identity.formerly, portfolio)),
        ...(identity.asked ?? [])
      ])
]

const isTaken = (
  item: InboundItem,
  portfolio: string,
  erased: ReadonlyMap<Key, Erased>,
  now: Instant
): boolean => {
  const found = keysOf(item, portfolio).flatMap((key) => erased.get(key) ?? [])
  if (found.length === 0) return true
  const { identity, message, perhapsRefusal, word } = item
  // However late it comes: other times count as now when they are minutes off.
  const told = identity?.at ?? word?.reportedAt ?? perhapsRefusal?.reportedAt ?? null
  const saidAt = Occurrence.timeOf(told) ?? now
  if (found.some(({ at }) => Erasure.isBefore(Time.min(saidAt, now), at))) return false
  const isIntroduction = message === null && word === null && perhapsRefusal === undefined
  return !isIntroduction || found.every(({ isKnownAgain }) => isKnownAgain)
}

/** The items without what is over for people who were erased. */
export const withoutErased = (
  { erased }: PersonHash,
  accountId: string,
  portfolio: string,
  items: ReadonlyArray<InboundItem>,
  now: Instant
): Effect.Effect<ReadonlyArray<InboundItem>, StorageError> => {
  const keys = new Set(items.flatMap((item) => keysOf(item, portfolio)))
  if (keys.size === 0) return Effect.succeed(items)
  return Effect.map(erased(accountId, keys), (found) =>
    found.size === 0 ? items : items.filter((item) => isTaken(item, portfolio, found, now))
  )
}

/**
 * The reports without those that would be kept until their message is known, and name somebody who was erased and is not
 * known again: none of our messages is theirs any more.
 */
export const withoutReports = (
  { erased }: PersonHash,
  accountId: string,
  reports: ReadonlyArray<Report>
): Effect.Effect<ReadonlyArray<Report>, StorageError> => {
  const keysOfReport = ({ messageId, named }: Report): ReadonlyArray<Key> =>
    messageId !== null || named === undefined ? [] : Person.keysOf(named, "")
  const keys = new Set(reports.flatMap(keysOfReport))
  if (keys.size === 0) return Effect.succeed(reports)
  return Effect.map(erased(accountId, keys), (found) =>
    reports.filter((report) => !keysOfReport(report).some((key) => found.get(key)?.isKnownAgain === false))
  )
}
