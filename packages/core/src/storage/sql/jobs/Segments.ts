/**
 * Finds recipients by a phone or a text that is searched. An index that every accept wrote would double its cost, so recipients are
 * written down later, 100,000 at a time and sorted: a look-up jumps into each of these segments, and reads through the
 * recipients that came since the last (docs/adr/0041).
 */
import * as Address from "../../../domain/Address.ts"
import * as ClientTexts from "../../../domain/job/ClientTexts.ts"
import * as Phone from "../../../domain/Phone.ts"
import type { Program, Row } from "../../Program.ts"
import { all, changes, get, run } from "../../Program.ts"
import type { Dialect } from "../Database.ts"
import { recipientKey } from "../RecipientKeys.ts"
import { integer, integerOrNull, limited, seq, text, textOrNull } from "../RowReader.ts"

/** The recipients of a segment. */
export const size = 100_000

/** So many are read or written at once. */
const sliceSize = 5000

/** The recipients behind the last segment that a look-up reads through. */
const mostFresh = 2 * size

/** Looks at a segment that another process builds, without any progress, after which it is taken for given up. */
const patience = 12

interface Entry {
  readonly key: string
  readonly recipient: number
}

/** A segment that this process builds: its entries in sorted slices, and the place in each up to which they are written. */
interface Building {
  readonly id: number
  readonly last: number
  /** The recipient up to which it was read. */
  readonly readTo: number
  readonly slices: ReadonlyArray<ReadonlyArray<Entry>>
  readonly places: ReadonlyArray<number>
  readonly written: number
}

/** A process's knowledge of the segment to come. */
export interface State {
  readonly building: Building | null
  /** Jobs up to this number are all there are: no open transaction brings another. */
  readonly settled: number
  /** What `settled` becomes once the transactions before the mark are over. */
  readonly next: { readonly last: number; readonly mark: number | null } | null
  /** How many recipients were counted behind the last segment, and how far. */
  readonly fresh: { readonly from: number; readonly to: number; readonly count: number }
  /** How often the same was seen of a segment that another process builds. */
  readonly stalled: { readonly id: number; readonly written: number; readonly looks: number }
}

export const initial: State = {
  building: null,
  settled: 0,
  next: null,
  fresh: { from: -1, to: -1, count: 0 },
  stalled: { id: 0, written: 0, looks: 0 }
}

/** A step of a process: the state after it, and whether there is more to do at once. */
interface Step {
  readonly state: State
  readonly goesOn: boolean
}

const newest = "SELECT id, last, written FROM sendwright_segment ORDER BY id DESC LIMIT 1"
const lastBefore = "SELECT max(last) AS last FROM sendwright_segment WHERE id < ?"

const countFresh = `SELECT count(*) AS n, max(seq) AS last FROM (
    SELECT seq FROM sendwright_recipient WHERE seq > ? AND seq < ? ORDER BY seq ${limited}
  ) AS fresh`

/** The client's texts by which recipients are found. */
const { searched } = ClientTexts.recipient
const columns = ["seq", "phone", ...searched].join(", ")
const anyText = (condition: (column: string) => string): string => searched.map(condition).join(" OR ")

const readSlice = `SELECT ${columns} FROM sendwright_recipient
  WHERE seq > ? AND seq <= ? ORDER BY seq ${limited}`

const begin =
  "INSERT INTO sendwright_segment (id, last, written) VALUES (?, ?, 0) ON CONFLICT (id) DO NOTHING"
const advance = "UPDATE sendwright_segment SET written = ? WHERE id = ? AND written = ?"

const byKey = (a: Entry, b: Entry): number =>
  a.key < b.key ? -1 : a.key > b.key ? 1 : a.recipient - b.recipient

const entriesOf = (row: Row): ReadonlyArray<Entry> => {
  const recipient = seq(row)
  const { phone, userId } = Address.personOf(text(row, "phone"))
  const keys = [phone, userId, ...searched.map((name) => textOrNull(row, name))]
  return [...new Set(keys)].flatMap((key) => (key === null || key === "" ? [] : [{ key, recipient }]))
}

/** The least entries of the slices, and the places behind them. */
const take = ({ places: from, slices }: Building, most: number) => {
  const places = [...from]
  const entries: Array<Entry> = []
  while (entries.length < most) {
    let first = -1
    let least: Entry | undefined
    for (const [at, slice] of slices.entries()) {
      const entry = slice[places[at] ?? 0]
      if (entry !== undefined && (least === undefined || byKey(entry, least) < 0)) {
        first = at
        least = entry
      }
    }
    if (least === undefined) break
    places[first] = (places[first] ?? 0) + 1
    entries.push(least)
  }
  return { entries, places }
}

/** Whether a segment is to be built, and what of it is read next; what is read is written by {@link writing}. */
export const reading = ({ horizon }: Pick<Dialect, "horizon">) => {
  function* settle(state: State): Program<State> {
    const { last, mark, oldest } = yield* horizon()
    const { next } = state
    const isOver = next !== null && next.mark !== null && oldest >= next.mark
    // A number may be drawn a moment before its transaction is one of those that are told: the mark is of the next look.
    return {
      ...state,
      settled: isOver ? next.last : state.settled,
      next: isOver || next === null ? { last, mark: null } : { last: next.last, mark: next.mark ?? mark }
    }
  }

  /** Counts the recipients that came since the last segment, as far as the next one goes. */
  function* count(state: State, from: number): Program<State> {
    const fresh = state.fresh.from === from ? state.fresh : { from, to: from, count: 0 }
    const end = recipientKey(state.settled + 1, 0)
    const row = (yield* get(countFresh, fresh.to, end, size - fresh.count)) ?? {}
    const to = integerOrNull(row, "last")
    return {
      ...state,
      fresh: to === null ? fresh : { from, to, count: fresh.count + integer(row, "n") }
    }
  }

  /** A segment that was begun, and of which nothing is heard any more, is built from its begin. */
  function* takeOver(state: State, id: number, last: number, written: number): Program<State> {
    const isSame = state.stalled.id === id && state.stalled.written === written
    const stalled = { id, written, looks: isSame ? state.stalled.looks + 1 : 0 }
    if (stalled.looks < patience) return { ...state, stalled }
    const before = yield* get(lastBefore, id)
    const readTo = integerOrNull(before ?? {}, "last") ?? -1
    return { ...state, stalled, building: { id, last, readTo, slices: [], places: [], written } }
  }

  function* open(state: State): Program<State> {
    const found = yield* get(newest)
    const [id, last] = found === undefined ? [0, -1] : [integer(found, "id"), integer(found, "last")]
    const written = found === undefined ? null : integerOrNull(found, "written")
    if (written !== null) return yield* takeOver(state, id, last, written)
    const counted = yield* count(yield* settle(state), last)
    if (counted.fresh.count < size) return counted
    const building = { id: id + 1, last: counted.fresh.to, readTo: last, slices: [], places: [], written: 0 }
    return { ...counted, building }
  }

  return function* (state: State): Program<Step> {
    const { building } = state
    if (building === null) {
      const opened = yield* open(state)
      return { state: opened, goesOn: opened.building !== null }
    }
    const rows = yield* all(readSlice, building.readTo, building.last, sliceSize)
    const readTo = rows.length < sliceSize ? building.last : seq(rows.at(-1) ?? {})
    const slices = [...building.slices, rows.flatMap(entriesOf).sort(byKey)]
    const places = slices.map(() => 0)
    return { state: { ...state, building: { ...building, readTo, slices, places } }, goesOn: true }
  }
}

/** True once all of a segment is read that is not written yet. */
export const isRead = ({ building }: State): boolean => building !== null && building.readTo >= building.last

/** Digits of a recipient's key before its text, in one element of an array. */
const digits = 16

/** Writes the next entries of the segment that was read. Where another process has written some meanwhile it is left to that. */
export const writing = ({ elements, lookUp }: Pick<Dialect, "elements" | "lookUp">) => {
  const { from, value } = elements
  const found = lookUp("sendwright_recipient", "recipient", "recipient.seq = entry.recipient")
  // A person who was erased since the read is written down no more.
  const insert = `INSERT INTO sendwright_segment_key (segment, key, recipient)
    SELECT CAST(? AS bigint), entry.key, entry.recipient FROM (
      SELECT substr(${value}, ${digits + 1}) AS key, CAST(substr(${value}, 1, ${digits}) AS bigint) AS recipient FROM ${from}
    ) AS entry ${found}
    WHERE ${anyText((name) => `recipient.${name} = entry.key`)} OR replace(recipient.phone, entry.key, '') <> recipient.phone
    ON CONFLICT (segment, key, recipient) DO NOTHING`

  return function* (state: State): Program<Step> {
    const { building } = state
    if (building === null) return { state, goesOn: false }
    const { id, last, written } = building
    const { entries, places } = take(building, sliceSize)
    const isLast = entries.length < sliceSize
    const after = written + entries.length
    if (written === 0) yield* run(begin, id, last)
    const isOurs = (yield* changes(advance, isLast ? null : after, id, written)) > 0
    if (!isOurs) return { state: { ...state, building: null }, goesOn: false }
    const texts = entries.map(({ key, recipient }) => `${String(recipient).padStart(digits, "0")}${key}`)
    yield* run(insert, id, JSON.stringify(texts))
    const rest = isLast ? null : { ...building, places, written: after }
    return { state: { ...state, building: rest }, goesOn: true }
  }
}

const covered = "SELECT max(last) AS last FROM sendwright_segment WHERE written IS NULL"

const inFresh = (condition: string): string => `SELECT seq FROM (
    SELECT ${columns} FROM sendwright_recipient WHERE seq > ? AND seq < ? ORDER BY seq DESC LIMIT ${mostFresh}
  ) AS fresh WHERE ${condition} ORDER BY seq DESC ${limited}`

/** What a phone or a user id is found by where it is a part of an address. */
const partOf = (key: string): ReadonlyArray<{ readonly condition: string; readonly value: string }> => {
  if (Phone.form.test(key)) return [{ condition: "phone LIKE ?", value: `${key}@%` }]
  return Address.userIdForm.test(key)
    ? [{ condition: "replace(phone, ?, '') <> phone", value: `@${key} ` }]
    : []
}

/** Answers the keys of the recipients that have one of the texts as their phone, user id or searched text, the newest first, before a place. */
export const finding = ({ elements: { among }, lookUp }: Pick<Dialect, "elements" | "lookUp">) => {
  // All keys are looked for in one reading.
  const ofOne = ["phone", ...searched].map((name) => `${name} = ?`).join(" OR ")
  const ofSeveral = ["phone", ...searched].map(among).join(" OR ")
  const ofSegment = "found.segment = segment.id AND found.key = ? AND found.recipient < ?"
  const inSegments = `SELECT found.recipient AS seq FROM sendwright_segment AS segment
      ${lookUp("sendwright_segment_key", "found", ofSegment)}
    WHERE segment.written IS NULL ORDER BY segment.id DESC, found.recipient DESC ${limited}`

  return function* (
    keys: ReadonlyArray<string>,
    before: number,
    limit: number
  ): Program<ReadonlyArray<number>> {
    const [first, ...others] = new Set(keys)
    if (first === undefined) return []
    const last = integerOrNull((yield* get(covered)) ?? {}, "last") ?? -1
    const [whole, wanted] =
      others.length === 0 ? [ofOne, first] : [ofSeveral, JSON.stringify([first, ...others])]
    const parts = [first, ...others].flatMap(partOf)
    const text = inFresh([whole, ...parts.map(({ condition }) => condition)].join(" OR "))
    const given = [wanted, ...searched.map(() => wanted), ...parts.map(({ value }) => value)]
    const fresh = before > last ? yield* all(text, last, before, ...given, limit) : []
    const found = new Set(fresh.map(seq))
    if (fresh.length < limit)
      for (const key of [first, ...others])
        for (const row of yield* all(inSegments, key, before, limit - fresh.length)) found.add(seq(row))
    return [...found].sort((a, b) => b - a).slice(0, limit)
  }
}

const gone = "last < (SELECT min(seq) FROM sendwright_recipient) AND written IS NULL"

const forgetEntries = `DELETE FROM sendwright_segment_key WHERE segment IN (SELECT id FROM sendwright_segment WHERE ${gone})`

// The newest stays: it tells up to where recipients are written down.
const forgetSegments = `DELETE FROM sendwright_segment WHERE ${gone} AND id < (SELECT max(id) FROM sendwright_segment)`

/** For a purge: forgets the segments whose recipients are all gone. */
export function* forgetGone(): Program<void> {
  yield* run(forgetEntries)
  yield* run(forgetSegments)
}

const forgetKey = `DELETE FROM sendwright_segment_key
  WHERE key = ? AND recipient = ? AND segment IN (SELECT id FROM sendwright_segment)`

/** For an erasure: the recipient is found by these texts no more. Others may have the same ones. */
export function* forgetKeys(recipient: number, keys: ReadonlyArray<string>): Program<void> {
  for (const key of new Set(keys)) yield* run(forgetKey, key, recipient)
}
