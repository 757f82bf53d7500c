/** The commands: one for each operation of the admin API, which names it, and by its first word in a group. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import { Suggestion } from "@sendwright/core/adapter"
import { AdminApi, type Operation as Contract, type Problems } from "@sendwright/core/contract"
import * as Arr from "effect/Array"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Stream from "effect/Stream"
import * as Arguments from "../Arguments.ts"
import type * as EngineLayer from "../EngineLayer.ts"
import * as Answer from "./Answer.ts"
import * as ConsentTable from "./ConsentTable.ts"
import { Degraded } from "./Degraded.ts"
import * as Export from "./Export.ts"
import { messageOf } from "./Failure.ts"
import * as Files from "./Files.ts"
import * as Flags from "./Flags.ts"
import * as Help from "./Help.ts"
import * as Import from "./Import.ts"
import * as Mcp from "./Mcp.ts"
import type { NotOpened, Perform } from "./OnDatabase.ts"
import * as OnHost from "./OnHost.ts"
import * as OnMachine from "./OnMachine.ts"
import * as Refused from "./Refused.ts"
import type { Setting } from "./Root.ts"
import { connectingFlags, program, root } from "./Root.ts"
import * as Summary from "./Summary.ts"
import * as Watch from "./Watch.ts"

/** Fields of the body that come from a file instead of flags. */
interface Input {
  readonly name: string
  readonly fields: ReadonlyArray<string>
  /** The body. */
  readonly read: (file: string) => Files.Read<unknown>
  /** Reads the file as a table of any length instead, where it is one. */
  readonly open?: (file: string) => Files.Read<ConsentTable.Table> | undefined
}

const ofJson = (...fields: ReadonlyArray<string>): Input => ({ name: "file.json", fields, read: Files.json })

/** By the name of the endpoint. */
const inputs: ReadonlyMap<string, Input> = new Map([
  ["importTemplates", ofJson("templates")],
  [
    "recordConsents",
    {
      name: "file.csv|file.json",
      fields: ["consents"],
      read: Files.json,
      open: (file) => (file.toLowerCase().endsWith(".json") ? undefined : ConsentTable.open(file))
    }
  ],
  ["addRateCard", ofJson("currency", "effective_from", "prices")],
  [
    "importRateCard",
    {
      name: "file.csv",
      fields: ["csv"],
      read: (file) => Effect.map(Files.text(file), (csv) => ({ csv }))
    }
  ]
])

/** The names of path parameters, by the collection that each is of. */
const parameterNames: Readonly<Record<string, string>> = {
  accounts: "account-id",
  sessions: "session-id",
  keys: "public-key",
  webhooks: "webhook-id",
  deliveries: "delivery-id",
  jobs: "job-id",
  retries: "retry-id",
  people: "phone-or-user-id",
  operators: "operator",
  templates: "template-id",
  messages: "message-id"
}

const nothing = Args.map(Args.none, () => ({}))

/** Parameters that are asked for without a flag, by the name of the endpoint, and what they are called. */
const subjects: Readonly<Record<string, { readonly parameter: string; readonly name: string }>> = {
  adminSearch: { parameter: "q", name: "phone|reference|id" }
}

type Parameters = Readonly<Record<string, string>>

const subjectOf = (subject: (typeof subjects)[string] | undefined): Args.Args<Parameters> =>
  subject === undefined
    ? nothing
    : Args.map(Args.text({ name: subject.name }), (text) => ({ [subject.parameter]: text }))

/** The file's body as it is; fields of flags beside those of the file. */
const bodyOf = (fields: Flags.Fields, content: unknown): unknown =>
  typeof content === "object" && content !== null && !Array.isArray(content)
    ? { ...fields, ...content }
    : content

const asText = (fields: Flags.Fields): Parameters =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]))

/** The parts of an operation of the admin API that the command line looks at. */
interface Operation
  extends Pick<Contract.AdminOperation<unknown>, "command" | "isExport" | "page" | "route"> {
  readonly endpoint: {
    readonly name: string
    readonly method: OnHost.Endpoint["method"]
    readonly path: string
    readonly urlParamsSchema: Option.Option<Flags.Described>
    readonly payloadSchema: Option.Option<Flags.Described>
  }
}

const operations: ReadonlyArray<Operation> = AdminApi.operations

const pathOf = (pattern: string): Args.Args<Parameters> => {
  const [, collection = "", parameter] = /([\w-]+)\/:(\w+)/.exec(pattern) ?? []
  return parameter === undefined
    ? nothing
    : Args.map(Args.text({ name: parameterNames[collection] ?? parameter }), (value) => ({
        [parameter]: value
      }))
}

type Failure = NotOpened | Refused.Refused | Problems.EngineError

/** The engine is loaded only where it is used: not for help, nor for errors of usage, nor for a host. */
const withinDatabase = <A, E>(
  options: EngineLayer.Options,
  use: (perform: Perform) => Effect.Effect<A, E>
): Effect.Effect<A, E | NotOpened> =>
  Effect.flatMap(
    Effect.promise(() => import("./OnDatabase.ts")),
    ({ within }) => within(options, use)
  )

/** The input of a command besides its flags: the body or a part of it, or a table of any length. */
type Content =
  | { readonly _tag: "Body"; readonly body: unknown }
  | { readonly _tag: "Table"; readonly table: ConsentTable.Table }

const contentOf = (input: Input | undefined): Args.Args<Content> =>
  input === undefined
    ? Args.map(nothing, (body): Content => ({ _tag: "Body", body }))
    : Args.text({ name: input.name }).pipe(
        Args.withDescription("- is the standard input"),
        Args.mapEffect((file): Files.Read<Content> => {
          const table = input.open?.(file)
          return table === undefined
            ? Effect.map(input.read(file), (body) => ({ _tag: "Body", body }))
            : Effect.map(table, (table) => ({ _tag: "Table", table }))
        })
      )

const rejecting: Options.Options<Option.Option<string>> = Options.text("rejects").pipe(
  Options.withPseudoName("file.csv"),
  Options.withDescription("where refused lines of a table go; beside the table without it"),
  Options.optional
)

const watching: Options.Options<boolean> = Options.boolean("watch").pipe(
  Options.withDescription("shows it anew every two seconds; a line of JSON each where no terminal reads it")
)

/** Shows an answer as its view does, once or again and again; the view says how the process ends. */
const glance = (
  view: Summary.View,
  isWatched: boolean,
  ask: Effect.Effect<unknown, Failure>,
  { out }: Setting["screen"]
): Effect.Effect<void, Degraded> =>
  Effect.gen(function* () {
    if (isWatched) return yield* Watch.run(ask, view, out, messageOf)
    const body = yield* ask
    yield* Console.log(view.text(body, out))
    return view.codeOf(body)
  }).pipe(
    Effect.mapError((why) => new Degraded({ code: view.failedCode, why: messageOf(why) })),
    Effect.filterOrFail(
      (code) => code === 0,
      (code) => new Degraded({ code })
    )
  )

/** A change that names nothing would be done and do nothing. */
const isEmptyChange = ({ method }: Pick<OnHost.Endpoint, "method">, fields: Flags.Fields): boolean =>
  method === "PATCH" && Object.keys(fields).length === 0

const commandOf = (name: string, operation: Operation, { options, screen }: Setting) => {
  const { command, endpoint } = operation
  const input = inputs.get(endpoint.name)
  const path = pathOf(endpoint.path)
  const content = contentOf(input)
  const subject = subjects[endpoint.name]
  const sought = subjectOf(subject)
  const query = Flags.make(endpoint.urlParamsSchema, subject === undefined ? [] : [subject.parameter])
  const fields = Flags.make(endpoint.payloadSchema, input?.fields)
  const rejects: Options.Options<Option.Option<string>> =
    input?.open === undefined ? Options.map(Options.none, () => Option.none<string>()) : rejecting
  const view = Summary.views.get(endpoint.name)
  const watch = view?.isWatched === true ? watching : Options.map(Options.none, () => false)
  const description = [command.description, command.ends ?? ""].join(" ").trim()
  const asked = Command.make(name, { path, content, sought, query, fields, rejects, watch }, (given) =>
    Effect.gen(function* () {
      if (isEmptyChange(endpoint, given.fields))
        return yield* new Degraded({
          code: Arguments.misused,
          why: `Nothing is to be changed: name a flag, of those of sendwright ${command.name} --help.`
        })
      const { token, url } = yield* root
      const host = yield* Either.mapLeft(
        OnHost.connection(Option.getOrUndefined(url), Option.getOrUndefined(token)),
        (why) => (view === undefined ? why : new Degraded({ code: view.failedCode, why: messageOf(why) }))
      )
      const requestOf = (body: unknown) => ({
        path: given.path,
        query: { ...given.sought, ...asText(given.query) },
        body: Option.isSome(endpoint.payloadSchema) ? Either.right(bodyOf(given.fields, body)) : null
      })
      if (given.content._tag === "Table") {
        const { table } = given.content
        const target = {
          account: given.path["id"] ?? "",
          rejects: Option.getOrElse(given.rejects, () => Import.rejectsOf(table.file)),
          screen
        }
        const done =
          host === null
            ? yield* withinDatabase(options, (perform) =>
                Import.run(table, target, (part) =>
                  Effect.map(perform(operation, requestOf(part)), ({ body }) => body)
                )
              )
            : yield* Import.run(table, target, (part) =>
                OnHost.performPatiently(host, endpoint, requestOf(part))
              )
        yield* Console.log(Answer.text(done.imported, screen.out))
        return done.refused === undefined ? undefined : yield* done.refused
      }
      const request = requestOf(given.content.body)
      if (view !== undefined) {
        const shown = (ask: Effect.Effect<unknown, Failure>) => glance(view, given.watch, ask, screen)
        if (host !== null) return yield* shown(OnHost.perform(host, endpoint, request, view.patience))
        return yield* withinDatabase(options, (perform) =>
          shown(Effect.map(perform(operation, request), ({ body }) => body))
        ).pipe(
          Effect.catchTag("NotOpened", (why) => new Degraded({ code: view.failedCode, why: messageOf(why) }))
        )
      }
      if (operation.isExport) {
        const { format } = given.query
        return host === null
          ? yield* withinDatabase(options, (perform) =>
              Effect.flatMap(perform(operation, request), ({ content }) =>
                Export.write(content?.lines ?? Stream.empty, format, screen)
              )
            )
          : yield* Export.write(OnHost.download(host, endpoint, request), format, screen)
      }
      const body =
        host === null
          ? (yield* withinDatabase(options, (perform) => perform(operation, request))).body
          : yield* OnHost.perform(host, endpoint, request)
      yield* Console.log(Answer.text(body, screen.out, { ...command, page: operation.page }))
      const refused = input === undefined ? undefined : Refused.inAnswer(body)
      return refused === undefined ? undefined : yield* refused
    })
  ).pipe(Command.withDescription(description))
  return {
    command: asked,
    help: {
      name: command.name,
      description,
      args: HelpDoc.sequence(
        HelpDoc.sequence(Args.getHelp(path), Args.getHelp(content)),
        Args.getHelp(sought)
      ),
      flags: HelpDoc.sequence(
        HelpDoc.sequence(Options.getHelp(query), Options.getHelp(fields)),
        HelpDoc.sequence(Options.getHelp(rejects), Options.getHelp(watch))
      )
    }
  }
}

/** Commands whose first word is not among these have no other. */
const groups: Readonly<Record<string, string>> = {
  accounts: "Accounts, their plans and what they used.",
  sessions: "Connections of an account to a platform.",
  keys: "API keys of a session.",
  templates: "Templates of a session.",
  consents: "Consents of an account's recipients.",
  people: "All that is known of a person, and its erasure.",
  webhooks: "Receivers of an account's events.",
  deliveries: "Single deliveries to receivers.",
  "rate-cards": "Dated prices.",
  messages: "Direct messages, and the story of any message.",
  jobs: "Template sends.",
  retries: "Retries of many jobs together.",
  events: "What happened, newest first.",
  export: "What is kept, as lines in NDJSON or CSV, however many there are.",
  operators: "Who may use the admin API, each with a token of its own.",
  secrets: "What is encrypted at rest."
}

const meant = (given: string, known: ReadonlyArray<string>, before = ""): string => {
  const found = Suggestion.nearest(given, known)
  return found === undefined ? "" : ` Did you mean "${before}${found}"?`
}

const wordsOf = ({ command }: Operation): ReadonlyArray<string> => command.name.split(" ")

/** The commands; and by the words that one is asked for with, its help, or why there is no such one. */
export const make = (setting: Setting) => {
  const ofOperations = operations.map((operation) => {
    const [word = "", ...rest] = wordsOf(operation)
    const description = groups[word]
    return {
      word,
      isAlone: description === undefined,
      ...commandOf(description === undefined ? word : rest.join(" "), operation, setting)
    }
  })
  const made = [...ofOperations, ...OnMachine.make(setting), Mcp.make(setting)]
  const { out } = setting.screen
  const byWord = Arr.groupBy(made, ({ word }) => word)
  const subcommands = Record.collect(byWord, (word, found) =>
    found[0].isAlone
      ? found[0].command
      : Command.make(word).pipe(
          Command.withDescription(groups[word] ?? ""),
          Command.withSubcommands(Arr.map(found, ({ command }) => command))
        )
  )
  const helpOf = (words: ReadonlyArray<string>): string => {
    const asked = made.find(({ help, isAlone, word }) =>
      isAlone ? word === words[0] : help.name === words.slice(0, 2).join(" ")
    )
    if (asked !== undefined) return Help.ofCommand(asked.help, out)
    const [word = ""] = words
    const found = byWord[word]
    return found === undefined
      ? Help.ofGroup(
          { name: "", description: program },
          Record.collect(byWord, (name, [first]) => ({
            name,
            description: groups[name] ?? first.help.description
          })),
          connectingFlags,
          out
        )
      : Help.ofGroup(
          { name: word, description: groups[word] ?? "" },
          found.map(({ help }) => help),
          [],
          out
        )
  }
  const below = Option.getOrThrow(Option.liftPredicate(subcommands, Arr.isNonEmptyArray))
  const isGroup = (word: string): boolean => byWord[word]?.[0].isAlone === false
  const unknown = ([word = "", next]: ReadonlyArray<string>): string | undefined => {
    const found = byWord[word]
    if (word !== "" && found === undefined)
      return `There is no command "${word}".${meant(word, Record.keys(byWord))} There are ${Record.keys(byWord).join(", ")}.`
    if (found === undefined || next === undefined || !isGroup(word)) return undefined
    const names = found.map(({ help }) => help.name.split(" ").slice(1).join(" "))
    return names.includes(next)
      ? undefined
      : `There is no command "${word} ${next}".${meant(next, names, `${word} `)} There are ${names.map((name) => `${word} ${name}`).join(", ")}.`
  }
  /** The flag that was meant by one that the command does not have. */
  const meantFlag = (given: ReadonlyArray<string>, words: ReadonlyArray<string>): string | undefined => {
    const named = [helpOf(words), ...connectingFlags.map(({ name }) => name), "--help"].join(" ")
    const known = new Set(named.match(/--[a-z][a-z-]*/g))
    const unknown = given
      .map((each) => each.replace(/=.*/s, ""))
      .find((each) => each.startsWith("--") && !known.has(each))
    const meant = unknown === undefined ? undefined : Suggestion.nearest(unknown, [...known])
    return meant === undefined ? undefined : `There is no flag ${unknown} here. Did you mean ${meant}?`
  }
  return { command: Command.withSubcommands(root, below), helpOf, isGroup, meantFlag, unknown }
}
