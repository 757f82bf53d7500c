/** What the test kit gives. */

import type { Account } from "./Admin.ts"
import type { EventType, SendwrightEvent } from "./Events.ts"
import type { Message, Sent } from "./Messages.ts"
import type { Sendwright, Session, Store } from "./Sendwright.ts"

/** Such as `30 s`, `5 min`, `2 hours`, `10 days`. */
export type Span =
  `${number} ${"ms" | "s" | "min" | "hour" | "hours" | "day" | "days" | "minute" | "minutes" | "second" | "seconds"}`

/** Something that happened while time passed. */
export interface Happened {
  readonly at: Date
  readonly type: EventType
  /** The person whom it is about; null where it is about nobody, or they are not known by it. */
  readonly phone: string | null
  readonly userId: string | null
  readonly event: SendwrightEvent
}

/** A message that a person got. */
export interface Received {
  readonly at: Date
  readonly messageId: string
  /** The template's name; null for a text. */
  readonly template: string | null
  readonly text: string
}

/** Somebody with a phone, or whom only the platform's user id names. */
export interface Person {
  readonly phone: string | null
  readonly userId: string | null
  /** What arrived, in its order. */
  readonly inbox: ReadonlyArray<Received>
  /** Writes a text to the session, `STOP` among them. */
  readonly replies: (text: string) => Promise<void>
  /** Reads what arrived last. */
  readonly reads: () => Promise<void>
  /** From now on nothing arrives; the platform takes it and says no more than that it was sent. */
  readonly blocks: () => void
  /** Their window is closed until they write: the platform refuses texts (131047), and takes templates. */
  readonly windowCloses: () => void
  /** Has another number from now on, which the platform tells. */
  readonly changesNumber: (phone: string) => Promise<void>
  /** Whether the person's last word was a refusal. */
  readonly refused: boolean
  /** Everything that happened with the person, line by line. */
  readonly story: () => string
}

/** What the platform does with the next message to a phone or user id, one call for each message; after them it delivers. */
export interface NextMessage {
  /** Refuses with one of WhatsApp's error codes: `131049`. */
  readonly fails: (code: string) => Platform
  /** Never answers, and has not got it. */
  readonly hangs: () => Platform
  /** Takes it and gives no answer in time; receipts come after so long. */
  readonly answersLate: (after: Span) => Platform
  /** Wants it later: after so long. */
  readonly isBusy: (wait: Span) => Platform
  /** Takes it, and the process dies before it can write that down. Another one takes over. */
  readonly crashesAfterSending: () => Platform
}

export interface Platform {
  readonly next: (name: string) => NextMessage
  /** Each attempt that reached it. */
  readonly attempts: ReadonlyArray<{
    readonly at: Date
    readonly phone: string | null
    readonly userId: string | null
    readonly messageId: string
    readonly attempt: number
  }>
}

/** A send with defaults: the template `hello`, a fresh key, and consent of whoever was never asked. */
export interface TestMessage extends Omit<Message, "template"> {
  readonly template?: Message["template"] | undefined
  readonly idempotencyKey?: string | undefined
}

export interface TestOptions {
  /** When the test begins: a Monday morning in January 2026 unless said otherwise. */
  readonly now?: Date | undefined
  /** `memory()` unless said otherwise; `sqlite({ database, migrate: true })` or `postgres({ pool })` for transactions of yours. */
  readonly store?: Store | undefined
  /** How long, in real time, a handler may take before whatever waits for it fails: 2000 unless said otherwise. */
  readonly patienceMs?: number | undefined
}

/** Sendwright with time to turn, people who answer, and a platform that does as it is told. */
export interface TestSendwright {
  readonly sw: Sendwright
  readonly account: Account
  readonly session: Session
  readonly platform: Platform
  /** What a receiver of webhooks got, each verified by its signature. */
  readonly webhooks: ReadonlyArray<SendwrightEvent>
  readonly now: () => Date
  /** By a phone, or by a user id such as `US.1349`. */
  readonly person: (name: string) => Person
  readonly send: (message: TestMessage) => Promise<Sent>
  /** Makes a template of a text; `{{1}}` in it is `body.1` of a send. */
  readonly template: (name: string, text: string) => Promise<void>
  /** Records consent anew, after a STOP too. */
  readonly consent: (...names: ReadonlyArray<string>) => Promise<void>
  /**
   * Lets time pass, from one due time to the next, and does what is due at each. Tells what happened. At most 400 days at
   * once; refused while another one is under way, in a handler too.
   */
  readonly advance: (by: Span) => Promise<ReadonlyArray<Happened>>
  readonly stop: () => Promise<void>
  /** The same, for `await using t = await createTestSendwright()`. */
  readonly [Symbol.asyncDispose]: () => Promise<void>
}

/** What a matcher answers to vitest and jest. */
export interface Matched {
  readonly pass: boolean
  readonly message: () => string
}

/** What somebody has to have got. */
export interface Expected {
  readonly template?: string | undefined
  readonly text?: string | RegExp | undefined
  /** How often; at least once unless said. */
  readonly times?: number | undefined
}

/** For `expect.extend(matchers)`. */
export type Matchers = {
  /** `expect(t.person(phone)).toHaveBeenDelivered({ template: "hello" })` */
  readonly toHaveBeenDelivered: (person: Person, expected?: Expected) => Matched
  /** `expect(t.person(phone)).toHaveRefused()`: the person's last word was a refusal. */
  readonly toHaveRefused: (person: Person) => Matched
  /** `expect(t).toHaveSent(2, phone)`: so many attempts reached the platform. */
  readonly toHaveSent: (t: TestSendwright, times: number, phone?: string) => Matched
}

/** The same for `node:test` and anything else: they throw, with the message's story. */
export type Assertions = {
  readonly [Name in keyof Matchers]: (...given: Parameters<Matchers[Name]>) => void
}

/** What `expect(subject)` has, once the matchers are there: of a person, or of the whole. */
export interface Checks<Subject> {
  readonly toHaveBeenDelivered: Subject extends Person ? (expected?: Expected) => void : never
  readonly toHaveRefused: Subject extends Person ? () => void : never
  readonly toHaveSent: Subject extends TestSendwright ? (times: number, phone?: string) => void : never
}
