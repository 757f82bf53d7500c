/** The calls of one session. */
import type { Engine } from "@sendwright/core"
import { Errors, Requests } from "@sendwright/core"
import { Traces } from "@sendwright/core/adapter"
import type { Cursors, Endpoint, Operation, Route } from "@sendwright/core/contract"
import { Jobs, Messages, Search, Templates, Timelines, Sends as Wire } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import type { Retry, Transaction } from "../api/Messages.ts"
import type { Session } from "../api/Sendwright.ts"
import { SendwrightError } from "../api/SendwrightError.ts"
import * as Failures from "./Failures.ts"
import { input } from "./Input.ts"
import type { Call, Differing, Input } from "./Operations.ts"
import * as Operations from "./Operations.ts"
import type { Running } from "./Running.ts"
import * as Sends from "./Sends.ts"
import { noTransaction, type Parts } from "./Stores.ts"
import { transactionOf } from "./Transactions.ts"

type CoreEngine = Engine.Engine["Type"]

export interface Context {
  readonly engine: CoreEngine
  readonly running: Running
  readonly cursors: Cursors.Cursors
  /** Retries a job of any session. */
  readonly retryJob: Call<"retryJob">
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

type Given = ReturnType<typeof Sends.send>

/** Core's refusal, told by `to` as the caller gave it. */
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

const estimateShown = Operations.shown(Wire.estimate)

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
      const message = Sends.send(given)
      const tx = transactionOf(options)
      return run(traced(tx === undefined ? accept(await caller(), message) : acceptWithin(tx, message)))
    },
    sendSync: (given, options) => runSync(traced(acceptWithin(transactionFor(options), Sends.send(given)))),
    sendDirect: async (message, ...more: ReadonlyArray<unknown>) => {
      if (more.some((each) => each !== undefined))
        throw noTransaction("sendDirect sends at once, in no transaction: it takes the message alone.")
      const { idempotencyKey, otherwise, phone, replyTo, text, to, userId, ...rest } = Sends.direct(message)
      const names = { to: phone, user_id: userId, message: text, reply_to: replyTo }
      const template =
        otherwise === undefined
          ? undefined
          : given({ template_id: otherwise.templateId, variables: otherwise.variables })
      const request = new Requests.Unchecked(given({ ...rest, ...names, otherwise: template }))
      const sending = engine.sendDirect(await caller(), { idempotencyKey, request })
      const { createdAt, ...sent } = await run(traced(toldBy(to)(sending)))
      return { ...sent, createdAt: new Date(createdAt) }
    },
    estimate: async (given) => {
      const message = Sends.send(given)
      const who = await caller()
      const estimated = Effect.flatMap(bodyOf(who, message), (request) => engine.estimate(who, request)).pipe(
        toldBy(message.to)
      )
      return estimateShown(await run(estimated))
    }
  }
}

const versioned = [
  ...Jobs.versioned,
  ...Messages.direct,
  ...Search.versioned,
  ...Templates.versioned,
  ...Timelines.versioned
]

const operations: ReadonlyArray<Operation.KeyOperation<Endpoint.Any>> = versioned.flatMap((operation) =>
  "does" in operation ? [operation] : []
)

type Name = Extract<(typeof versioned)[number], { readonly does: unknown }>["endpoint"]["name"]

type Calls = { readonly [N in Name]: Call<N> }

/** The operations of API keys as functions, each asked for by the session's caller. */
const callsOf = ({ cursors, engine, running }: Context, caller: () => Promise<Engine.Caller>): Calls => {
  const found = Effect.promise(caller)
  const calls: Record<string, unknown> = {}
  for (const operation of operations) {
    const does: Route.Prepare<Operation.Done<unknown, unknown>> = (raw) =>
      Either.right(
        Effect.flatMap(found, (who) =>
          Either.match(operation.does(engine, who)(raw), {
            onLeft: (faults) => Effect.fail(new Errors.InvalidRequest({ faults })),
            onRight: (doing) => doing
          })
        )
      )
    calls[operation.endpoint.name] = Operations.functionOf(operation, does, running, cursors)
  }
  // What is assembled by names is of the types that follow from the same names: see `Checked`.
  return calls as Calls
}

const readingOf = (calls: Calls, { retryJob }: Context) => ({
  job: (jobId: string) => calls.job({ jobId }),
  jobs: (query?: Input<"jobs">) => calls.jobs(query),
  change: async (jobId: string, times: Omit<Input<"change">, "jobId">) =>
    calls.change(Operations.including(times, { jobId })),
  pause: (jobId: string) => calls.pause({ jobId }),
  resume: (jobId: string) => calls.resume({ jobId }),
  cancel: (jobId: string) => calls.cancel({ jobId }),
  retry: async (jobId: string, which?: Retry) => {
    // A job of another session is none of this one's.
    await calls.job({ jobId })
    return retryJob(Operations.including(which, { id: jobId }))
  },
  search: (q: string) => calls.search({ q }),
  window: (person: string) => calls.window({ person }),
  message: (messageId: string) => calls.message({ messageId }),
  timeline: (messageId: string) => calls.timeline({ messageId }),
  templates: (query?: Input<"templates">) => calls.templates(query)
})

type Reading = ReturnType<typeof readingOf>

type Nothing<T extends never> = T

/** What a session reads is written out as it follows: where this does not compile it names what differs. */
export type Checked = Nothing<Differing<Pick<Session, keyof Reading>, Reading>>

const sessionIdOf = input(Schema.String, { name: "sessionId" })

export const make =
  (context: Context) =>
  (id: string): Session => {
    const sessionId = sessionIdOf(id)
    const caller = callerOf(context, sessionId)
    return {
      id: sessionId,
      ...sendingOf(context, sessionId, caller),
      ...readingOf(callsOf(context, caller), context)
    }
  }
