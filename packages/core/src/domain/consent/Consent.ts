/**
 * Consent (contract.md §4, §10): append-only records per account and person. A send needs consent of its phone for its
 * purpose, the template's category or `direct`.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Phone from "../Phone.ts"

/** The purpose that a message is sent for. */
export type Purpose = "marketing" | "utility" | "authentication" | "direct"
/** The scope of a record: one purpose, or all of them. */
export type Scope = Purpose | "all"
export const scopes: ReadonlyArray<Scope> = ["all", "marketing", "utility", "authentication", "direct"]
export const purposes: ReadonlyArray<Purpose> = ["marketing", "utility", "authentication", "direct"]

export const statuses = ["granted", "revoked"] as const
export type Status = (typeof statuses)[number]

export interface ConsentRecord {
  readonly id: string
  /** Null when only a user id is known of the person. */
  readonly phone: string | null
  /** The platform's id of the person; null when none was told. */
  readonly userId: string | null
  readonly purpose: Scope
  readonly status: Status
  /** How it was given or withdrawn, in the account's words: `web-form`, `import`, `inbound-message`. */
  readonly source: string
  /** Evidence, in the account's words; null when none was given. */
  readonly proof: string | null
  /** When it counts as said: its place among the others (`Order`). */
  readonly occurredAt: Instant
  /** The time that the account or the platform told; null when none was told, and of records from before it was kept. */
  readonly reportedAt: Instant | null
  /** The session whose platform told the time, so that its words compare with each other; null for the account's own. */
  readonly datedBy: string | null
  readonly recordedAt: Instant
}

/** The part of a record that decides, and why it says so, where that is known. */
export type Standing = Pick<ConsentRecord, "purpose" | "status" | "occurredAt"> &
  Partial<Pick<ConsentRecord, "source">>

export type Verdict<R extends Standing = Standing> =
  | { readonly _tag: "Granted"; readonly record: R }
  | { readonly _tag: "Revoked"; readonly record: R }
  | { readonly _tag: "Missing" }

/** Why a message may not go. */
export type Refusal<R extends Standing = Standing> = Exclude<Verdict<R>, { readonly _tag: "Granted" }>

/**
 * Of the records for the purpose and for `all`, the one that occurred last decides; of two that occurred at the
 * same time, the one recorded last. `history` is in the order of recording.
 */
export const decide = <R extends Standing>(history: Iterable<R>, purpose: Purpose): Verdict<R> => {
  let last: R | undefined
  for (const record of history) {
    if (record.purpose !== purpose && record.purpose !== "all") continue
    if (last === undefined || record.occurredAt >= last.occurredAt) last = record
  }
  if (last === undefined) return { _tag: "Missing" }
  return { _tag: last.status === "granted" ? "Granted" : "Revoked", record: last }
}

/** Source of the end of what was granted for a number that its owner left. It says nothing of the person. */
export const numberChanged = "number_changed"

/** True where the person refuses; else there is no consent of whoever has the number now. */
export const isWithdrawn = (refusal: Refusal): boolean =>
  refusal._tag === "Revoked" && refusal.record.source !== numberChanged

/** Why the person is sent nothing, and who can change it. */
export const refusalText = (refusal: Refusal, purpose: Purpose): string => {
  if (refusal._tag === "Missing")
    return `The recipient has no registered consent for ${purpose} messages. Register it if they gave it, or leave them out.`
  const at = Time.format(refusal.record.occurredAt)
  return isWithdrawn(refusal)
    ? `The recipient withdrew consent on ${at}. Leave them out, or register what they gave since, with its time.`
    : `The number has a new owner since ${at}, and what was granted for it has ended. Register what the new owner gave, or leave them out.`
}

const precedence = { Revoked: 0, Granted: 1, Missing: 2 } as const

/**
 * By person the verdicts on their names, which are in one list, those of each behind those of the one before: a refusal by
 * one name is the person's, and a grant by one is enough where there is none.
 */
export const byPerson = <V extends Pick<Verdict, "_tag">>(
  names: ReadonlyArray<{ readonly length: number }>,
  verdicts: ReadonlyArray<V>
): ReadonlyArray<V> => {
  let from = 0
  return names.flatMap(({ length }) => {
    const own = verdicts.slice(from, from + length)
    from += length
    return own.toSorted((a, b) => precedence[a._tag] - precedence[b._tag]).slice(0, 1)
  })
}

/** The verdicts that forbid a message, by their index. */
export const refusals = <R extends Standing>(
  verdicts: ReadonlyArray<Verdict<R>>
): ReadonlyMap<number, Refusal<R>> => {
  const found = new Map<number, Refusal<R>>()
  verdicts.forEach((verdict, place) => {
    if (verdict._tag !== "Granted") found.set(place, verdict)
  })
  return found
}

const allOrNone = <R extends Standing>(verdict: Verdict<R>): ReadonlyArray<R> =>
  verdict._tag === "Missing" ? [] : [verdict.record]

/** The records that decide for some purpose. */
export const deciding = <R extends Standing>(history: ReadonlyArray<R>): ReadonlyArray<R> => [
  ...new Set(purposes.flatMap((purpose) => allOrNone(decide(history, purpose))))
]

/**
 * The last record of each purpose and status, in the order of recording. It contains the records that decide, and the
 * grants that a new revocation has to come after: of two grants for one purpose only the later matters.
 */
export type Last<R extends Standing> = ReadonlyMap<string, R>

/** The last of each kind, with one more record. */
export const withLast = <R extends Standing>(last: Last<R>, record: R): Last<R> => {
  const kind = `${record.purpose} ${record.status}`
  const before = last.get(kind)
  if (before !== undefined && before.occurredAt > record.occurredAt) return last
  const found = new Map(last)
  found.delete(kind)
  return found.set(kind, record)
}

/**
 * The records of another history that this one lacks to decide as that one. Of two records of the same time the
 * revocation decides.
 */
export const lacking = <R extends Standing>(
  history: ReadonlyArray<R>,
  others: ReadonlyArray<R>
): ReadonlyArray<R> => {
  const revokedLast = [...deciding(history), ...others].toSorted(
    (a, b) => Number(a.status === "revoked") - Number(b.status === "revoked")
  )
  const added: Array<R> = []
  // Revocations come last, so that a grant of the same time does not override one.
  for (const status of statuses) {
    for (const purpose of purposes) {
      const [decides] = allOrNone(decide(revokedLast, purpose))
      if (decides?.status !== status) continue
      const [decided] = allOrNone(decide([...history, ...added], purpose))
      if (decided?.status !== status || decided.occurredAt !== decides.occurredAt) added.push(decides)
    }
  }
  return added
}

const isSaidAlike = (one: ConsentRecord, other: ConsentRecord): boolean =>
  one.status === other.status &&
  one.source === other.source &&
  one.proof === other.proof &&
  one.reportedAt === other.reportedAt &&
  one.datedBy === other.datedBy

/**
 * The record of a person's history that says the same as an account's own: then that is recorded already, and an import may be
 * repeated. Without a time it is said anew each time.
 */
export const recordedAlready = (
  record: ConsentRecord,
  history: ReadonlyArray<ConsentRecord>
): ConsentRecord | undefined => {
  if (record.reportedAt === null) return undefined
  const alike = history.filter((each) => isSaidAlike(each, record))
  const of = (purpose: Scope) => alike.find((each) => each.purpose === purpose)
  const whole = of(record.purpose)
  if (whole !== undefined || record.purpose !== "all") return whole
  // One of all purposes may be recorded as one of each (`Order.placed`).
  const parts = purposes.map(of)
  return parts.every((part) => part !== undefined) ? parts[0] : undefined
}

/** Sources of records of what people said to a platform. */
export const inboundSources = { message: "inbound-message", platform: "platform" } as const

const isInbound = ({ source }: Pick<ConsentRecord, "source">): boolean =>
  source === inboundSources.message || source === inboundSources.platform

/** True where one of two records' purposes is the other's, too. */
export const overlap = (one: Scope, other: Scope): boolean =>
  one === other || one === "all" || other === "all"

/**
 * True for a grant of which nobody knows when it was given, and which would open what the person's own words, or an erasure,
 * have closed: consent stays refused (contract.md §13).
 */
export const isKeptRefused = (
  { purpose, status }: Pick<ConsentRecord, "purpose" | "status">,
  history: ReadonlyArray<ConsentRecord>,
  isErased: boolean
): boolean =>
  status === "granted" &&
  purposes.some((each) => {
    if (!overlap(each, purpose)) return false
    const verdict = decide(history, each)
    if (verdict._tag === "Granted") return false
    return verdict._tag === "Missing"
      ? isErased
      : isInbound(verdict.record) || verdict.record.source === numberChanged
  })

interface Listed {
  readonly phone?: string | undefined
  readonly userId?: string | undefined
  readonly purpose?: Scope | undefined
  readonly status?: Status | undefined
}

const namesOf = ({ phone, userId }: Listed): ReadonlyArray<string> => [
  ...(phone === undefined ? [] : Phone.forms(phone)),
  ...(userId === undefined ? [] : [userId])
]

/**
 * Refusals of one list: a grant of the same person in it, of which nobody knows when it was given, does not outrank one, wherever
 * it stands. One that is wider than the refusal is recorded where it stands before it: the refusal then holds for its purpose.
 */
export class ListRefusals {
  readonly #refusals = new Map<string, ReadonlyArray<{ readonly purpose: Scope; readonly place: number }>>()

  /** @param place in the list; left out where a list is read on and only what came before is asked for */
  add({ purpose = "all", status, ...named }: Listed, place = 0): void {
    if (status !== "revoked") return
    for (const name of namesOf(named))
      this.#refusals.set(name, [...(this.#refusals.get(name) ?? []), { purpose, place }])
  }

  has({ purpose = "all", status = "granted", ...named }: Listed, place = Number.POSITIVE_INFINITY): boolean {
    return (
      status === "granted" &&
      namesOf(named).some((name) =>
        (this.#refusals.get(name) ?? []).some(
          (refusal) =>
            refusal.purpose === "all" ||
            refusal.purpose === purpose ||
            (refusal.place < place && overlap(refusal.purpose, purpose))
        )
      )
    )
  }
}

/** True for what holds for all of a person's names: a refusal, and what they said themselves to a platform. */
export const isOfPerson = ({ source, status }: Pick<ConsentRecord, "source" | "status">): boolean =>
  isInbound({ source }) || (status === "revoked" && source !== numberChanged)

/**
 * The records that decide for the person, who may have left the number: a record that ended with the number counts no more, and
 * ends nothing else.
 */
export const decidingOfPerson = (history: ReadonlyArray<ConsentRecord>): ReadonlyArray<ConsentRecord> =>
  deciding(history.filter((record) => isOfPerson(record) || record.source === numberChanged)).filter(
    isOfPerson
  )

/** The purposes for which a number has a grant that ends when its owner leaves it: all of them, or each. */
export const grantedPurposes = (history: ReadonlyArray<Standing>): ReadonlyArray<Scope> => {
  const granted = purposes.filter((purpose) => decide(history, purpose)._tag === "Granted")
  return granted.length === purposes.length ? ["all"] : granted
}

/** A grant, for one purpose that it decides. */
export interface Given {
  readonly purpose: Purpose
  readonly record: ConsentRecord
}

/** The grants that ended when a number's owner left it, and those that stand there now: the next owner's, where there are both. */
export const movable = (
  history: ReadonlyArray<ConsentRecord>
): Readonly<Record<"ended" | "standing", ReadonlyArray<Given>>> => {
  const isEnd = ({ source }: ConsentRecord) => source === numberChanged
  const given = (some: ReadonlyArray<ConsentRecord>) =>
    purposes.flatMap((purpose): ReadonlyArray<Given> => {
      const { record } = { record: undefined, ...decide(some, purpose) }
      return record?.status === "granted" ? [{ purpose, record }] : []
    })
  const endedAt = Math.max(...history.filter(isEnd).map(({ occurredAt }) => occurredAt))
  const until = history.filter(({ occurredAt }) => occurredAt <= endedAt)
  // An end may be recorded for each purpose, and twice. Those before the last grant are of owners before.
  const lastGrant = until.findLastIndex(({ status }) => status === "granted")
  const ended = until.filter((record, place) => place <= lastGrant || !isEnd(record))
  return { ended: given(ended), standing: given(history) }
}

/** The grants that go on to the person's new number: none for a purpose that is refused there. */
export const moved = (
  given: ReadonlyArray<Given>,
  ofNew: ReadonlyArray<ConsentRecord>
): ReadonlyArray<ConsentRecord> => {
  const left = given.filter(({ purpose }) => {
    const verdict = decide(ofNew, purpose)
    return verdict._tag === "Granted" || verdict._tag === "Missing" || !isWithdrawn(verdict)
  })
  const [first] = left
  const isOne = left.length === purposes.length && left.every(({ record }) => record === first?.record)
  return isOne && first !== undefined
    ? [first.record]
    : left.map(({ purpose, record }) => ({ ...record, purpose }))
}
