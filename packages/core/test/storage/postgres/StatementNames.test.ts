/** Names of prepared statements (contract.md §13 "Databases"). */
import { describe, expect, it } from "vitest"
import { makePrepare } from "../../../src/storage/postgres/PipelinedConnection.ts"

describe("the name of a statement", () => {
  it("means one text in every process, in whatever order they prepare theirs", () => {
    const [one, other] = [makePrepare({ isShared: false }), makePrepare({ isShared: false })]
    const first = one.statement("SELECT a FROM b WHERE c = ?")
    other.statement("INSERT INTO b (a) VALUES (?)")
    expect(other.statement("SELECT a FROM b WHERE c = ?")).toEqual(first)
    expect(one.statement("INSERT INTO b (a) VALUES (?)").name).not.toBe(first.name)
    // PostgreSQL cuts names behind 63 bytes.
    expect(first.name?.length).toBeLessThanOrEqual(63)
  })
})
