/** The commands: one for each operation of the admin API, which names it, and by its first word in a group. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import { AdminApi, type Operation as Contract } from "@sendwright/http/contract"
import * as Arr from "effect/Array"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import type { Options } from "../EngineLayer.ts"
import * as Logs from "../Logs.ts"
import * as Files from "./Files.ts"
import * as Flags from "./Flags.ts"
import * as Refused from "./Refused.ts"

/** Fields of the body that come from a file instead of flags. */
interface Input {
  readonly name: string
  readonly fields: ReadonlyArray<string>
  readonly read: (file: string) => Files.Read<Files.Table>
}

const ofJson = (...fields: ReadonlyArray<string>): Input => ({ name: "file.json", fields, read: Files.body })

/** By the name of the endpoint. */
const inputs: ReadonlyMap<string, Input> = new Map([
  ["importTemplates", ofJson("templates")],
  ["recordConsents", { name: "file.json|file.csv", fields: ["consents"], read: Files.consents }],
  ["addRateCard", ofJson("currency", "effective_from", "prices")],
  [
    "importRateCard",
    {
      name: "file.csv",
      fields: ["csv"],
      read: (file) => Effect.map(Files.text(file), (csv) => ({ body: { csv } }))
    }
  ]
])

/** What a path parameter is called, by the collection that it is of. */
const parameterNames: Readonly<Record<string, string>> = {
  accounts: "account-id",
  sessions: "session-id",
  keys: "public-key",
  webhooks: "webhook-id",
  deliveries: "delivery-id",
  jobs: "job-id",
  operators: "operator"
}

const nothing = Args.map(Args.none, () => ({}))

/** The file's body as it is; fields of flags beside those of the file. */
const bodyOf = (fields: Flags.Fields, content: unknown): unknown =>
  typeof content === "object" && content !== null && !Array.isArray(content)
    ? { ...fields, ...content }
    : content

const asText = (fields: Flags.Fields): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]))

/** What is looked at of an operation of the admin API. */
interface Operation extends Pick<Contract.AdminOperation<unknown>, "command" | "route"> {
  readonly endpoint: {
    readonly name: string
    readonly path: string
    readonly urlParamsSchema: Option.Option<Flags.Described>
    readonly payloadSchema: Option.Option<Flags.Described>
  }
}

const operations: ReadonlyArray<Operation> = AdminApi.operations

const pathOf = (pattern: string): Args.Args<Readonly<Record<string, string>>> => {
  const [, collection = "", parameter] = /([\w-]+)\/:(\w+)/.exec(pattern) ?? []
  return parameter === undefined
    ? nothing
    : Args.map(Args.text({ name: parameterNames[collection] ?? parameter }), (value) => ({
        [parameter]: value
      }))
}

const commandOf = (name: string, operation: Operation, options: Options) => {
  const { command, endpoint } = operation
  const input = inputs.get(endpoint.name)
  const content: Args.Args<Files.Table> =
    input === undefined
      ? Args.map(nothing, (body) => ({ body }))
      : Args.text({ name: input.name }).pipe(
          Args.withDescription("- is the standard input"),
          Args.mapEffect(input.read)
        )
  const path = pathOf(endpoint.path)
  const query = Flags.make(endpoint.urlParamsSchema)
  const fields = Flags.make(endpoint.payloadSchema, input?.fields)
  return Command.make(name, { path, content, query, fields }, (given) =>
    Effect.gen(function* () {
      // The engine is loaded only where it is used: not for help, nor for errors of usage.
      const { perform } = yield* Effect.promise(() => import("./Operation.ts"))
      const request = {
        path: given.path,
        query: asText(given.query),
        body: Option.isSome(endpoint.payloadSchema)
          ? Either.right(bodyOf(given.fields, given.content.body))
          : null
      }
      const { lines } = given.content
      const body = yield* perform(operation, request, options).pipe(
        Effect.catchTag("InvalidRequest", ({ faults }) => Effect.fail(Refused.ofFaults(faults, lines)))
      )
      yield* Console.log(Logs.printable(JSON.stringify(body)))
      const refused = input === undefined ? undefined : Refused.inAnswer(body, lines)
      if (refused !== undefined) return yield* refused
    })
  ).pipe(Command.withDescription(command.description))
}

/** Commands whose first word is not among these have no other. */
const groups: Readonly<Record<string, string>> = {
  accounts: "Accounts, their plans and what they used.",
  sessions: "Connections of an account to a platform.",
  keys: "API keys of a session.",
  templates: "Templates of a session.",
  consents: "Consents of an account's recipients.",
  webhooks: "Receivers of an account's events.",
  deliveries: "Single deliveries to receivers.",
  "rate-cards": "Dated prices.",
  messages: "Direct messages.",
  jobs: "Template sends.",
  operators: "Who may use the admin API, each with a token of its own.",
  secrets: "What is encrypted at rest."
}

const wordsOf = ({ command }: Operation): ReadonlyArray<string> => command.name.split(" ")

const commands = (options: Options) =>
  Record.collect(
    Arr.groupBy(operations, (operation) => wordsOf(operation)[0] ?? ""),
    (word, found) => {
      const description = groups[word]
      return description === undefined
        ? commandOf(word, found[0], options)
        : Command.make(word).pipe(
            Command.withDescription(description),
            Command.withSubcommands(
              Arr.map(found, (operation) =>
                commandOf(wordsOf(operation).slice(1).join(" "), operation, options)
              )
            )
          )
    }
  )

export const make = (options: Options) =>
  Command.make("sendwright").pipe(
    Command.withDescription("The operator's side of Sendwright, on the database of DATABASE_URL."),
    Command.withSubcommands(Option.getOrThrow(Option.liftPredicate(commands(options), Arr.isNonEmptyArray)))
  )
