/** The test kit: an engine, a platform, people, and a clock that only a test turns. */

import type { WebhookTransport } from "@sendwright/core"
import { Engine, Instant, verifyWebhook } from "@sendwright/core"
import { Timers } from "@sendwright/core/adapter"
import { StoreTime } from "@sendwright/core/storage"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Scope from "effect/Scope"
import type { SendwrightEvent } from "../api/Events.ts"
import type { Sendwright, Store } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import type * as Api from "../api/Testing.ts"
import * as Assembly from "./Assembly.ts"
import { isEvent, ofWire } from "./EventView.ts"
import { input, Time } from "./Input.ts"
import * as Running from "./Running.ts"
import * as Senders from "./Senders.ts"
import * as Sends from "./Sends.ts"
import * as Stores from "./Stores.ts"
import * as Subscriptions from "./Subscriptions.ts"
import { TestClock } from "./TestClock.ts"
import * as TestPeople from "./TestPeople.ts"
import { scripts, TestPlatform } from "./TestPlatform.ts"

const mondayMorning = new Date("2026-01-05T09:00:00Z")
const receiver = "https://receiver.example/webhooks"
const secretKey = Buffer.alloc(32, "of tests").toString("base64")

/** After a crash somebody has to look for the dead worker's work, until its lease has surely ended. */
const looksAfterCrash = [1000, 20_000, 40_000, 60_000, 90_000]

const spanForm = /^(\d+(?:\.\d+)?) ?(ms|s|min|second|minute|hour|day)s?$/
const units = {
  ms: "millis",
  s: "seconds",
  min: "minutes",
  second: "seconds",
  minute: "minutes",
  hour: "hours",
  day: "days"
} as const

const isUnit = (text: string | undefined): text is keyof typeof units => text !== undefined && text in units

/** Longer than anything waits, and short enough that a test sees its end. */
const longestDays = 400

export const milliseconds = (span: string): number => {
  const [, amount, unit] = spanForm.exec(span) ?? []
  if (!isUnit(unit))
    throw new SendwrightError(
      "invalid_options",
      `"${span}" is no span of time. Write "30 s", "5 min" or "2 days".`
    )
  const ms = Duration.toMillis(Duration.decode(`${Number(amount)} ${units[unit]}`))
  if (ms <= Duration.toMillis(Duration.days(longestDays))) return ms
  throw new SendwrightError("invalid_options", `"${span}" is too long: at most ${longestDays} days at once.`)
}

/**
 * Opens the store once, for the engine and for the one that takes over after a crash. A server's time would go its own way: what
 * is due by it would be due at no time of the test.
 */
const shared = (given: Store) => {
  const parts = Stores.partsOf(given)
  const scope = Effect.runSync(Scope.make())
  const layer = Stores.once(Layer.merge(parts.layer, Layer.succeed(StoreTime.StoreTime, null)), scope)
  const store = Stores.made({ ...parts, layer })
  return { store, close: () => Running.onMachine(Scope.close(scope, Exit.void)) }
}

/** The person whom an event is about. */
const personOf = ({ data }: SendwrightEvent) => ({
  phone: "phone" in data ? data.phone : "to" in data ? data.to : "from" in data ? data.from : null,
  userId: "userId" in data ? data.userId : null
})

/** The name under which a person's story is told. */
const nameOf = (event: SendwrightEvent): string | null => {
  const { phone, userId } = personOf(event)
  return phone ?? userId
}

const wordsOf = (event: SendwrightEvent): string => {
  const { data, type } = event
  if ("error" in data && data.error !== null)
    return `${type}: ${data.error.code} (${data.error.providerCode ?? "no code"}), ${data.error.message}`
  return "text" in data ? `${type}: ${data.text}` : type
}

interface Line {
  readonly at: number
  readonly name: string
  /** Null until its event comes. */
  words: string | null
}

/** Collects what a receiver gets, and what is told of people. */
class Journal {
  readonly webhooks: Array<SendwrightEvent> = []
  readonly lines: Array<Line> = []
  secret = ""
  readonly #clock: TestClock
  readonly #awaited = new Map<string, Line>()

  constructor(clock: TestClock) {
    this.#clock = clock
  }

  write(name: string, words: string | null): Line {
    const line = { at: this.#clock.now, name, words }
    this.lines.push(line)
    return line
  }

  /** Keeps the place of a consent: its event comes when the message that needs it may have gone already. */
  recorded(consentId: string, name: string): void {
    this.#awaited.set(consentId, this.write(name, null))
  }

  readonly transport: WebhookTransport.WebhookTransport["Type"] = {
    post: ({ body, headers, url }) =>
      Effect.sync(() => {
        if (url === receiver) this.#take(body, headers)
        return { _tag: "Answered", status: 200, retryAfter: null, excerpt: "" }
      })
  }

  #take(body: string, headers: Readonly<Record<string, string>>): void {
    const event = ofWire(verifyWebhook({ body, headers, secrets: this.secret, now: this.#clock.now }))
    if (!isEvent(event)) return
    this.webhooks.push(event)
    const name = nameOf(event)
    const line = "consentId" in event.data ? this.#awaited.get(event.data.consentId) : undefined
    if (line !== undefined) line.words = wordsOf(event)
    else if (name !== null) this.write(name, wordsOf(event))
  }

  story(name: string): string {
    const lines = this.lines.filter((line) => line.name === name && line.words !== null)
    return lines.length === 0
      ? `Nothing happened with ${name}.`
      : lines.map(({ at, words }) => `${new Date(at).toISOString()}  ${words}`).join("\n")
  }
}

/** Handlers and readers that are not done with an event yet, by what they listen to. A drain waits for them, but not forever. */
class Patience {
  readonly #calls = new Map<symbol, string>()
  readonly #ms: number

  constructor(ms: number) {
    this.#ms = ms
  }

  begin(name: string): () => void {
    const call = Symbol(name)
    this.#calls.set(call, name)
    return () => this.#calls.delete(call)
  }

  /**
   * Answers as the work does, unless one that is under way at one look is still under way at the next. It looks in real time,
   * since the test's stands still while it waits.
   */
  async during<A>(work: Promise<A>): Promise<A> {
    let seen: ReadonlySet<symbol> = new Set()
    let look: NodeJS.Timeout | undefined
    const late = new Promise<never>((_, reject) => {
      look = Timers.setInterval(() => {
        const still = [...this.#calls].find(([call]) => seen.has(call))
        if (still !== undefined) reject(this.#lateness(still[1]))
        seen = new Set(this.#calls.keys())
      }, this.#ms)
    })
    try {
      return await Promise.race([work, late])
    } finally {
      Timers.clearInterval(look)
    }
  }

  #lateness(name: string): SendwrightError {
    const message = `${name} is not done with an event after ${this.#ms} ms of real time, and nothing goes on before it is. Does it wait for something that never comes? \`createTestSendwright({ patienceMs })\` waits longer.`
    return new SendwrightError("handler_late", message)
  }

  /** Listens as the other does, and knows who is under way. */
  watching(sw: Sendwright): Pick<Sendwright, "events" | "on"> {
    const reading = async function* (this: Patience, events: AsyncIterable<SendwrightEvent>) {
      for await (const event of events) {
        const done = this.begin("A reader of events()")
        try {
          yield event
        } finally {
          done()
        }
      }
    }.bind(this)
    return {
      events: (options) => reading(sw.events(options)),
      on: (pattern, handler) => {
        if (typeof handler !== "function") return sw.on(pattern, handler)
        return sw.on(pattern, async (event) => {
          const done = this.begin(`A handler of "${pattern}"`)
          try {
            await handler(event)
          } finally {
            done()
          }
        })
      }
    }
  }
}

/** Drains by one engine until it crashes, and then by the next. */
class Drainer {
  #current: Assembly.Assembled
  #crashed: () => void = () => {}
  readonly #clock: TestClock
  readonly #patience: Patience
  readonly #takeOver: () => Promise<Assembly.Assembled>
  /** All that there were, the dead ones with them. */
  readonly engines: Array<Assembly.Assembled>
  #looks: ReadonlyArray<number> = []

  constructor(
    first: Assembly.Assembled,
    clock: TestClock,
    patience: Patience,
    takeOver: () => Promise<Assembly.Assembled>
  ) {
    this.#current = first
    this.engines = [first]
    this.#clock = clock
    this.#patience = patience
    this.#takeOver = takeOver
  }

  readonly crash = (): void => this.#crashed()

  /** The dead one is left as it is: nothing of it ever runs again, since its clock wakes nobody. */
  async drain(): Promise<void> {
    const died = new Promise<"died">((resolve) => {
      this.#crashed = () => resolve("died")
    })
    const ended = await this.#patience.during(
      Promise.race([this.#current.sw.drain().then(() => "done" as const), died])
    )
    if (ended === "done") return
    this.#current = await this.#takeOver()
    this.engines.push(this.#current)
    this.#looks = looksAfterCrash.map((ms) => this.#clock.now + ms)
    await this.drain()
  }

  async nextDue(): Promise<number | null> {
    const due = await this.#current.runWith(Effect.flatMap(Engine.Engine, ({ nextDue }) => nextDue))
    this.#looks = this.#looks.filter((at) => at > this.#clock.now)
    const times = [...this.#looks, ...(due === null ? [] : [due])]
    return times.length === 0 ? null : Math.min(...times)
  }
}

/** Shorter steps than this are none: what is due and stays due waits for another reason. */
const leastStepMs = 1

/** Time goes one way: who turns it while it passes already is refused, and so is whoever turned it first. */
class Passing {
  readonly #clock: TestClock
  readonly #drainer: Drainer
  readonly #journal: Journal
  #isUnderWay = false
  #second: SendwrightError | undefined

  constructor(clock: TestClock, drainer: Drainer, journal: Journal) {
    this.#clock = clock
    this.#drainer = drainer
    this.#journal = journal
  }

  readonly advance = async (by: Api.Span): Promise<ReadonlyArray<Api.Happened>> => {
    const until = Instant.after(this.#clock.now, milliseconds(by))
    if (this.#isUnderWay) {
      const message =
        "Time passes already: `await` each `advance` before the next one, and call none in a handler."
      this.#second = new SendwrightError("invalid_request", message)
      throw this.#second
    }
    this.#isUnderWay = true
    this.#second = undefined
    const from = this.#journal.webhooks.length
    try {
      await this.#to(until)
    } finally {
      this.#isUnderWay = false
    }
    return this.#journal.webhooks
      .slice(from)
      .map((event) => ({ at: event.createdAt, type: event.type, ...personOf(event), event }))
  }

  async #to(until: Instant.Instant): Promise<void> {
    await this.#drain()
    for (let next = await this.#nextUntil(until); next !== null; next = await this.#nextUntil(until)) {
      this.#clock.now = Instant.at(next)
      await this.#drain()
    }
    this.#clock.now = until
    await this.#drain()
  }

  async #drain(): Promise<void> {
    await this.#drainer.drain()
    if (this.#second !== undefined) throw this.#second
  }

  async #nextUntil(until: number): Promise<number | null> {
    const next = await this.#drainer.nextDue()
    const at = next === null ? until + 1 : Math.max(next, this.#clock.now + leastStepMs)
    return at > until ? null : at
  }
}

const templateOf = (name: string, text: string) => ({
  name,
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text }]
})

const digits = { description: 'the digits of an error code, such as "131049"' }
const errorCode = input(Schema.String.pipe(Schema.filter((text) => /^\d+$/.test(text), digits)), {
  name: "code"
})

/** The people whom a send of the kit names; the session looks at everything else of it. */
const addressees = (given: Api.TestMessage): ReadonlyArray<string> => {
  const { recipients } = Sends.send(given)
  const each: ReadonlyArray<unknown> = Array.isArray(recipients) ? recipients : []
  return each.flatMap((recipient) => {
    if (typeof recipient !== "object" || recipient === null) return []
    const { phone, userId } = { phone: undefined, userId: undefined, ...recipient }
    const name: unknown = phone ?? userId
    return typeof name === "string" ? [name] : []
  })
}
const isStore = (value: unknown): value is Store =>
  typeof value === "object" && value !== null && "name" in value
const TestStore = Schema.declare(isStore, { title: "`memory()`, `sqlite(…)` or `postgres(…)`" })
const optionsOf = input<Api.TestOptions>(
  Schema.Struct({
    now: Schema.optional(Time),
    store: Schema.optional(TestStore),
    patienceMs: Schema.optional(Schema.Number.pipe(Schema.positive()))
  }),
  { code: "invalid_options" }
)

const people =
  (
    platform: TestPlatform,
    journal: Journal,
    clock: TestClock,
    hear: (content: Parameters<TestPlatform["post"]>[0]) => Promise<void>
  ) =>
  (whose: string): Api.Person => {
    const name = TestPeople.name(whose)
    const { phone, userId } = TestPeople.named(name)
    let serial = 0
    return {
      phone,
      userId,
      get inbox() {
        return platform.inboxes.get(name) ?? []
      },
      get refused() {
        const words = journal.webhooks.filter(
          (event) =>
            event.type.startsWith("consent.") && Object.values(personOf(event)).some((each) => each === name)
        )
        return words.at(-1)?.type === "consent.revoked"
      },
      replies: async (words) => {
        const text = TestPeople.text(words)
        serial += 1
        platform.closed.delete(name)
        journal.write(name, `wrote: ${text}`)
        const id = `in-${name}-${clock.now}-${serial}`
        await hear({ messages: [{ id, from: phone, userId, text, type: "text", at: clock.now }] })
      },
      reads: async () => {
        const last = platform.inboxes.get(name)?.at(-1)
        if (last === undefined)
          throw new Error(`Nothing arrived that ${name} could read.\n${journal.story(name)}`)
        await hear({ reports: [platform.report(last, "read", clock.now)] })
      },
      blocks: () => {
        journal.write(name, "blocked the number")
        platform.blocked.add(name)
      },
      windowCloses: () => {
        journal.write(name, "wrote too long ago to be answered with a text")
        platform.closed.add(name)
      },
      changesNumber: async (next) => {
        const number = TestPeople.phone(next)
        journal.write(name, `has the number ${number} from now on`)
        const formerly = { phone, userId }
        await hear({ people: [{ phone: number, userId: null, formerly, at: clock.now }] })
      },
      story: () => journal.story(name)
    }
  }

const orders = (platform: TestPlatform): Api.Platform => {
  const facade: Api.Platform = {
    attempts: platform.attempts,
    next: (whose) => {
      const name = TestPeople.name(whose)
      const add = (script: Parameters<TestPlatform["script"]>[1]): Api.Platform => {
        platform.script(name, script)
        return facade
      }
      return {
        fails: (code) => add(scripts.fails(errorCode(code))),
        hangs: () => add(scripts.hangs()),
        answersLate: (after) => add(scripts.answersLate(milliseconds(after))),
        isBusy: (wait) => add(scripts.isBusy(milliseconds(wait))),
        crashesAfterSending: () => add(scripts.crashesAfterSending())
      }
    }
  }
  return facade
}

/** An account with a session, a template and a receiver of its events. */
const furnish = async (sw: Sendwright, journal: Journal) => {
  const plan = { minimumWaitMs: 0, requestsPerMinute: 1_000_000 }
  const account = await sw.admin.accounts.create({ name: "Test", currency: "EUR", plan })
  const { id } = await sw.admin.sessions.create({ accountId: account.id, name: "test", provider: "sandbox" })
  const template = async (name: string, text: string): Promise<void> => {
    const templates = [templateOf(name, TestPeople.text(text))]
    await sw.admin.templates.import({ sessionId: id, templates })
  }
  await template("hello", "Hello")
  const { secret } = await sw.admin.webhooks.create({ accountId: account.id, url: receiver, events: ["*"] })
  journal.secret = secret
  return { account, session: sw.session(id), template }
}

/** Sends with defaults, and asks whoever was never asked for consent. */
const sendingBy = (
  { account, session }: Awaited<ReturnType<typeof furnish>>,
  sw: Sendwright,
  journal: Journal,
  clock: TestClock
) => {
  const asked = new Set<string>()
  let serial = 0
  const consent = async (...names: ReadonlyArray<string>): Promise<void> => {
    // With its time it brings back whoever said STOP before; without one it would open nobody.
    const occurredAt = new Date(clock.now)
    const consents = names.map((name) => {
      const { phone, userId } = TestPeople.named(TestPeople.name(name))
      return { phone: phone ?? undefined, userId: userId ?? undefined, source: "test", occurredAt }
    })
    for (const name of names) asked.add(name)
    if (names.length === 0) return
    const { results } = await sw.admin.consents.record({ accountId: account.id, consents })
    for (const [place, name] of names.entries()) {
      const consentId = results[place]?.consentId
      if (consentId !== undefined) journal.recorded(consentId, name)
    }
  }
  const send = async (given: Api.TestMessage) => {
    const names = addressees(given)
    const { idempotencyKey, template = "hello", ...rest } = given
    await consent(...names.filter((name) => !asked.has(name)))
    serial += 1
    const key = idempotencyKey ?? `test-${serial}`
    const language = typeof template === "string" ? { language: "en" } : {}
    const message = { template, ...language, ...rest }
    try {
      const sent = await session.send({ ...message, idempotencyKey: key })
      for (const name of names) journal.write(name, `accepted: ${message.template} (job ${sent.jobId})`)
      return sent
    } catch (error) {
      const code = SendwrightError.is(error) ? error.code : "an error"
      for (const name of names) journal.write(name, `refused: ${message.template} (${code})`)
      throw error
    }
  }
  return { consent, send }
}

/** Longer than a handler takes, and shorter than a runner of tests waits. */
const patienceMs = 2000

export const createTestSendwright = async (options: Api.TestOptions = {}): Promise<Api.TestSendwright> => {
  const given = optionsOf(options)
  const clock = new TestClock(Instant.ofDate(given.now ?? mondayMorning))
  const journal = new Journal(clock)
  const patience = new Patience(given.patienceMs ?? patienceMs)
  let drainer: Drainer | undefined
  const platform = new TestPlatform(
    () => drainer?.crash(),
    (name, attempt) => journal.write(name, `attempt ${attempt}`)
  )
  const { close, store } = shared(options.store ?? Stores.memory())
  const sender = Senders.made("sandbox", Effect.succeed(platform.sender))
  const world = { clock, transport: journal.transport, handlers: Subscriptions.make({}) }
  const assembled = () => Assembly.assemble({ store, senders: [sender], secretKey, logLevel: "none" }, world)
  const first = await assembled()
  const { sw } = first
  const over = new Drainer(first, clock, patience, assembled)
  drainer = over
  const furnished = await furnish(sw, journal)
  const { account, session, template } = furnished
  const { consent, send } = sendingBy(furnished, sw, journal, clock)
  const hear = async (content: Parameters<TestPlatform["post"]>[0]): Promise<void> => {
    platform.post(content)
    const hook = { provider: "sandbox", sessionId: session.id, method: "POST", headers: {} } as const
    await sw.hook(hook)
    await over.drain()
  }
  const stop = async (): Promise<void> => {
    await Promise.all(over.engines.map((each) => each.sw.stop({ graceMs: 0 })))
    await close()
  }
  return {
    sw: { ...sw, ...patience.watching(sw), drain: () => over.drain() },
    account,
    session,
    platform: orders(platform),
    webhooks: journal.webhooks,
    now: () => new Date(clock.now),
    person: people(platform, journal, clock, hear),
    send,
    template,
    consent,
    advance: new Passing(clock, over, journal).advance,
    stop,
    [Symbol.asyncDispose]: stop
  }
}
