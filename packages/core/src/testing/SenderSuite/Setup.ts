/** What the parts of the suite share. */
import { expect, it, type TestContext } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Scope from "effect/Scope"
import * as TestEnvironment from "effect/TestContext"
import * as TestServices from "effect/TestServices"
import * as Ids from "../../domain/Ids.ts"
import type { Failure } from "../../domain/job/Recipient.ts"
import * as FailureCatalogue from "../../domain/session/FailureCatalogue.ts"
import * as Either from "../../effect/Either.ts"
import type { OutboundMessage, SendResult } from "../../sender/Sender.ts"
import * as Fixtures from "../Fixtures.ts"
import type { ReceivedMessage, Subject } from "./Platform.ts"
import { Absent } from "./Platform.ts"

export type Make = Effect.Effect<Subject, never, Scope.Scope>

type Config = Readonly<Record<string, unknown>>

export const { now } = Fixtures

/** The texts of a value, however deep. */
const texts = (value: unknown): ReadonlyArray<string> =>
  typeof value === "string"
    ? [value]
    : typeof value === "object" && value !== null
      ? Object.values(value).flatMap(texts)
      : []

const altered = (value: unknown): unknown =>
  typeof value === "string"
    ? `${value}-of-another`
    : typeof value === "object" && value !== null
      ? Object.fromEntries(Object.entries(value).map(([name, each]) => [name, altered(each)]))
      : value

/** Of real time: only what never ends takes so long. */
const patience = "5 seconds"

/** For a sender whose time-outs are of real time. */
const testTimeoutMs = 30_000

const open = (context: TestContext, { platform, sender }: Subject) => {
  const ids = Fixtures.makeIds()
  const secrets = platform.secrets.flatMap((field) => texts(platform.config[field]))

  /** As the engine keeps it: configured, sealed as JSON and read again. */
  const kept = (given: Config): Config =>
    JSON.parse(
      JSON.stringify(
        Either.getOrThrowWith(
          sender.configure?.(given) ?? Either.right(given),
          (faults) => new Error(`The platform's configuration is refused: ${JSON.stringify(faults)}`)
        )
      )
    )
  const config = kept(platform.config)
  const sessionId = ids.uuid(now)
  let messages = 0

  const skip = (reason: string): never => context.skip(reason)

  const discreet = (said: unknown): void => {
    for (const secret of secrets) expect(JSON.stringify(said), "a secret is told").not.toContain(secret)
  }

  /** A failure is for people and for the engine: words, a code, and no secret. */
  const told = (failure: Failure): void => {
    expect(failure.code).toMatch(/^[a-z][a-z0-9_]*$/)
    expect(failure.message, "a sentence for people").toMatch(/\S \S/)
    expect(failure.message).not.toMatch(/\[object |undefined/)
    expect(failure.message.length).toBeLessThanOrEqual(1024)
    expect(failure.provider_code === null || failure.provider_code.length > 0).toBe(true)
    const known = FailureCatalogue.find(failure.code)
    if (known !== undefined) expect(failure.permanent, `${failure.code} is`).toBe(known.permanent)
    discreet(failure)
  }

  const judged = (result: SendResult): SendResult => {
    if (result._tag === "Accepted") {
      expect(["accepted", "sent"]).toContain(result.status)
      return result
    }
    told(result.failure)
    expect(result.failure.permanent, `a permanent failure is Rejected, this is ${result._tag}`).toBe(
      result._tag === "Rejected"
    )
    if (result._tag === "Transient" && result.retryAfterMs !== null) {
      expect(result.retryAfterMs).toBeGreaterThanOrEqual(0)
    }
    return result
  }

  const taken = (message: OutboundMessage): ReadonlyArray<ReceivedMessage> =>
    platform.received instanceof Absent
      ? skip(platform.received.reason)
      : platform
          .received()
          .filter(({ messageId, to }) =>
            messageId === null ? to === message.to : messageId === message.messageId
          )

  /** What is said of a message is so on the platform, as far as it shows that. */
  const confirmed = (message: OutboundMessage, result: SendResult): SendResult => {
    if (platform.received instanceof Absent || result._tag === "Ambiguous") return result
    const has = result._tag === "Accepted" || result._tag === "Held"
    const found = taken(message)
    expect(found, `the platform has what is ${result._tag}`).toHaveLength(has ? 1 : 0)
    if (has && result.providerId !== null) expect(result.providerId).toBe(found[0]?.providerId)
    return result
  }

  const send = (message: OutboundMessage): Effect.Effect<SendResult> =>
    Effect.map(
      Effect.suspend(() => sender.send(message)),
      (result) => confirmed(message, judged(result))
    )

  return {
    sender,
    platform,
    config,
    kept,
    /** Of a session that the platform does not know. */
    foreign: (): Config =>
      secrets.length === 0
        ? skip("The configuration has no secret.")
        : kept({
            ...platform.config,
            ...Object.fromEntries(platform.secrets.map((field) => [field, altered(platform.config[field])]))
          }),
    discreet,
    told,
    judged,
    /** Makes an attempt, and sees to what can be seen of its result. */
    send,
    taken,
    message: (some: Partial<OutboundMessage> = {}): OutboundMessage => {
      messages += 1
      return {
        messageId: Ids.messageId(ids.jobId(now), messages),
        sessionId,
        to: `3460012${String(messages).padStart(4, "0")}`,
        userId: null,
        content: { kind: "direct", text: `Hello Zoë 🎉 ${messages}.`, linkPreview: false },
        values: [],
        attempt: 1,
        config,
        ...some
      }
    },
    skip,
    /** What the platform has; else the test is skipped for the platform's reason. */
    given: <A>(what: A | Absent): A => (what instanceof Absent ? skip(what.reason) : what),
    /** What the sender has; else the test is skipped. */
    able: <A>(name: string, what: A | undefined): A => what ?? skip(`The sender has no \`${name}\`.`),
    /** What the platform must have for what the sender has. */
    beside: <A>(name: string, what: A | null): A =>
      what ?? expect.fail(`The suite needs \`platform.${name}\`.`)
  }
}

export type Opened = ReturnType<typeof open>

/** A test with a sender and a platform of its own, under the test's clock. */
export const test = (
  make: Make,
  sentence: string,
  body: (opened: Opened) => Effect.Effect<void, unknown, Scope.Scope>
): void =>
  it(
    sentence,
    async (context) => {
      const run = Effect.flatMap(make, (subject) => Effect.suspend(() => body(open(context, subject))))
      const tested = Effect.provide(Effect.scoped(run), TestEnvironment.TestContext)
      const exit = await Effect.runPromiseExit(tested, { signal: context.signal })
      // As it was thrown: by its class the runner knows a skip, and its reason.
      if (Exit.isFailure(exit)) throw Cause.squash(exit.cause)
    },
    testTimeoutMs
  )

/** Ends within seconds of real time, or the test fails with these words. */
export const soon = <A>(effect: Effect.Effect<A>, otherwise: string): Effect.Effect<A, Error> =>
  TestServices.provideLive(
    Effect.timeoutFail(Effect.disconnect(effect), {
      duration: patience,
      onTimeout: () => new Error(otherwise)
    })
  )
