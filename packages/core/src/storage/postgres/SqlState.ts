/** The SQLSTATE of an error, of whichever client's: most wrap the server's. */
import * as Predicate from "effect/Predicate"

/** No class of states begins with an E, as the system's codes do, nor with a P and another digit than 0, as Prisma's codes do. */
const isState = /^(?!P[1-9])[0-9A-DF-Z][0-9A-Z]{4}$/

/** Where the server's code is, and where what is wrapped: by `Error`, TypeORM, Sequelize, and Prisma. */
const codes = ["code", "originalCode", "sqlState"]
const wrapped = ["cause", "driverError", "original", "meta", "driverAdapterError"]

/** How deep a client may wrap the server's error. */
const mostCauses = 5

const members = (error: unknown, names: ReadonlyArray<string>): ReadonlyArray<unknown> =>
  names.map((name) => (Predicate.hasProperty(error, name) ? error[name] : undefined))

/** Empty where there is none. */
export const sqlStateOf = (error: unknown, depth = 0): string => {
  for (const code of members(error, codes)) if (typeof code === "string" && isState.test(code)) return code
  if (depth === mostCauses) return ""
  for (const cause of members(error, wrapped)) {
    const found = sqlStateOf(cause, depth + 1)
    if (found !== "") return found
  }
  return ""
}
