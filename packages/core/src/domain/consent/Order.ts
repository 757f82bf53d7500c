/**
 * The order of what was said of a person's consent (contract.md §11 "When words were said"): people by a platform, which
 * may bring their words days late and in any order, and the account's own records.
 *
 * A grant stands when it was said after every revocation. Words that one session dated are compared by its own times, all
 * others by when they count as said, so there may be a circle of three: then none stands, and consent is revoked. A
 * record is written with a place (`occurredAt`) from which `Consent.decide` finds the same by looking at the last one.
 */
import type { Instant } from "../Instant.ts"
import * as Time from "../Instant.ts"
import * as Occurrence from "../Occurrence.ts"
import type { ConsentRecord, Purpose, Scope, Status } from "./Consent.ts"
import * as Consent from "./Consent.ts"

export type Dated = Pick<
  ConsentRecord,
  "datedBy" | "occurredAt" | "purpose" | "recordedAt" | "status" | "reportedAt"
>

/** An opt-in was said when the platform says so, however old; an opt-out with a doubtful time was said when it came. */
export const saidAt = (status: Status, reportedAt: Instant | null, cameAt: Instant): Instant =>
  status === "granted" ? Occurrence.since(reportedAt, cameAt) : Occurrence.occurredAt(reportedAt, cameAt)

const said = ({ datedBy, occurredAt, recordedAt, status, reportedAt }: Dated): Instant =>
  datedBy === null ? occurredAt : saidAt(status, reportedAt, recordedAt)

/** True for a record of the account's that tells no time: it is behind what was recorded before it. */
const isDatedByRecording = ({ datedBy, occurredAt, recordedAt, reportedAt }: Dated): boolean =>
  datedBy === null && reportedAt === null && occurredAt >= recordedAt

/**
 * True for an opt-in of which the platform does not say when, beside an opt-out with a time of its own: a time that is still to
 * come, or none in the hook that brought both. It counts as after what came before it.
 */
const isDoubtful = (grant: Dated, revocation: Dated): boolean => {
  if (grant.datedBy === null || revocation.reportedAt === null) return false
  if (grant.reportedAt === null) return grant.recordedAt === revocation.recordedAt
  const isStillToCome =
    grant.reportedAt > grant.recordedAt && !Occurrence.isPlausible(grant.reportedAt, grant.recordedAt)
  return isStillToCome && Occurrence.isPlausible(revocation.reportedAt, revocation.recordedAt)
}

/** True when the grant was said after the revocation. Where nobody can tell, it was not. */
const isAfter = (grant: Dated, revocation: Dated, wasRecordedFirst: boolean): boolean => {
  if (isDoubtful(grant, revocation)) return !wasRecordedFirst && grant.recordedAt > revocation.recordedAt
  if (
    grant.datedBy !== null &&
    grant.datedBy === revocation.datedBy &&
    grant.reportedAt !== null &&
    revocation.reportedAt !== null
  ) {
    if (grant.reportedAt > Occurrence.latest(revocation.reportedAt, revocation.recordedAt)) return true
    // Platforms tell whole seconds. Of two in one second that came one after the other, and soon, the order is known.
    return (
      grant.reportedAt >= revocation.reportedAt &&
      !wasRecordedFirst &&
      grant.recordedAt > revocation.recordedAt &&
      Occurrence.isPlausible(grant.reportedAt, grant.recordedAt)
    )
  }
  if (!wasRecordedFirst) return said(grant) >= said(revocation)
  const latest = Occurrence.latest(said(revocation), revocation.recordedAt)
  if (grant.datedBy !== null) return said(grant) > latest
  // The clocks of two machines cannot be compared, but the account had registered the grant before the word came.
  return revocation.datedBy === null && !isDatedByRecording(revocation) && said(grant) > said(revocation)
}

/** The last records of a person, which are looked at one by one. In an older place only those that decide are. */
export const looksBack = 200

interface History {
  /** In the order of recording: those that decide, and the last {@link looksBack}. */
  readonly before: ReadonlyArray<Dated>
  /** Of these some are older, and some later than the record itself, which is carried over from another history. */
  readonly after?: ReadonlyArray<Dated>
}

/** True when more may have been recorded since a time than is known. */
const isCutSince = ({ after = [], before }: History, since: Instant): boolean => {
  const oldest = [...before, ...after].at(-looksBack)
  return oldest !== undefined && oldest.recordedAt > since
}

/** The bounds of a record's place for one purpose; without bounds any place will do. */
interface Bounds {
  readonly from: Instant
  readonly until: Instant
}

const boundsOf = (record: Dated, history: History, purpose: Purpose): Bounds => {
  const concerns = (each: Dated) => each.purpose === purpose || each.purpose === "all"
  const [before, after] = [history.before.filter(concerns), (history.after ?? []).filter(concerns)]
  const decision = Consent.decide([...before, ...after], purpose)
  const last = decision._tag === "Missing" ? undefined : decision.record
  if (last === undefined) return { from: Time.at(-Infinity), until: Time.at(Infinity) }
  const isCut = isCutSince(history, Time.min(said(record), record.reportedAt ?? Time.at(Infinity)))
  const ordered = [...before, record, ...after]
  const standsAgainst = (grant: Dated, place: number) =>
    ordered.every((each, at) => each.status === "granted" || isAfter(grant, each, place < at))
  const isGranted =
    record.status === "granted"
      ? last.status === "granted" || (!isCut && standsAgainst(record, before.length))
      : last.status === "granted" &&
        !isCut &&
        ordered.some(
          (each, at) =>
            each.status === "granted" && isAfter(each, record, at < before.length) && standsAgainst(each, at)
        )
  if (isGranted !== (record.status === "granted"))
    return { from: Time.at(-Infinity), until: Time.before(last.occurredAt, 1) }
  return {
    from: last.status === record.status ? Time.at(-Infinity) : last.occurredAt,
    until: Time.at(Infinity)
  }
}

const clamp = (at: Instant, { from, until }: Bounds): Instant => Time.min(Time.max(at, from), until)

/** A record as it is written: what it decides, and its place. */
export type Placed = Pick<ConsentRecord, "purpose" | "occurredAt">

/**
 * The places of a record in a person's history. It is one, unless a revocation of all purposes stands for some of them only,
 * since the person later granted the others.
 */
export const placed = (record: Dated, history: History): ReadonlyArray<Placed> => {
  const at = said(record)
  const purposes: ReadonlyArray<Purpose> = record.purpose === "all" ? Consent.purposes : [record.purpose]
  const bounds = purposes.map((purpose) => boundsOf(record, history, purpose))
  const common = {
    from: Time.max(...bounds.map(({ from }) => from)),
    until: Time.min(...bounds.map(({ until }) => until))
  }
  const whole = (purpose: Scope): Placed => ({ purpose, occurredAt: clamp(at, common) })
  return common.from <= common.until
    ? [whole(record.purpose)]
    : purposes.map((purpose, place) => ({
        purpose,
        occurredAt: clamp(at, bounds[place] ?? common)
      }))
}
