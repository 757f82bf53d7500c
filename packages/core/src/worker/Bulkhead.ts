/**
 * How much a process may claim and begin of each session, so that what one of them does never makes another's message
 * wait: every rule between the store's claim and the sender's call, in one place. It reads no clock and does nothing.
 *
 * - **A slot is left for others.** A session begins another attempt while it has no more under way than three times what is
 *   free: one alone comes to three quarters of the slots, two to three sevenths each, whether anybody is known to be slow
 *   or not. The only connected session has all.
 * - **Those in doubt count as one.** Sessions that have not answered in time yet, or were slow within the last minute, have
 *   no more together than one alone. Slow is an attempt that is under way for longer than a second. One that is new may try
 *   one attempt beyond that, while half of what the others leave is free: it waits for nobody who hangs.
 * - **Turns.** Sessions take turns, attempt by attempt. What waits in hand of one never waits behind another.
 * - **An amount in hand.** A session has twice as many in hand after it ran out of them, half as many after some waited too
 *   long. One in doubt, one whose outcomes a crash would lose, and a young process behind another's death claim what they
 *   can begin at once.
 * - **A suspect is alone** in its session, and nobody over whom a worker died goes beside it in the process: when that ends,
 *   it is to blame. A young process takes none, and survivors one at a time (`domain/job/Claiming.Care`).
 */
import type { Care } from "../domain/job/Claiming.ts"
import * as Claiming from "../domain/job/Claiming.ts"
import * as Transitions from "../domain/job/Transitions.ts"
import type { Moment } from "../runtime/Moment.ts"

/** The part of all slots that one session, and all that are in doubt, may have. */
export const share = 3 / 4
/** An attempt that takes longer is slow, in milliseconds. */
export const patienceMs = 1000
/** For so long a session gets nothing after its attempts could not be prepared, in milliseconds. */
const restMs = 1000
/** For so long a session that was slow answers in time until it is trusted again, in milliseconds. */
export const proofMs = 60_000
/**
 * The most that one claim brings, beside what begins at once. A commit costs both sides about 2 ms: 8 µs for each of 250
 * recipients, 2 µs for each of 1,000. More would wait in memory, and keep the event loop while it is read
 * (docs/adr/0026-one-dispatcher.md).
 */
export const largest = 1000
/** The most that a session has in hand, and a process beside what it can begin: one half is attempted while one is claimed. */
export const mostWaiting = 2 * largest

const ratio = share / (1 - share)

/** The most that somebody may have under way beside `others`: the largest n ≤ ratio × (slots − others − n), or one. */
export const threshold = (slots: number, others: number): number =>
  Math.max(1, Math.floor((ratio * (slots - others)) / (1 + ratio)))

/** An attempt under way. */
export interface Ticket {
  readonly sessionId: string
  readonly beganAt: Moment
  readonly crashCount: number
}

/** A claim that is under way. */
export interface Asking {
  readonly care: Care
  /** The number that the claim brought of each session, and for the last session the number that it may bring. */
  readonly granted: Map<string, number>
  /** The sum of these, of those who may have no more than begins at once. */
  carefully: number
  last: Session | null
  /** The most that it brings. */
  readonly limit: number
}

type Claimed = { readonly crashCount: number }

interface Session {
  readonly id: string
  /** In the order in which they began: the first is the oldest. */
  readonly underWay: Set<Ticket>
  /** Claimed and not begun. */
  waiting: number
  /** As many may it have in hand. */
  quantum: number
  /** As many might the last claim bring. */
  room: number
  /** True once a claim brought all that it might: there is probably more. */
  hasMore: boolean
  /** True when a crash leaves unknown what it has in hand. */
  isAtRisk: boolean
  /** True when it had no more in hand than begins at once, as it was asked for last. */
  isCareful: boolean
  /** True while a suspect of it is in hand or under way. */
  isAlone: boolean
  /** Since when each answer came in time; null before the first, and after a slow one. */
  inTimeSince: Moment | null
  wasSlow: boolean
  /** When its last attempt ended. */
  endedAt: Moment
  /** Until then it gets nothing. */
  restsUntil: Moment
}

export class Bulkhead {
  readonly slots: number
  readonly #oldAt: Moment
  /** So many slots new sessions leave for those that answered: none where there are few, as one has to be for them. */
  readonly #kept: number
  readonly #sessions = new Map<string, Session>()
  /** Sessions with something in hand, in the order of their turns. */
  readonly #turns = new Map<string, Session>()
  /** Sessions with an attempt under way: no more than there are slots. */
  readonly #active = new Set<Session>()
  readonly #asking = new Set<Asking>()
  #underWay = 0
  #waiting = 0
  /** In hand of those who may have no more than begins at once. */
  #carefully = 0
  /** In hand or under way of those over whom workers died. */
  #survivors = 0
  #suspects = 0
  #only: string | null = null
  /** Sessions of which a claim may bring more: one that was refused, or that was given all that it might have. */
  readonly #wanting = new Set<Session>()
  #isDry = false
  #isBehindDeath = true

  /** @param oldAt when the process is not young any more */
  constructor({ oldAt, slots }: { readonly slots: number; readonly oldAt: Moment }) {
    this.slots = slots
    this.#oldAt = oldAt
    this.#kept = Math.floor(((1 - share) / 2) * slots)
  }

  /** Tells the only session that is connected; null where there are several. */
  only(sessionId: string | null): void {
    this.#only = sessionId
  }

  isYoung(now: Moment): boolean {
    return now < this.#oldAt
  }

  /** Tells that a worker of the store died lately, or may have: until then it is taken to be so. */
  behindDeath(isBehindDeath: boolean): void {
    this.#isBehindDeath = isBehindDeath
  }

  /** True of a process that may be one of a crash loop. */
  #isWary(now: Moment): boolean {
    return this.#isBehindDeath && this.isYoung(now)
  }

  #of(id: string): Session {
    const known = this.#sessions.get(id)
    if (known !== undefined) return known
    const session: Session = {
      id,
      underWay: new Set(),
      waiting: 0,
      quantum: this.slots,
      room: 0,
      hasMore: false,
      isAtRisk: false,
      isCareful: true,
      isAlone: false,
      inTimeSince: null,
      wasSlow: false,
      endedAt: 0,
      restsUntil: 0
    }
    this.#sessions.set(id, session)
    return session
  }

  /** True of a session that may keep what it gets: new, slow, or slow within the last minute. */
  #isInDoubt(session: Session, now: Moment): boolean {
    const [oldest] = session.underWay
    if (oldest !== undefined && now - oldest.beganAt > patienceMs) {
      session.wasSlow = true
      session.inTimeSince = null
    }
    if (session.inTimeSince === null) return true
    if (session.wasSlow && now - session.inTimeSince >= proofMs) session.wasSlow = false
    return session.wasSlow
  }

  #inDoubt(now: Moment): number {
    let sum = 0
    for (const session of this.#active) if (this.#isInDoubt(session, now)) sum += session.underWay.size
    return sum
  }

  /** How many attempts more the session may begin. */
  #begins(session: Session, now: Moment): number {
    const free = this.slots - this.#underWay
    const own = session.underWay.size
    if (free <= 0 || (session.isAlone && own > 0)) return 0
    if (session.isAlone) return 1
    if (this.#only === session.id) return free
    const mine = Math.min(free, threshold(this.slots, this.#underWay - own) - own)
    if (mine <= 0 || !this.#isInDoubt(session, now)) return Math.max(0, mine)
    const doubtful = this.#inDoubt(now)
    const ours = threshold(this.slots, this.#underWay - doubtful) - doubtful
    if (ours > 0) return Math.min(mine, ours)
    const isNew = own === 0 && !session.wasSlow
    return isNew && free > this.#kept ? 1 : 0
  }

  /** Attempts that could begin now, whatever is in hand. */
  get free(): number {
    return this.slots - this.#underWay
  }

  /** Attempts that could begin now beside all that is in hand or being claimed. */
  get spare(): number {
    let spare = this.free - this.#waiting
    for (const { limit } of this.#asking) spare -= limit
    return Math.max(0, spare)
  }

  /** Recipients that a claim may bring. */
  limit(now: Moment): number {
    if (this.#isWary(now)) return this.spare
    let room = this.slots + mostWaiting - this.#underWay - this.#waiting
    for (const { limit } of this.#asking) room -= limit
    return Math.max(0, Math.min(room, Math.max(largest, this.slots)))
  }

  /** A claim begins; {@link over} ends it. */
  ask(limit: number, now: Moment): Asking {
    const youngForMs = Math.max(0, this.#oldAt - now)
    const isYoung = youngForMs > 0
    const isFirst = ![...this.#asking].some(
      ({ care }) => care.suspects > 0 || (isYoung && care.survivors > 0)
    )
    const isClear = this.#survivors + this.#suspects === 0
    // One may go where nothing is spare, as one of its session may: what others have in hand is not to hold it up.
    const mayGo = this.#suspects > 0 ? 0 : Math.max(Number(this.#survivors === 0), this.spare)
    const survivors = isYoung ? Number(isFirst && isClear) : mayGo
    const care: Care = {
      survivors,
      suspects: Number(!isYoung && isFirst && isClear),
      youngForMs,
      survivorsWait: !isYoung && survivors > 0,
      suspectsWait: !isYoung && isClear
    }
    const asking: Asking = { care, granted: new Map(), carefully: 0, last: null, limit }
    this.#asking.add(asking)
    this.#isDry = false
    return asking
  }

  /**
   * How many recipients the claim may bring of a session.
   *
   * @param atRisk true when a crash would leave them unknown
   * @param before how many it brought of the session that it was asked for before; null at the first
   */
  grant(asking: Asking, id: string, atRisk: boolean, before: number | null, now: Moment): number {
    if (this.#only !== id) this.#only = null
    const { granted, last } = asking
    if (before === null) {
      granted.clear()
      asking.carefully = 0
    } else if (last !== null) {
      if (last.isCareful) asking.carefully += before - (granted.get(last.id) ?? 0)
      granted.set(last.id, before)
    }
    const session = this.#of(id)
    session.isAtRisk = atRisk
    this.#judge(session, now)
    const room = this.#room(session, now)
    granted.set(id, room)
    session.room = room
    if (session.isCareful) asking.carefully += room
    asking.last = session
    if (room === 0) this.#wanting.add(session)
    else this.#wanting.delete(session)
    return room
  }

  #judge(session: Session, now: Moment): void {
    const isCareful = session.isAtRisk || this.#isWary(now) || this.#isInDoubt(session, now)
    if (isCareful !== session.isCareful) this.#carefully += isCareful ? session.waiting : -session.waiting
    session.isCareful = isCareful
  }

  #room(session: Session, now: Moment): number {
    if (session.isAlone || now < session.restsUntil) return 0
    this.#judge(session, now)
    const begins = this.#begins(session, now)
    const most = session.isCareful ? begins : Math.max(begins, session.quantum)
    let has = session.waiting
    let spare = this.free - this.#carefully
    for (const { carefully, granted } of this.#asking) {
      has += granted.get(session.id) ?? 0
      spare -= carefully
    }
    if (session.isCareful) return Math.max(0, Math.min(most - has, spare))
    // Half at a time: a claim for each slot that is free would be a commit for each message.
    return has > most / 2 ? 0 : most - has
  }

  /** True of a session that a claim may bring something of now. */
  admits(id: string, now: Moment): boolean {
    const session = this.#sessions.get(id)
    return session === undefined || this.#room(session, now) > 0
  }

  /** Attempts of the session cannot be prepared: it gets nothing for a while. */
  rest(id: string, now: Moment): void {
    this.#of(id).restsUntil = now + restMs
  }

  /** The claim has brought what it brings, or it is not known what. */
  over(asking: Asking): void {
    this.#asking.delete(asking)
  }

  /** The claim brought these of a session. */
  claimed(asking: Asking, id: string, recipients: ReadonlyArray<Claimed>): void {
    const session = this.#of(id)
    const count = recipients.length
    session.hasMore = count > 0 && !Claiming.goesOn(count, session.room)
    if (session.hasMore) this.#wanting.add(session)
    asking.granted.delete(id)
    this.#add(session, count)
    for (const recipient of recipients) this.#count(session, recipient, 1)
  }

  #add(session: Session, count: number): void {
    session.waiting += count
    this.#waiting += count
    if (session.isCareful) this.#carefully += count
    if (session.waiting === 0) this.#turns.delete(session.id)
    else if (!this.#turns.has(session.id)) this.#turns.set(session.id, session)
  }

  #count(session: Session, recipient: Claimed, by: 1 | -1): void {
    if (recipient.crashCount === 0) return
    if (Transitions.isSuspect(recipient)) {
      this.#suspects += by
      session.isAlone = by > 0
    } else this.#survivors += by
  }

  /** The session whose turn it is to begin an attempt; undefined when none may. */
  next(now: Moment): string | undefined {
    if (this.free > 0)
      for (const session of this.#turns.values()) if (this.#begins(session, now) > 0) return session.id
    return undefined
  }

  /** An attempt begins. Its session is behind all others from here on. */
  began(id: string, recipient: Claimed, now: Moment): Ticket {
    const session = this.#of(id)
    const ticket: Ticket = { sessionId: id, beganAt: now, crashCount: recipient.crashCount }
    session.underWay.add(ticket)
    this.#active.add(session)
    this.#underWay += 1
    this.#turns.delete(id)
    this.#add(session, -1)
    if (session.waiting === 0 && session.hasMore) {
      session.quantum = Math.min(mostWaiting, 2 * session.quantum)
      session.hasMore = false
      this.#isDry ||= !session.isCareful
    }
    return ticket
  }

  ended(ticket: Ticket, now: Moment): void {
    const session = this.#of(ticket.sessionId)
    if (now - ticket.beganAt > patienceMs) {
      session.wasSlow = true
      session.inTimeSince = null
    } else session.inTimeSince ??= now
    session.endedAt = now
    session.underWay.delete(ticket)
    if (session.underWay.size === 0) this.#active.delete(session)
    this.#underWay -= 1
    this.#count(session, ticket, -1)
  }

  /** Takes recipients that are given back and were not begun: they waited for too long, or their platform does not answer. */
  released(id: string, recipients: ReadonlyArray<Claimed>): void {
    const session = this.#of(id)
    this.#add(session, -recipients.length)
    for (const recipient of recipients) this.#count(session, recipient, -1)
    session.quantum = Math.max(1, Math.floor(session.quantum / 2))
  }

  /** Forgets sessions that were idle for a minute, as if they were new. To be called now and then. */
  forget(now: Moment): void {
    for (const [id, session] of this.#sessions)
      if (session.underWay.size === 0 && session.waiting === 0 && now - session.endedAt >= proofMs) {
        this.#sessions.delete(id)
        this.#wanting.delete(session)
      }
  }

  /** True when a session ran out of what it had in hand, of which there is more. */
  get isDry(): boolean {
    return this.#isDry
  }

  /** True when a claim may bring of somebody what the last could not. */
  mayBring(now: Moment): boolean {
    for (const session of this.#wanting) if (this.#room(session, now) > 0) return true
    return false
  }

  get underWay(): number {
    return this.#underWay
  }

  get waiting(): number {
    return this.#waiting
  }
}
