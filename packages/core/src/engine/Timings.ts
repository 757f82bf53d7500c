/** When the recipients of a send are due (contract.md §14 "Time"), or what is wrong with the times that were asked for. */
import type { Address } from "../domain/Address.ts"
import * as Fault from "../domain/Fault.ts"
import type { Instant } from "../domain/Instant.ts"
import * as Time from "../domain/Instant.ts"
import type { RecipientResult } from "../domain/job/Job.ts"
import * as When from "../domain/job/When.ts"
import * as Either from "../effect/Either.ts"
import type { TemplateMessageRequest, TimesChange } from "../schema/Requests.ts"
import * as Times from "../schema/Times.ts"
import type { Retiming } from "../storage/JobStore.ts"

export interface Timed {
  /** Null where nobody has a time: all go at once. */
  readonly timing: When.Timing | null
  /** The session's hours for what is sent. */
  readonly quiet: When.Hours | null
  /** Each recipient's own, and when it is due first. */
  readonly recipients: ReadonlyArray<{ readonly timing: When.Own | null; readonly dueAt: Instant }>
}

const momentOrNull = (given: Times.Moment | null | undefined): When.Moment | null =>
  given === undefined || given === null ? null : Times.momentOf(given)

const ownOf = (given: TemplateMessageRequest["recipients"][number]): When.Own | null =>
  given.send_at === undefined && given.expires_at === undefined && given.time_zone === undefined
    ? null
    : {
        sendAt: momentOrNull(given.send_at),
        expiresAt: momentOrNull(given.expires_at),
        timeZone: given.time_zone ?? null
      }

const tooFar = "must be at most 366 days from now."

/** Adds what is wrong with the hours themselves. */
export const addHoursFault = (
  hours: Pick<Times.Hours, "days" | "from" | "to"> | null | undefined,
  path: Fault.Fault["path"],
  faults: Fault.Faults
): void => {
  if (hours === undefined || hours === null) return
  const message = When.hoursFault({ from: hours.from, to: hours.to, days: hours.days ?? null })
  if (message !== undefined) faults.add(path, "invalid_value", message)
}

type Member = "expires_at" | "hours" | "send_at" | "time_zone"

/** A recipient with the rules of its time, and where its members stand in the request. */
interface Placed {
  readonly own: When.Own | null
  readonly rules: When.Rules
  readonly path: (name: Member, isOwn: boolean) => Fault.Fault["path"]
}

/** Adds what is wrong with a recipient's moments. What is the send's own is told once, and not of each recipient. */
const addMomentFaults = (
  { own, path: pathOf, rules }: Placed,
  asked: Instant,
  now: Instant,
  faults: Fault.Faults
): void => {
  const latest = Time.after(now, When.furthestMs)
  const end = When.expiry(rules)
  const add = (name: "expires_at" | "send_at", isOwn: boolean, message: string): void => {
    const path = pathOf(name, isOwn)
    const isKnown = faults.list.some((fault) => fault.path.join() === path.join())
    if (!isKnown) faults.add(path, "out_of_range", `\`${name}\` ${message}`)
  }
  if (asked > latest) add("send_at", own !== null && own.sendAt !== null, tooFar)
  if (end === null) return
  const isOwn = own !== null && own.expiresAt !== null
  const isLate = end <= asked && !isOwn && own !== null && own.sendAt !== null
  if (isLate) add("send_at", true, "must be earlier than the message expires.")
  else if (end <= asked) add("expires_at", isOwn, "must be later than the message is sent.")
  else if (end > latest) add("expires_at", isOwn, tooFar)
}

const never =
  "The allowed hours never come in all time zones that the recipient may be in: give its `time_zone`."

const neverAnywhere =
  "The `hours` and the session's quiet hours have no time in common at the recipient's place."

/** When a recipient is due first. */
const dueOf = (placed: Placed, now: Instant, faults: Fault.Faults): Instant => {
  const { path, rules } = placed
  const asked = When.askedFor(rules, now)
  addMomentFaults(placed, asked, now, faults)
  if (faults.list.length > 0) return asked
  const turn = When.turn(rules, asked)
  if (turn._tag === "Never") {
    const isOfZones = When.comesInOne(rules, asked)
    const at = isOfZones ? path("time_zone", true) : path("hours", false)
    const isKnown = faults.list.some((fault) => fault.path.join() === at.join())
    if (!isKnown) faults.add(at, "invalid_value", isOfZones ? never : neverAnywhere)
  }
  return turn._tag === "Later" ? turn.at : asked
}

/** @param quiet the session's hours for what is sent */
export const read = (
  request: Pick<TemplateMessageRequest, "expires_at" | "hours" | "recipients" | "send_at">,
  addresses: ReadonlyArray<Address>,
  quiet: When.Hours | null,
  now: Instant,
  faults: Fault.Faults
): Timed => {
  const { hours, recipients } = request
  const timing = {
    sendAt: momentOrNull(request.send_at),
    expiresAt: momentOrNull(request.expires_at),
    hours: hours === undefined ? null : Times.hoursOf(hours)
  }
  addHoursFault(hours, ["hours"], faults)
  const owns = recipients.map(ownOf)
  const isTimed = [...Object.values(timing), quiet, ...owns].some((each) => each !== null)
  if (!isTimed) return { timing: null, quiet, recipients: owns.map((timing) => ({ timing, dueAt: now })) }
  const due: Array<Timed["recipients"][number]> = []
  let expiring: Instant | null = null
  for (const [place, own] of owns.entries()) {
    if (faults.isFull) break
    const rules = { timing, own, address: addresses[place] ?? "", quiet }
    const path: Placed["path"] = (name, isOwn) => (isOwn ? ["recipients", place, name] : [name])
    due.push({ timing: own, dueAt: dueOf({ own, rules, path }, now, faults) })
    expiring = Time.firstOf([expiring, When.expiry(rules)])
  }
  const startsAt = Time.min(...due.map(({ dueAt }) => dueAt))
  // Within its session's hours a send that asked for no time goes at once.
  const isAtOnce = [...Object.values(timing), ...owns].every((each) => each === null)
  const waits = due.some(({ dueAt }) => dueAt > now)
  return { timing: isAtOnce && !waits ? null : { ...timing, startsAt, expiring }, quiet, recipients: due }
}

/** True of a recipient of whom nothing was attempted: its time can be changed. */
const waits = ({ attempts, nextAt, status }: RecipientResult): boolean =>
  status === "queued" && nextAt !== null && attempts === 0

/** An absent member stays as it stood; null takes it away. */
const changedTo = (
  given: TimesChange,
  stood: When.Timing | null
): Pick<When.Timing, "expiresAt" | "hours" | "sendAt"> => ({
  sendAt: given.send_at === undefined ? (stood?.sendAt ?? null) : momentOrNull(given.send_at),
  expiresAt: given.expires_at === undefined ? (stood?.expiresAt ?? null) : momentOrNull(given.expires_at),
  hours: given.hours === undefined ? (stood?.hours ?? null) : given.hours && Times.hoursOf(given.hours)
})

/**
 * A job's times as they are changed, and when those of its open recipients are due whom nobody attempted. Those who expired by now
 * are left as they are.
 */
export const change =
  (given: TimesChange, quiet: When.Hours | null, now: Instant): Retiming =>
  (job, open) => {
    const faults = new Fault.Faults()
    const stood = job.timing
    const timing = changedTo(given, stood)
    addHoursFault(given.hours, ["hours"], faults)
    const changed = (["send_at", "expires_at", "hours"] as const).filter((name) => given[name] !== undefined)
    const path: Placed["path"] = (name, isOwn) => {
      // A recipient's own time is not changed by the request, so the fault is of the time that is.
      const wanted = name === "time_zone" ? "hours" : name === "send_at" && isOwn ? "expires_at" : name
      return [changed.find((each) => each === wanted) ?? changed[0] ?? wanted]
    }
    const dueAt = new Map<number, Instant>()
    let expiring: Instant | null = null
    for (const recipient of open) {
      const { address, index, timing: own } = recipient
      const rules = { timing, own, address, quiet }
      const end = When.expiry(rules)
      expiring = Time.firstOf([expiring, end])
      const isOver = own !== null && own.expiresAt !== null && end !== null && end <= now
      if (!waits(recipient) || isOver || faults.isFull) continue
      dueAt.set(index, dueOf({ own, rules, path }, now, faults))
    }
    if (faults.list.length > 0) return Either.left(faults.list)
    const startsAt = dueAt.size === 0 ? (stood?.startsAt ?? job.createdAt) : Time.min(...dueAt.values())
    return Either.right({ timing: { ...timing, startsAt, expiring }, dueAt })
  }
