/** The server's code of an error, however a client wraps it. */
import { describe, expect, it } from "vitest"
import * as SqlState from "../../../src/storage/postgres/SqlState.ts"

const server = Object.assign(new Error("duplicate key"), { code: "23505" })

describe("the SQLSTATE of an error", () => {
  it.each<[string, unknown]>([
    ["of `pg` and postgres.js", server],
    ["of Drizzle, as its cause", new Error("Failed query", { cause: server })],
    ["of TypeORM, as its driver's", { name: "QueryFailedError", driverError: server }],
    ["of Sequelize, as the original", { name: "UniqueConstraintError", original: server }],
    ["of Prisma's own engine", { code: "P2010", meta: { code: "23505", message: "duplicate key" } }],
    [
      "of Prisma over a driver",
      { code: "P2010", meta: { driverAdapterError: { cause: { originalCode: "23505", kind: "postgres" } } } }
    ],
    [
      "of an error that is wrapped twice",
      new Error("Outer", { cause: new Error("Inner", { cause: server }) })
    ]
  ])("is found: %s", (_, error) => {
    expect(SqlState.sqlStateOf(error)).toBe("23505")
  })

  it("may be one of PL/pgSQL's, which begin with P0", () => {
    expect(SqlState.sqlStateOf({ code: "P0001" })).toBe("P0001")
  })

  it.each<[string, unknown]>([
    ["the system's", { code: "EPIPE" }],
    ["Prisma's own", { code: "P2028", meta: {} }],
    ["none", new Error("Connection terminated")],
    ["a text", "23505"],
    ["nothing", undefined]
  ])("is none where the code is %s", (_, error) => {
    expect(SqlState.sqlStateOf(error)).toBe("")
  })

  it("is none of an error that is its own cause", () => {
    const error = new Error("Circle")
    error.cause = error
    expect(SqlState.sqlStateOf(error)).toBe("")
  })
})
