/** What one session can do. */
import type { Engine } from "@sendwright/core"
import { Instant, Requests } from "@sendwright/core"
import { Traces } from "@sendwright/core/adapter"
import * as Effect from "effect/Effect"
import type { JobQuery, Transaction } from "../api/Messages.ts"
import type { Session } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import * as Failures from "./Failures.ts"
import * as Inputs from "./Inputs.ts"
import * as Operators from "./Operators.ts"
import type { Running } from "./Running.ts"
import { noTransaction, type Parts } from "./Stores.ts"
import { transactionOf } from "./Transactions.ts"
import * as Views from "./Views.ts"

type CoreEngine = Engine.Engine["Type"]

export interface Context {
  readonly engine: CoreEngine
  readonly running: Running
  readonly store: Parts
  /** Makes sure that the events of an account are kept for the handlers of this process. */
  readonly listenTo: (accountId: string) => Promise<void>
  /** Begins that, where a transaction of the app's is not to wait for it: it would have to end first. */
  readonly beginListening: (accountId: string) => void
  /** As of the options. */
  readonly traceparent: (() => string | undefined) | undefined
}

const notFound = (template: string, language: string | undefined): SendwrightError => {
  const where = language === undefined ? "" : ` in "${language}"`
  const message = `There is no approved template "${template}"${where}. Import or sync it, or look at \`templates()\`.`
  return new SendwrightError("invalid_request", message, {
    issues: [{ path: "/template", code: "template_not_found", message }]
  })
}

const ambiguous = (template: string, languages: ReadonlyArray<string>): SendwrightError => {
  const message = `The template "${template}" is there in ${languages.join(", ")}: say which by \`language\`.`
  return new SendwrightError("invalid_request", message, {
    issues: [{ path: "/language", code: "required", message }]
  })
}

const queryOf = ({ createdAfter, createdBefore, reference, status }: JobQuery) => ({
  status,
  reference,
  createdAfter: createdAfter && Instant.ofDate(createdAfter),
  createdBefore: createdBefore && Instant.ofDate(createdBefore)
})

/** Languages that are named where one has to be chosen. */
const languagesNamed = { limit: 20, after: null }

/** The session's caller, as a promise that is kept for as long as the process lives: an operation looks at it anew by itself. */
const callerOf = ({ engine, listenTo, running: { run } }: Context, sessionId: string) => {
  let known: Promise<Engine.Caller> | undefined
  return async (): Promise<Engine.Caller> => {
    known ??= run(engine.callerOf(sessionId)).catch((error: unknown) => {
      known = undefined
      throw error
    })
    const found = await known
    await listenTo(found.session.accountId)
    return found
  }
}

/** Finds a template's number. It never changes, so one that was found is kept; without a language another one may come. */
const numbersOf = (engine: CoreEngine) => {
  const numbers = new Map<string, number>()
  return (who: Engine.Caller, template: string, language: string | undefined) =>
    Effect.gen(function* () {
      const at = JSON.stringify([template, language])
      const number = language === undefined ? undefined : numbers.get(at)
      if (number !== undefined) return number
      const { items } = yield* engine.templates(who, { name: template, language, page: languagesNamed })
      const [one, other] = items
      if (one === undefined) return yield* Effect.fail(notFound(template, language))
      if (other !== undefined) {
        const languages = items.map((each) => each.language)
        return yield* Effect.fail(ambiguous(template, languages))
      }
      numbers.set(at, one.templateId)
      return one.templateId
    })
}

type Given = ReturnType<typeof Inputs.send>

/** What core refuses, told by `to` as it was given. */
const toldBy =
  (to: unknown) =>
  <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, unknown> =>
    Effect.mapError(effect, Failures.inTo(to))

/** Core checks the body whole, so that every fault is told at once. */
const bodiesOf = (engine: CoreEngine) => {
  const numberOf = numbersOf(engine)
  return (who: Engine.Caller, message: Given) => {
    const { idempotencyKey: _, language, template, to: __, ...rest } = message
    const of = (templateId: unknown) => new Requests.Unchecked(Requests.templateBody({ ...rest, templateId }))
    return typeof template === "string"
      ? Effect.map(numberOf(who, template, language), of)
      : Effect.succeed(of(template))
  }
}

/** @see transactionOf */
const transactionFor = (options: unknown): Transaction => {
  const tx = transactionOf(options)
  if (tx !== undefined) return tx
  throw noTransaction(
    "sendSync takes a transaction: give `{ tx: fromBetterSqlite3(database) }`, or use `send`."
  )
}

/** An undefined member is none. */
const given = (body: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
  Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined))

type Sending = Pick<Session, "estimate" | "send" | "sendDirect" | "sendSync">

const sendingOf = (
  { beginListening, engine, running: { run, runSync }, store, traceparent }: Context,
  sessionId: string,
  caller: () => Promise<Engine.Caller>
): Sending => {
  const bodyOf = bodiesOf(engine)
  const accept = (who: Engine.Caller, message: Given) =>
    Effect.flatMap(bodyOf(who, message), (request) =>
      engine.send(who, { idempotencyKey: message.idempotencyKey, request })
    ).pipe(toldBy(message.to))
  const traced = <A, E>(sending: Effect.Effect<A, E>) => Traces.below(sending, traceparent?.())
  /** All that is looked up is looked up in the app's transaction, which may have made it. */
  const acceptWithin = (tx: Transaction, message: Given) =>
    store.within(tx)(
      Effect.flatMap(engine.callerOf(sessionId), (who) => {
        beginListening(who.session.accountId)
        return accept(who, message)
      })
    )
  return {
    send: async (given, options) => {
      const message = Inputs.send(given)
      const tx = transactionOf(options)
      return run(traced(tx === undefined ? accept(await caller(), message) : acceptWithin(tx, message)))
    },
    sendSync: (given, options) => runSync(traced(acceptWithin(transactionFor(options), Inputs.send(given)))),
    sendDirect: async (message, ...more: ReadonlyArray<unknown>) => {
      if (more.some((each) => each !== undefined))
        throw noTransaction("sendDirect sends at once, in no transaction: it takes the message alone.")
      const { idempotencyKey, otherwise, phone, replyTo, text, to, userId, ...rest } = Inputs.direct(message)
      const names = { to: phone, user_id: userId, message: text, reply_to: replyTo }
      const template =
        otherwise === undefined
          ? undefined
          : given({ template_id: otherwise.templateId, variables: otherwise.variables })
      const request = new Requests.Unchecked(given({ ...rest, ...names, otherwise: template }))
      const sending = engine.sendDirect(await caller(), { idempotencyKey, request })
      const { createdAt, ...sent } = await run(traced(toldBy(to)(sending)))
      return { ...sent, createdAt: Views.date(createdAt) }
    },
    estimate: async (given) => {
      const message = Inputs.send(given)
      const who = await caller()
      const estimated = Effect.flatMap(bodyOf(who, message), (request) => engine.estimate(who, request)).pipe(
        toldBy(message.to)
      )
      return Views.estimate(await run(estimated))
    }
  }
}

async function* mapped<A, B>(items: AsyncIterable<A>, view: (item: A) => B): AsyncGenerator<B, void> {
  for await (const item of items) yield view(item)
}

export const make =
  (context: Context) =>
  (id: string): Session => {
    const sessionId = Inputs.sessionId(id)
    const { engine, running } = context
    const { pages, run } = running
    const caller = callerOf(context, sessionId)
    return {
      id: sessionId,
      ...sendingOf(context, sessionId, caller),
      job: async (id) => {
        const found = await run(engine.job(await caller(), id, { page: Operators.wholeJob }))
        const results = found.results.items.map((each) => Views.result(id, each))
        return Views.jobDetail(found, results)
      },
      jobs: async function* (query = {}) {
        const of = queryOf(Inputs.jobs(query))
        const who = await caller()
        yield* mapped(
          pages((page) => engine.jobs(who, { ...of, page })),
          Views.job
        )
      },
      change: async (jobId, times) =>
        Views.job(await run(engine.change(await caller(), jobId, Inputs.otherTimes(times)))),
      pause: async (jobId) => Views.job(await run(engine.pause(await caller(), jobId))),
      resume: async (jobId) => Views.job(await run(engine.resume(await caller(), jobId))),
      cancel: async (jobId) => Views.job(await run(engine.cancel(await caller(), jobId))),
      retry: async (jobId, which = {}) => {
        const selection = Inputs.retry(which)
        // A job of another session is none of this one's.
        const own = engine.job(await caller(), jobId, { page: { limit: 1, after: null } })
        const { counts, dryRun, job } = await run(
          Effect.zipRight(own, engine.admin.jobs.retry(jobId, selection))
        )
        return { counts, dryRun, job: Views.job(job) }
      },
      search: async function* (given) {
        const text = Inputs.sought(given)
        const who = await caller()
        yield* mapped(
          pages((page) => engine.search(who, { text, page })),
          Views.found
        )
      },
      window: async (given) => Views.window(await run(engine.window(await caller(), Inputs.name(given)))),
      message: async (id) => Views.message(await run(engine.message(await caller(), id))),
      timeline: async (messageId) => Views.timeline(await run(engine.timeline(await caller(), messageId))),
      templates: async function* (query = {}) {
        const of = Inputs.templateQuery(query)
        const who = await caller()
        yield* mapped(
          pages((page) => engine.templates(who, { ...of, page })),
          Views.template
        )
      }
    }
  }
