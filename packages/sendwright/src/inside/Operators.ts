/** The operator's side: the operations of the admin API, and what is otherwise here than by their rule. */
import type { Admin as Core, Engine, Fault, RestoreDecision } from "@sendwright/core"
import { Erasure, Instant, RetryPlan } from "@sendwright/core"
import { AdminApi, Consents, Cursors, People } from "@sendwright/core/contract"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import type * as Admin from "../api/Admin.ts"
import type { InTransaction, Retry } from "../api/Messages.ts"
import type { PlatformTemplate } from "../api/Templates.ts"
import * as Failures from "./Failures.ts"
import * as Inputs from "./Inputs.ts"
import type { Answer, Asked, FoundValue, Name, Named, Value } from "./Operations.ts"
import * as Operations from "./Operations.ts"
import type { Running } from "./Running.ts"
import type { Parts } from "./Stores.ts"
import * as Summaries from "./Summaries.ts"
import { transactionOf } from "./Transactions.ts"
import * as Views from "./Views.ts"

// Answers that have another form here -------------------------------------------------------------------------------

/** The faults of one item of a list, from the item on. */
const ofItem = (faults: ReadonlyArray<Fault.Fault>, list: "consents" | "templates") =>
  faults.map((fault) => {
    const { path, ...issue } = Failures.issueOf(fault)
    return { ...issue, path: fault.path[0] === list ? path.replace(/^\/\w+\/\d+/, "") : path }
  })

const withId = <Id, Rest extends object>(id: Id, rest: Rest) => ({ ...rest, id })

const importedOf = ({ results, templates }: Core.Imported) => ({
  templates: templates.map(Views.template),
  refused: results.flatMap((result) =>
    result._tag === "Refused"
      ? [{ name: result.name, language: result.language, issues: ofItem(result.faults, "templates") }]
      : []
  )
})

const consentShown = Operations.shown(Consents.consentRecord)
const consentOf = ({ consentId, ...rest }: ReturnType<typeof consentShown>) => withId(consentId, rest)

const recordedOf = (result: Core.ConsentResult): Admin.ConsentOutcome =>
  result._tag === "Recorded"
    ? { recorded: true, record: consentOf(consentShown(result.record)) }
    : {
        recorded: false,
        keptRefused: result._tag === "KeptRefused",
        ...result.person,
        issues: ofItem(result.faults, "consents")
      }

const stateOf = <A extends Pick<Value<"consents">, "current" | "history">>({
  current,
  history,
  ...rest
}: A) => {
  const of = (purpose: (typeof current)[number]["purpose"]) =>
    current.find((each) => each.purpose === purpose)?.status ?? "missing"
  return {
    ...rest,
    current: {
      marketing: of("marketing"),
      utility: of("utility"),
      authentication: of("authentication"),
      direct: of("direct")
    },
    history: history.map(consentOf)
  }
}

const refusalOf = ({ from, ...rest }: Value<"perhapsRefusals">) => ({ ...rest, phone: from })

const erasureShown = Operations.shown(People.erasure)
const erasureOf = ({ state, ...rest }: ReturnType<typeof erasureShown>) => ({
  ...rest,
  isDone: state === "done"
})

const deliveryOf = <D extends Value<"deliveries">>({ attempts, nextAttemptAt, ...rest }: D) => ({
  ...rest,
  nextAt: nextAttemptAt,
  attempts: attempts.map(({ response, ...attempt }) => ({ ...attempt, excerpt: response }))
})

const cardOf = ({ prices, ...rest }: Value<"rateCards">): Admin.RateCard => ({
  ...rest,
  prices: prices.map((price) => ({ prefixes: null, ...price }))
})

const operatorOf = ({ maskPhones, ...rest }: Value<"operators">) => ({ ...rest, masksPhones: maskPhones })

const messageOf = ({ to, ...rest }: Value<"messages">) => ({ ...rest, phone: to })

const restoredOf = ({
  counts,
  dryRun,
  isQuarantined,
  quarantine
}: RestoreDecision.Answer): Admin.Restored => {
  const { jobs, unknown, canceled, sent } = counts
  return {
    isHeld: isQuarantined,
    dryRun,
    hold: quarantine === null ? null : { reason: quarantine.reason, since: Views.date(quarantine.since) },
    counts: { jobs, unknown, canceled, sent }
  }
}

// Where the rule does not do ----------------------------------------------------------------------------------------

/**
 * By rule an operation is where its command says (`accounts create` is `accounts.create`, and what shows is `find`), takes its
 * parameters by their names, and answers the only member of its answer, or all of them.
 */
interface Exception<N extends Name> {
  /** Another place; null where it is a part of a function below. */
  readonly at?: `${string} ${string}` | null
  /** Parameters that have another name here. */
  readonly named?: Readonly<Record<string, keyof Asked<N>>>
  /** What is answered here instead, or of a list each item. */
  readonly view?: (shown: Value<N>, found: FoundValue<N>) => unknown
}

const ofAccount = { accountId: "id" } as const
const ofSession = { sessionId: "id" } as const

const exceptions = {
  usage: { at: null },
  createSession: { at: null, named: ofAccount },
  changeSession: { at: null },
  sessions: { named: ofAccount },
  unreadHooks: { at: "sessions unreadHooks" },
  issueKey: { named: ofSession, view: ({ key, secretKey }) => ({ ...key, secretKey }) },
  keys: { named: ofSession },
  rotateKey: { view: ({ key, secretKey }) => ({ ...key, secretKey }) },
  allTemplates: { named: ofSession, view: (_, found) => Views.template(found) },
  templatesOfAll: {
    view: ({ sessionId }, found) => ({ ...Views.template(found), sessionId })
  },
  previewTemplate: { at: null, view: ({ templateId, ...rest }) => withId(templateId, rest) },
  importTemplates: { at: null, named: ofSession, view: (_, found) => importedOf(found) },
  syncTemplates: { named: ofSession, view: (_, found) => importedOf(found) },
  recordConsents: { at: null },
  moveConsents: { named: ofAccount, view: ({ consents }) => consents.map(consentOf) },
  consents: { named: ofAccount, view: (shown) => stateOf(shown) },
  unattributed: { named: ofAccount },
  perhapsRefusals: { at: "consents perhapsRefusals", named: ofAccount, view: (shown) => refusalOf(shown) },
  recordRefusal: { at: "consents recordRefusal", view: (shown) => refusalOf(shown) },
  dismissRefusal: { at: "consents dismissRefusal", view: (shown) => refusalOf(shown) },
  erasePerson: {
    view: ({ accounts, counts, phones, userIds }, { erasure, remains }) => ({
      erasure: erasure === null ? null : erasureOf(erasureShown(erasure)),
      accounts,
      counts,
      phones,
      userIds,
      remains
    })
  },
  exportPerson: { at: null },
  person: {
    view: ({ accounts, ...rest }): Admin.KnownPerson => ({
      ...rest,
      accounts: accounts.map(({ perhapsRefusals, ...known }) => ({
        ...stateOf(known),
        perhapsRefusals: perhapsRefusals.map(refusalOf)
      }))
    })
  },
  erasures: { at: "people erasures", view: (shown) => erasureOf(shown) },
  createWebhook: { named: ofAccount, view: ({ secret, webhook }) => ({ ...webhook, secret }) },
  rotateWebhook: { view: ({ secret, webhook }) => ({ ...webhook, secret }) },
  webhooks: { named: ofAccount },
  deliveries: { view: (shown) => deliveryOf(shown) },
  allDeliveries: { view: (shown) => deliveryOf(shown) },
  delivery: { view: (shown) => deliveryOf(shown) },
  replayDelivery: { at: "webhooks replay", named: { deliveryId: "id" }, view: (shown) => deliveryOf(shown) },
  replayWebhook: { at: "webhooks replaySince" },
  addRateCard: { at: null, view: (shown) => cardOf(shown) },
  importRateCard: {
    at: "rateCards importCsv",
    view: ({ rateCard, skipped }) => ({ card: cardOf(rateCard), skipped })
  },
  rateCards: { view: (shown) => cardOf(shown) },
  messages: { at: "jobs messages", view: (shown) => messageOf(shown) },
  adminTimeline: { at: "jobs timeline", view: (_, found) => Views.timeline(found) },
  countJobs: { named: { isStuck: "stuck", publicKey: "key" } },
  adminJobs: {
    at: null,
    named: { isStuck: "stuck", publicKey: "key" },
    view: (shown, found) => {
      if ("jobs" in shown) return { sum: shown }
      const { account, failures, idempotencyKey, key, requestId, session } = shown
      const told = { account, failures, idempotencyKey, publicKey: key, requestId, session }
      return "content" in found ? { job: { ...Views.job(found), ...told } } : null
    }
  },
  adminJob: {
    view: (_, found) =>
      Views.jobDetail(
        found,
        found.results.items.map((each) => Views.result(found.job.id, each))
      )
  },
  cancelJob: { view: (_, found) => Views.job(found) },
  pauseJob: { view: (_, found) => Views.job(found) },
  changeJob: { at: null, view: (_, found) => Views.job(found) },
  resumeJob: { view: (_, found) => Views.job(found) },
  retryJob: {
    at: null,
    view: (_, { counts, dryRun, job, sums }): Admin.RetriedJob => ({
      counts,
      dryRun,
      job: Views.job(job),
      counted: Views.retrySums(sums),
      why: RetryPlan.whyNobody(sums)
    })
  },
  retryJobs: { at: null, view: (_, found) => found },
  retries: { at: "jobs retries", view: (_, found) => Views.retryOfJobs(found) },
  retry: { view: (_, found) => Views.retryOfJobs(found) },
  cancelRetry: { view: (_, found) => Views.retryOfJobs(found) },
  restore: { at: null, view: (_, found) => restoredOf(found) },
  storage: { at: "storage size" },
  purge: {
    at: "storage purge",
    view: (_, { dryRun, heldAt, isComplete, shares }) => ({
      dryRun,
      isComplete,
      shares,
      ...(heldAt === undefined ? {} : { heldAt: Views.date(heldAt) })
    })
  },
  resealSecrets: {
    view: ({ apiKeys }, { found: { dependents: _, ...resealed } }) => ({
      ...resealed,
      ...(apiKeys === undefined ? {} : { dependents: apiKeys })
    })
  },
  createOperator: {
    named: { masksPhones: "maskPhones" },
    view: ({ operator, token }) => ({ ...operatorOf(operator), token })
  },
  operators: { view: (shown) => operatorOf(shown) },
  rotateOperator: { view: ({ operator, token }) => ({ ...operatorOf(operator), token }) },
  revokeOperator: { view: (shown) => operatorOf(shown) },
  audit: { at: "audit list" },
  overview: { view: (_, found) => Summaries.overview(found) },
  health: { view: (_, found) => Summaries.health(found) },
  adminSearch: { at: null, view: ({ link: _, ...rest }) => rest }
} as const satisfies { readonly [N in Name]?: Exception<N> }

// Types -------------------------------------------------------------------------------------------------------------

type ExceptionOf<N extends Name> = N extends keyof typeof exceptions ? (typeof exceptions)[N] : object

type Renames<N extends Name> = ExceptionOf<N> extends { readonly named: infer R } ? R : object

/** The name here of a member of the operation's. */
type Here<N extends Name, Member> = {
  [Own in keyof Renames<N>]: Renames<N>[Own] extends Member ? Own : never
}[keyof Renames<N>] extends infer Own
  ? [Own] extends [never]
    ? Member
    : Own
  : never

type Input<N extends Name> = { readonly [K in keyof Asked<N> as Here<N, K> & string]: Asked<N>[K] }

type Given<N extends Name> = [keyof Input<N>] extends [never]
  ? []
  : object extends Input<N>
    ? [input?: Input<N>]
    : [input: Input<N>]

type Viewed<N extends Name> =
  ExceptionOf<N> extends { readonly view: (...given: never) => infer V } ? V : Value<N>

type Call<N extends Name> = (...given: Given<N>) => Answer<N, Viewed<N>>

export type Calls = { readonly [N in Name]: Call<N> }

type Camel<Words> = Words extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Words

type ByRule<Command> = Command extends `${infer Group} ${infer Verb}`
  ? `${Camel<Group>} ${Verb extends "show" ? "find" : Verb}`
  : Command

type At<N extends Name> = N extends unknown
  ? ExceptionOf<N> extends { readonly at: infer Other }
    ? Other
    : Named<N> extends { readonly command: { readonly name: infer Command } }
      ? ByRule<Command>
      : never
  : never

type Group<At> = At extends `${infer Of} ${string}` ? Of : never
type VerbIn<Of, At> = At extends `${infer Group} ${infer Verb}` ? (Group extends Of ? Verb : never) : never

/** What follows by rule, each group with its verbs. */
type Ruled = {
  readonly [Of in Group<At<Name>>]: { readonly [N in Name as VerbIn<Of, At<N>>]: Call<N> }
} & {
  readonly [N in Name as At<N> extends `${string} ${string}` | null ? never : At<N> & string]: Call<N>
}

/** A type by its members and no more: what is written out and what follows are the same where these are. */
type Plain<T> = T extends Date
  ? T
  : T extends (...given: infer P) => infer R
    ? { readonly given: Plain<P>; readonly answers: Plain<R> }
    : T extends Promise<infer A>
      ? { readonly promise: Plain<A> }
      : T extends AsyncIterable<infer A>
        ? { readonly items: Plain<A> }
        : T extends object
          ? { readonly [K in keyof T]: Plain<T[K]> }
          : T

type Same<A, B> =
  (<T>() => T extends Plain<A> ? 1 : 2) extends <T>() => T extends Plain<B> ? 1 : 2 ? true : false

/** The members of a group that are not written as they follow, or the other way around. */
type Differing<Written, Follows> = {
  [K in keyof Written | keyof Follows]: K extends keyof Written
    ? K extends keyof Follows
      ? Same<Written[K], Follows[K]> extends true
        ? never
        : K
      : K
    : K
}[keyof Written | keyof Follows]

// What is no operation alone ----------------------------------------------------------------------------------------

/** A job has at most as many recipients. */
export const wholeJob = { limit: 250, after: null }

/** The engine's own around the operations. */
export interface Place {
  readonly store: Pick<Parts, "within">
  /** True of a provider whose sender is one of ours: the names of its `config` are core's, in camelCase. */
  readonly isOurs: (provider: string) => boolean
}

async function* chosen<A, B>(
  items: AsyncIterable<A>,
  choose: (item: A) => ReadonlyArray<B>
): AsyncGenerator<B, void> {
  for await (const item of items) yield* choose(item)
}

/** Settings with the names of core. */
const settingsOf = <Settings extends Admin.SessionSettings>(
  settings: Settings,
  provider: string,
  { isOurs }: Place
): Settings =>
  settings?.config === undefined || !isOurs(provider)
    ? settings
    : { ...settings, config: Failures.configOf(settings.config) }

/** How often a retry is looked at while its end is awaited. */
const followedMs = 250

const followed = (
  calls: Pick<Calls, "cancelRetry" | "retry">,
  { run }: Running,
  id: string
): Omit<Admin.BegunRetry, "counted" | "isExact" | "why"> => {
  const look = Effect.tryPromise({ try: () => calls.retry({ id }), catch: (error) => error })
  const ended = Effect.repeat(Effect.zipLeft(look, Effect.sleep(followedMs)), {
    until: ({ endedAt }) => endedAt !== null
  })
  return {
    id,
    progress: () => calls.retry({ id }),
    ended: () => run(ended),
    cancel: () => calls.cancelRetry({ id })
  }
}

/** A date as the contract writes it; what is none stays. */
const momentText = <A>(given: A | Date): A | string => (given instanceof Date ? given.toISOString() : given)

/** Of one job by its id, and of many by a filter. */
const retrying = (calls: Calls, running: Running): Admin.Jobs["retry"] => {
  function retry(given: { readonly id: string } & Retry): Promise<Admin.RetriedJob>
  function retry(given: {
    readonly filter: Admin.RetryFilter
    readonly dryRun: true
  }): Promise<Admin.CountedRetry>
  function retry(given: { readonly filter: Admin.RetryFilter }): Promise<Admin.BegunRetry>
  async function retry(
    given: ({ readonly id: string } & Retry) | { readonly filter: Admin.RetryFilter }
  ): Promise<Admin.BegunRetry | Admin.CountedRetry | Admin.RetriedJob> {
    if (!("filter" in given)) return calls.retryJob(given)
    const { publicKey: key, ...filter } = given.filter ?? {}
    const named = key === undefined ? filter : { key, ...filter }
    const { isExact, plan, sums } = await calls.retryJobs({ ...given, filter: named })
    const counted = { counted: Views.retrySums(sums), isExact, why: RetryPlan.whyNobody(sums) }
    return plan === null ? counted : { ...counted, ...followed(calls, running, plan.id) }
  }
  return retry
}

const textsOf = (names: ReadonlyArray<Erasure.Name>) => {
  const of = (kind: Erasure.Name["kind"]) => names.flatMap((name) => (name.kind === kind ? [name.text] : []))
  return { phones: of("phone"), userIds: of("user") }
}

type CoreAdmin = Engine.Engine["Type"]["admin"]

/** What an account used: one operation, of which two answers are told apart by what is asked. */
const usageOf = (admin: CoreAdmin, { run }: Running) => ({
  usage: async (given: { readonly id: string }): Promise<Admin.Usage> => {
    const { resetsAt, ...usage } = await run(admin.accounts.usage(Inputs.byId(given).id))
    return { ...usage, resetsAt: Views.date(resetsAt) }
  },
  usageBy: async (given: Admin.UsageInput): Promise<Admin.UsageSums> => {
    const { by, from, id, to } = Inputs.usage(given)
    const asked = { by, from: from && Instant.ofDate(from), to: to && Instant.ofDate(to) }
    const { groups, ...found } = await run(admin.accounts.spending(id, asked))
    const wholeSince = Views.date(found.wholeSince)
    return { from: Views.date(found.from), to: Views.date(found.to), wholeSince, groups }
  }
})

const ownOf = (calls: Calls, admin: CoreAdmin, running: Running, place: Place) => {
  const { run } = running
  return {
    accounts: usageOf(admin, running),
    sessions: {
      create: (given: Input<"createSession">) =>
        calls.createSession(settingsOf(given, given?.provider, place)),
      change: async (given: Input<"changeSession">) =>
        given?.config === undefined
          ? calls.changeSession(given)
          : calls.changeSession(settingsOf(given, (await calls.session({ id: given.id })).provider, place))
    },
    templates: {
      import: (given: { readonly sessionId: string; readonly templates: ReadonlyArray<PlatformTemplate> }) =>
        calls.importTemplates(given),
      preview: async ({
        variables,
        ...rest
      }: {
        readonly templateId: number
        readonly variables?: Readonly<Record<string, string>> | undefined
      }) => calls.previewTemplate({ ...rest, variables: variables && JSON.stringify(variables) })
    },
    consents: {
      record: async (
        given: Parameters<Admin.Consents["record"]>[0],
        options?: InTransaction
      ): Promise<ReadonlyArray<Admin.ConsentOutcome>> => {
        const { accountId, consents, importedAt } = Inputs.consents(given)
        const tx = transactionOf(options)
        const written = (at: Date | undefined) =>
          at === undefined ? undefined : Instant.format(Instant.ofDate(at))
        const items = consents.map(({ occurredAt, ...consent }) => ({
          ...consent,
          occurredAt: written(occurredAt)
        }))
        const recording = admin.consents.record(accountId, items, written(importedAt))
        return (await run(tx === undefined ? recording : place.store.within(tx)(recording))).map(recordedOf)
      }
    },
    people: {
      export: async (given: Admin.WhichPerson): Promise<Admin.PersonExport> => {
        const { cut, names, sections } = await run(admin.people.export(Inputs.whom(given)))
        const accounts = Object.entries(names.ofAccounts).map(([accountId, some]) => ({
          accountId,
          ...textsOf(some)
        }))
        return { ...textsOf(Erasure.allNames(names)), accounts, ...sections, cut }
      }
    },
    rateCards: {
      add: async (given: Parameters<Admin.RateCards["add"]>[0]) =>
        calls.addRateCard({
          ...given,
          prices: Array.from(given?.prices ?? [], (price) => ({
            ...price,
            prefixes: price?.prefixes ?? undefined
          }))
        })
    },
    jobs: {
      list: (given?: Parameters<Admin.Jobs["list"]>[0]) =>
        chosen(calls.adminJobs(given), (found) => (found !== null && "job" in found ? [found.job] : [])),
      references: (
        given?: Pick<Admin.JobFilter, "accountId" | "createdAfter" | "createdBefore" | "reference">
      ) =>
        chosen(calls.adminJobs({ ...given, group: "reference" }), (found) =>
          found !== null && "sum" in found ? [found.sum] : []
        ),
      change: ({ expiresAt, sendAt, ...rest }: Parameters<Admin.Jobs["change"]>[0]) =>
        calls.changeJob({ ...rest, sendAt: momentText(sendAt), expiresAt: momentText(expiresAt) }),
      retry: retrying(calls, running)
    },
    restore: {
      open: (given: Parameters<Admin.Restore["open"]>[0]) => calls.restore(given),
      hold: () => calls.restore({ hold: true })
    },
    search: (text: string) => calls.adminSearch({ q: Inputs.sought(text) })
  }
}

const camel = (word: string): string => word.replaceAll(/-(.)/g, (_, first: string) => first.toUpperCase())

const byRule = (command: string): string => {
  const [group = "", verb] = command.split(" ")
  return verb === undefined ? group : `${camel(group)} ${verb === "show" ? "find" : verb}`
}

const unusual: Readonly<Record<string, Operations.Exception & { readonly at?: string | null }>> = exceptions

export const make = (engine: Engine.Engine["Type"], running: Running, place: Place): Admin.Admin => {
  const cursors = Cursors.make(Redacted.make(crypto.getRandomValues(new Uint8Array(32))))
  const calls: Record<string, Operations.Call> = {}
  const groups: Record<string, unknown> = {}
  for (const operation of AdminApi.operations) {
    const exception = unusual[operation.endpoint.name] ?? {}
    const call = Operations.functionOf(operation, engine, running, cursors, exception)
    calls[operation.endpoint.name] = call
    const { at = byRule(operation.command.name) } = exception
    const [group, verb] = at?.split(" ") ?? []
    if (group === undefined) continue
    groups[group] = verb === undefined ? call : { ...Object(groups[group]), [verb]: call }
  }
  // What is assembled by names is of the types that follow from the same names: see `Checked`.
  const own = ownOf(calls as Calls, engine.admin, running, place)
  for (const [group, functions] of Object.entries(own))
    groups[group] = typeof functions === "function" ? functions : { ...Object(groups[group]), ...functions }
  return Object.assign(Object.create(null), groups)
}

type Own = ReturnType<typeof ownOf>

type Whole<K extends keyof Admin.Admin> = (K extends keyof Ruled ? Ruled[K] : object) &
  (K extends keyof Own ? Own[K] : object)

type Wrong = {
  readonly [K in keyof Admin.Admin | keyof Ruled | keyof Own]: K extends keyof Admin.Admin
    ? Whole<K> extends (...given: never) => unknown
      ? Same<Admin.Admin[K], Whole<K>> extends true
        ? never
        : K
      : Differing<Admin.Admin[K], Whole<K>>
    : K
}

type Nothing<T extends Record<keyof T, never>> = T

/** `Admin` is what follows from the operations, member by member: where this does not compile it names what differs. */
export type Checked = Nothing<Wrong>
