/** The commands: one for each endpoint of the admin API, by its group. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Option from "effect/Option"
import * as Api from "../api/AdminApi.ts"
import * as Logs from "../Logs.ts"
import * as Files from "./Files.ts"
import * as Flags from "./Flags.ts"
import type { Endpoint } from "./Operation.ts"

/** Fields of the body that come from a file instead of flags. */
interface Input {
  readonly name: string
  readonly fields: ReadonlyArray<string>
  readonly read: (file: string) => Files.Read<unknown>
}

const templates: Input = { name: "file.json", fields: ["templates"], read: Files.json }
const consents: Input = { name: "file.json|file.csv", fields: ["consents"], read: Files.consents }
const card: Input = {
  name: "file.json",
  fields: ["currency", "effective_from", "prices"],
  read: Files.json
}
const list: Input = {
  name: "file.csv",
  fields: ["csv"],
  read: (file) => Effect.map(Files.text(file), (csv) => ({ csv }))
}

interface Options {
  /** What the endpoint's path parameter is the id of. */
  readonly of?: string
  readonly input?: Input
}

const nothing = Args.map(Args.none, () => ({}))

/** The file's body as it is; fields of flags beside those of the file. */
const bodyOf = (fields: Flags.Fields, content: unknown): unknown =>
  typeof content === "object" && content !== null && !Array.isArray(content)
    ? { ...fields, ...content }
    : content

const asText = (fields: Flags.Fields): Readonly<Record<string, string>> =>
  Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, String(value)]))

const operation = (name: string, endpoint: Endpoint, description: string, { input, of }: Options = {}) => {
  const parameter = /:(\w+)/.exec(endpoint.path)?.[1]
  const path: Args.Args<Readonly<Record<string, string>>> =
    parameter === undefined
      ? nothing
      : Args.map(Args.text({ name: of ?? parameter }), (value) => ({ [parameter]: value }))
  const content: Args.Args<unknown> =
    input === undefined
      ? nothing
      : Args.text({ name: input.name }).pipe(
          Args.withDescription("- is the standard input"),
          Args.mapEffect(input.read)
        )
  const query = Flags.make(endpoint.urlParamsSchema)
  const fields = Flags.make(endpoint.payloadSchema, input?.fields)
  return Command.make(name, { path, content, query, fields }, (given) =>
    Effect.gen(function* () {
      // The engine is loaded only where it is used: not for help, nor for errors of usage.
      const { perform } = yield* Effect.promise(() => import("./Operation.ts"))
      const body = yield* perform(endpoint, {
        path: given.path,
        query: asText(given.query),
        body: Option.isSome(endpoint.payloadSchema) ? Either.right(bodyOf(given.fields, given.content)) : null
      })
      yield* Console.log(Logs.printable(JSON.stringify(body)))
    })
  ).pipe(Command.withDescription(description))
}

type Operation = ReturnType<typeof operation>

const group = (
  name: string,
  description: string,
  ...[first, ...more]: readonly [Operation, ...ReadonlyArray<Operation>]
) => Command.make(name).pipe(Command.withDescription(description), Command.withSubcommands([first, ...more]))

const account = { of: "account-id" }
const session = { of: "session-id" }
const key = { of: "public-key" }
const webhook = { of: "webhook-id" }
const delivery = { of: "delivery-id" }
const job = { of: "job-id" }
const operator = { of: "operator" }

export const root = Command.make("sendwright").pipe(
  Command.withDescription("The operator's side of Sendwright, on the database of DATABASE_URL."),
  Command.withSubcommands([
    group(
      "accounts",
      "Accounts, their plans and what they used.",
      operation("create", Api.createAccount, "Create an account."),
      operation("list", Api.accounts, "List the accounts."),
      operation("show", Api.account, "Show an account.", account),
      operation("change", Api.changeAccount, "Change an account or its plan.", account),
      operation("usage", Api.usage, "Show what an account used today.", account)
    ),
    group(
      "sessions",
      "Connections of an account to a platform.",
      operation("create", Api.createSession, "Create a session.", account),
      operation("list", Api.sessions, "List an account's sessions.", account),
      operation("show", Api.session, "Show a session.", session),
      operation("change", Api.changeSession, "Change a session; its configuration as a whole.", session),
      operation("connect", Api.connect, "Connect a session to its platform.", session),
      operation("disconnect", Api.disconnect, "Disconnect a session.", session)
    ),
    group(
      "keys",
      "API keys of a session.",
      operation("issue", Api.issueKey, "Issue a key; its secret is shown once.", session),
      operation("list", Api.keys, "List a session's keys.", session),
      operation("rotate", Api.rotateKey, "Give a key a new secret, shown once.", key),
      operation("revoke", Api.revokeKey, "Revoke a key for good.", key),
      operation("change", Api.changeKey, "Change a key.", key)
    ),
    group(
      "templates",
      "Templates of a session.",
      operation("import", Api.importTemplates, "Import templates in the platform's form.", {
        ...session,
        input: templates
      }),
      operation("sync", Api.syncTemplates, "Import all templates from the platform.", session)
    ),
    group(
      "consents",
      "Consents of an account's recipients.",
      operation("record", Api.recordConsents, "Record up to 10,000 consents.", {
        ...account,
        input: consents
      }),
      operation(
        "show",
        Api.consents,
        "Show the consents of a phone or a user id, and their history.",
        account
      ),
      operation("unattributed", Api.unattributed, "List what came in and names nobody.", account)
    ),
    group(
      "webhooks",
      "Receivers of an account's events.",
      operation("create", Api.createWebhook, "Register a receiver; its secret is shown once.", account),
      operation("list", Api.webhooks, "List an account's receivers.", account),
      operation("change", Api.changeWebhook, "Change a receiver.", webhook),
      operation("remove", Api.removeWebhook, "Remove a receiver.", webhook),
      operation("rotate", Api.rotateWebhook, "Give a receiver a new secret, shown once.", webhook),
      operation("test", Api.testWebhook, "Queue a test event.", webhook),
      operation("deliveries", Api.deliveries, "List a receiver's deliveries.", webhook),
      operation(
        "replay",
        Api.replayWebhook,
        "Deliver again what failed since a time, or is missing.",
        webhook
      )
    ),
    group(
      "deliveries",
      "Single deliveries to receivers.",
      operation("replay", Api.replayDelivery, "Deliver once more.", delivery)
    ),
    group(
      "rate-cards",
      "Dated prices.",
      operation("add", Api.addRateCard, "Add a rate card.", { input: card }),
      operation("import", Api.importRateCard, "Add a rate card from a platform's published list.", {
        input: list
      }),
      operation("list", Api.rateCards, "List the rate cards.")
    ),
    group(
      "messages",
      "Direct messages.",
      operation("list", Api.messages, "List an account's direct messages.")
    ),
    group(
      "jobs",
      "Template sends.",
      operation("list", Api.adminJobs, "List an account's jobs."),
      operation("show", Api.adminJob, "Show a job and its recipients.", job),
      operation("cancel", Api.cancelJob, "Cancel what of a job was not sent.", job),
      operation(
        "retry",
        Api.retryJob,
        "Send to a job's failed recipients again: those who match every flag, without one those whose failure is not permanent. A permanent failure needs its code or phone. --statuses unknown names those who may have the message already: they may get it twice. --dry-run true only counts.",
        job
      )
    ),
    group(
      "operators",
      "Who may use the admin API, each with a token of its own.",
      operation("create", Api.createOperator, "Make an operator; its token is shown once."),
      operation("list", Api.operators, "List the operators."),
      operation("rotate", Api.rotateOperator, "Give an operator a new token, shown once.", operator),
      operation("revoke", Api.revokeOperator, "Revoke an operator for good.", operator)
    ),
    operation("audit", Api.audit, "List what operators did, newest first."),
    group(
      "secrets",
      "What is encrypted at rest.",
      operation(
        "reseal",
        Api.resealSecrets,
        "Encrypt everything anew under the first key of SECRET_KEY, and tell what still needs another (--list: which API keys)."
      )
    )
  ])
)
