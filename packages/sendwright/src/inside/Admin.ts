/**
 * The operator's side. By rule an operation of the admin API is where its command says: `accounts create` is `accounts.create`,
 * and what shows is `find`.
 */
import type { Engine } from "@sendwright/core"
import { AdminApi, type Cursors } from "@sendwright/core/contract"
import * as Schema from "effect/Schema"
import type * as Admin from "../api/Admin.ts"
import type { InTransaction } from "../api/Messages.ts"
import type { PlatformTemplate } from "../api/Templates.ts"
import * as Failures from "./Failures.ts"
import { input } from "./Input.ts"
import type { AdminName, Answer, Call, Differing, Input, Named, Same } from "./Operations.ts"
import * as Operations from "./Operations.ts"
import type { Running } from "./Running.ts"
import type { Parts, Within } from "./Stores.ts"
import { transactionOf } from "./Transactions.ts"

type Calls = { readonly [N in AdminName]: Call<N> }

type Camel<Words> = Words extends `${infer Head}-${infer Tail}` ? `${Head}${Capitalize<Camel<Tail>>}` : Words

type ByRule<Command> = Command extends `${infer Group} ${infer Verb}`
  ? `${Camel<Group>} ${Verb extends "show" ? "find" : Verb}`
  : Command

type At<N extends AdminName> = N extends unknown
  ? Named<N> extends { readonly command: { readonly name: infer Command } }
    ? ByRule<Command>
    : never
  : never

type Group<At> = At extends `${infer Of} ${string}` ? Of : never
type VerbIn<Of, At> = At extends `${infer Group} ${infer Verb}` ? (Group extends Of ? Verb : never) : never

/** What follows by rule, each group with its verbs. */
type Ruled = {
  readonly [Of in Group<At<AdminName>>]: { readonly [N in AdminName as VerbIn<Of, At<N>>]: Call<N> }
} & {
  readonly [N in AdminName as At<N> extends `${string} ${string}` ? never : At<N> & string]: Call<N>
}

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
  Operations.hasMembers(settings?.config) && isOurs(provider)
    ? { ...settings, config: Failures.configOf(settings.config) }
    : settings

const variablesOf = input(Schema.UndefinedOr(Schema.Record({ key: Schema.String, value: Schema.String })), {
  name: "variables"
})

type Consenting = Input<"recordConsents">

/** What is not as its operation: two answers of one, a part of the app's transaction, and members of another form. */
const ownOf = (
  calls: Calls & {
    readonly recordConsents: (given: Consenting, within?: Within) => Answer<"recordConsents">
  },
  place: Place
) => ({
  sessions: {
    create: (given: Input<"createSession">) => calls.createSession(settingsOf(given, given?.provider, place)),
    change: async (given: Input<"changeSession">) =>
      given?.config === undefined
        ? calls.changeSession(given)
        : calls.changeSession(settingsOf(given, (await calls.session({ id: given.id })).provider, place))
  },
  templates: {
    import: (given: { readonly sessionId: string; readonly templates: ReadonlyArray<PlatformTemplate> }) =>
      calls.importTemplates(given),
    preview: async (
      given: Omit<Input<"previewTemplate">, "variables"> & {
        readonly variables?: Readonly<Record<string, string>> | undefined
      }
    ) => calls.previewTemplate(given && { ...given, variables: JSON.stringify(variablesOf(given.variables)) })
  },
  consents: {
    record: async (given: Consenting, options?: InTransaction) => {
      const tx = transactionOf(options)
      return calls.recordConsents(given, tx && place.store.within(tx))
    }
  },
  jobs: {
    list: (given?: Omit<Input<"adminJobs">, "group">) =>
      chosen(calls.adminJobs(Operations.including(given, { group: undefined })), (found) =>
        "jobId" in found ? [found] : []
      ),
    references: (
      given?: Pick<Input<"adminJobs">, "accountId" | "createdAfter" | "createdBefore" | "reference">
    ) =>
      chosen(calls.adminJobs(Operations.including(given, { group: "reference" as const })), (found) =>
        "jobId" in found ? [] : [found]
      )
  }
})

const camel = (word: string): string => word.replaceAll(/-(.)/g, (_, first: string) => first.toUpperCase())

export const make = (
  engine: Engine.Engine["Type"],
  running: Running,
  cursors: Cursors.Cursors,
  place: Place
): Admin.Admin => {
  const calls: Record<string, unknown> = {}
  const groups: Record<string, unknown> = {}
  for (const operation of AdminApi.operations) {
    const call = Operations.functionOf(operation, operation.does(engine), running, cursors)
    calls[operation.endpoint.name] = call
    const alone = (given?: unknown) => call(given)
    const [group = "", verb] = operation.command.name.split(" ")
    const at = camel(group)
    groups[at] =
      verb === undefined ? alone : { ...Object(groups[at]), [verb === "show" ? "find" : verb]: alone }
  }
  // What is assembled by names is of the types that follow from the same names: see `Checked`.
  const own = ownOf(calls as Calls, place)
  for (const [group, functions] of Object.entries(own))
    groups[group] = { ...Object(groups[group]), ...functions }
  return Object.assign(Object.create(null), groups)
}

type Own = ReturnType<typeof ownOf>

type Whole<K extends keyof Admin.Admin> = (K extends keyof Ruled
  ? K extends keyof Own
    ? Omit<Ruled[K], keyof Own[K]>
    : Ruled[K]
  : object) &
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
