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

/** The call of a command: `accounts show` is `accounts.find`. */
const callOf = (admin: Admin, command: string): ((input: unknown) => unknown) => {
  const [group = "", verb] = command.replaceAll(/-(.)/g, (_, first: string) => first.toUpperCase()).split(" ")
  const found: unknown = Reflect.get(admin, group)
  const call: unknown =
    verb === undefined ? found : Reflect.get(Object(found), verb === "show" ? "find" : verb)
  return typeof call === "function" ? (input) => call(input) : expect.fail(`There is no ${command}.`)
}

/** The jobs of a reference together have another answer, and a call of their own. */
const elsewhere: Readonly<Record<string, string>> = { "jobs list": "group" }

/** Lists go on page by page by themselves here, and exports are rows. */
const paging: ReadonlySet<string> = new Set(["limit", "cursor", "format"])

const unpaged = (members: object, command: string): object =>
  Object.fromEntries(
    Object.entries(members).filter(([name]) => !paging.has(name) && name !== elsewhere[command])
  )

const membersOf = (schema: Option.Option<{ readonly ast: SchemaAST.AST }>): object => {
  const members = Option.isSome(schema) ? everyMember(schema.value.ast) : undefined
  return typeof members === "object" && members !== null ? members : {}
}

const asked = AdminApi.operations.flatMap(({ command: { name }, endpoint }) => {
  const members = unpaged(
    { ...membersOf(endpoint.payloadSchema), ...membersOf(endpoint.urlParamsSchema) },
    name
  )
  return Object.keys(members).length === 0 ? [] : [{ name, members }]
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
  it.each(asked)("$name is known here", async ({ members, name }) => {
    const sw = await open()
    const error = await refusalOf(() => callOf(sw.admin, name)(members))
    const issues = SendwrightError.is(error) ? error.issues : expect.fail(`It was taken: ${String(error)}`)
    expect(issues.length).toBeGreaterThan(0)
    expect(issues.filter(({ code }) => code === "unknown_field")).toEqual([])
  })
})

it("an import's begin is when its items without a time were said, so that it may be repeated", async () => {
  const { account, sw } = await start()
  const importedAt = new Date("2026-01-05T09:00:00Z")
  const consents = [{ phone: "34600000007", source: "import" }]
  const record = () => sw.admin.consents.record({ accountId: account.id, consents, importedAt })
  expect(await record()).toMatchObject({ recorded: 1 })
  await record()
  const { history } = await sw.admin.consents.find({ accountId: account.id, phone: "34600000007" })
  expect(history).toMatchObject([{ occurredAt: importedAt }])
  expect(history.length).toBe(1)
})
