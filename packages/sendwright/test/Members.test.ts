/** What operators may say over REST they may say here: every member of every request of the admin API, by its name in camelCase. */
import { AdminApi } from "@sendwright/core/contract"
import * as Option from "effect/Option"
import type * as SchemaAST from "effect/SchemaAST"
import { type Admin, SendwrightError } from "sendwright"
import { describe, expect, it } from "vitest"
import { open, start } from "./Support.ts"

/** No value of any member: whatever is known is refused for it, and what is not known for its name. */
const nonsense = Symbol("nonsense")

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

/** Every member that a schema has, of objects in lists and in objects, too. */
const everyMember = (ast: SchemaAST.AST): unknown => {
  switch (ast._tag) {
    case "TypeLiteral":
      return ast.propertySignatures.length === 0
        ? nonsense
        : Object.fromEntries(
            ast.propertySignatures.map(({ name, type }) => [camel(String(name)), everyMember(type)])
          )
    case "TupleType":
      return ast.rest.map(({ type }) => everyMember(type))
    case "Union": {
      const parts = ast.types.map(everyMember).filter((part) => part !== nonsense)
      return parts.length > 1 ? Object.assign({}, ...parts) : (parts[0] ?? nonsense)
    }
    case "Refinement":
    case "Transformation":
      return everyMember(ast.from)
    default:
      return nonsense
  }
}

type Call = (admin: Admin, input: never) => unknown

/** By which call each is said here, and members that have another name, or a place of their own. */
const calls: Readonly<
  Record<string, { readonly call: Call; readonly named?: Readonly<Record<string, string | null>> }>
> = {
  "accounts create": { call: ({ accounts }, input) => accounts.create(input) },
  "accounts change": { call: ({ accounts }, input) => accounts.change(input) },
  "accounts usage": { call: ({ accounts }, input) => accounts.usageBy(input) },
  "sessions create": { call: ({ sessions }, input) => sessions.create(input) },
  "sessions change": { call: ({ sessions }, input) => sessions.change(input) },
  "jobs change": { call: ({ jobs }, input) => jobs.change(input) },
  "keys issue": { call: ({ keys }, input) => keys.issue(input) },
  "keys rotate": { call: ({ keys }, input) => keys.rotate(input) },
  "keys change": { call: ({ keys }, input) => keys.change(input) },
  "templates all": { call: ({ templates }, input) => templates.all(input) },
  "templates list": { call: ({ templates }, input) => templates.list(input) },
  "templates import": { call: ({ templates }, input) => templates.import(input) },
  "consents record": { call: ({ consents }, input) => consents.record(input) },
  "consents move": { call: ({ consents }, input) => consents.move(input) },
  "consents show": { call: ({ consents }, input) => consents.find(input) },
  "people show": { call: ({ people }, input) => people.find(input) },
  "people erase": { call: ({ people }, input) => people.erase(input) },
  "people export": { call: ({ people }, input) => people.export(input) },
  "webhooks create": { call: ({ webhooks }, input) => webhooks.create(input) },
  "webhooks change": { call: ({ webhooks }, input) => webhooks.change(input) },
  "webhooks rotate": { call: ({ webhooks }, input) => webhooks.rotate(input) },
  "webhooks replay": { call: ({ webhooks }, input) => webhooks.replaySince(input) },
  "rate-cards add": { call: ({ rateCards }, input) => rateCards.add(input) },
  "rate-cards import": { call: ({ rateCards }, input) => rateCards.importCsv(input) },
  "messages list": { call: ({ jobs }, input) => jobs.messages(input) },
  "jobs list": {
    call: ({ jobs }, input) => jobs.list(input),
    // The jobs of a reference together have another answer, and a call of their own.
    named: { key: "publicKey", stuck: "isStuck", group: null }
  },
  "jobs count": {
    call: ({ jobs }, input) => jobs.count(input),
    named: { key: "publicKey", stuck: "isStuck" }
  },
  "deliveries count": { call: ({ deliveries }, input) => deliveries.count(input) },
  "jobs schedule": { call: ({ jobs }, input) => jobs.schedule(input) },
  "jobs retry": { call: ({ jobs }, input) => jobs.retry(input) },
  "retries begin": { call: ({ jobs }, input) => jobs.retry(input), named: { key: "publicKey" } },
  // `hold` is a call of its own, `restore.hold()`.
  restore: { call: ({ restore }, input) => restore.open(input), named: { hold: null } },
  purge: { call: ({ storage }, input) => storage.purge(input) },
  "operators create": {
    call: ({ operators }, input) => operators.create(input),
    named: { maskPhones: "masksPhones" }
  },
  "operators rotate": { call: ({ operators }, input) => operators.rotate(input) },
  audit: { call: ({ audit }, input) => audit.list(input) },
  "deliveries list": { call: ({ deliveries }, input) => deliveries.list(input) },
  "events list": { call: ({ events }, input) => events.list(input) },
  "export consents": { call: (admin, input) => admin.export.consents(input) },
  "export events": { call: (admin, input) => admin.export.events(input) },
  "export results": { call: (admin, input) => admin.export.results(input) },
  "jobs show": { call: ({ jobs }, input) => jobs.find(input) },
  // It takes the text alone.
  search: { call: ({ search }, { q }: { readonly q: never }) => search(q) },
  "secrets reseal": { call: ({ secrets }, input) => secrets.reseal(input) },
  "sessions all": { call: ({ sessions }, input) => sessions.all(input) },
  "templates preview": { call: ({ templates }, input) => templates.preview(input) },
  "webhooks all": { call: ({ webhooks }, input) => webhooks.all(input) }
}

/** Lists go on page by page by themselves here, and exports are rows. */
const paging: ReadonlySet<string> = new Set(["limit", "cursor", "format"])

const renamed = (value: unknown, named: Readonly<Record<string, string | null>>): unknown => {
  if (Array.isArray(value)) return value.map((each) => renamed(each, named))
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(
    Object.entries(value).flatMap(([name, each]) => {
      const known = Object.hasOwn(named, name) ? named[name] : name
      return known === null || known === undefined || paging.has(known) ? [] : [[known, renamed(each, named)]]
    })
  )
}

const membersOf = (schema: Option.Option<{ readonly ast: SchemaAST.AST }>): object => {
  const members = Option.isSome(schema) ? everyMember(schema.value.ast) : undefined
  return typeof members === "object" && members !== null ? members : {}
}

const asked = AdminApi.operations.flatMap(({ command: { name }, endpoint }) => {
  const members = renamed(
    { ...membersOf(endpoint.payloadSchema), ...membersOf(endpoint.urlParamsSchema) },
    {}
  )
  return Object.keys(members ?? {}).length === 0 ? [] : [{ name, members }]
})

const refusalOf = async (call: () => unknown): Promise<unknown> => {
  try {
    await call()
    return undefined
  } catch (error) {
    return error
  }
}

describe("every member of the admin API's request", () => {
  it.each(asked)("$name is known here", async (operation) => {
    const { call, named = {} } = calls[operation.name] ?? expect.fail("It has no call here.")
    const sw = await open()
    const input = renamed(operation.members, named) as never
    const error = await refusalOf(() => call(sw.admin, input))
    const issues = SendwrightError.is(error) ? error.issues : expect.fail(`It was taken: ${String(error)}`)
    expect(issues.length).toBeGreaterThan(0)
    expect(issues.filter(({ code }) => code === "unknown_field")).toEqual([])
  })

  it("is of an operation that there is", () => {
    const names = new Set<string>(asked.map(({ name }) => name))
    for (const name of Object.keys(calls)) expect(names).toContain(name)
  })
})

it("an import's begin is when its items without a time were said, so that it may be repeated", async () => {
  const { account, sw } = await start()
  const importedAt = new Date("2026-01-05T09:00:00Z")
  const consents = [{ phone: "34600000007", source: "import" }]
  const record = () => sw.admin.consents.record({ accountId: account.id, consents, importedAt })
  expect(await record()).toMatchObject([{ recorded: true, record: { occurredAt: importedAt } }])
  await record()
  const { history } = await sw.admin.consents.find({ accountId: account.id, phone: "34600000007" })
  expect(history.length).toBe(1)
})
