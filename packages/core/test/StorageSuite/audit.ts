/** Operators, the audit log, and transactions that make one commit of an act and its entry. */

import { describe, expect, it } from "@effect/vitest"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Audit from "../../src/domain/Audit.ts"
import * as Time from "../../src/domain/Instant.ts"
import { AccountStore } from "../../src/storage/AccountStore.ts"
import { AuditStore } from "../../src/storage/AuditStore.ts"
import { OperatorStore } from "../../src/storage/OperatorStore.ts"
import { StorageError } from "../../src/storage/StorageError.ts"
import { Transactions } from "../../src/storage/Transactions.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import type { Stored } from "./Setup.ts"
import { now } from "./Setup.ts"

const page = { limit: 100, after: null }

export const suite = (layer: Stored) => {
  describe("operators", () => {
    it.effect("are found as they were written, and a name is taken for good", () =>
      Effect.gen(function* () {
        const operators = yield* OperatorStore
        expect(yield* operators.find("nobody")).toBeNull()
        const ana = Fixtures.operator("ana", { role: "metrics" })
        expect(yield* operators.create(ana)).toBe(true)
        expect(yield* operators.create(Fixtures.operator("bob"))).toBe(true)
        expect(yield* operators.find("ana")).toEqual(ana)
        expect(yield* operators.find("nobody")).toBeNull()
        expect((yield* operators.list(page)).items.map(({ name }) => name)).toEqual(["bob", "ana"])
        const first = yield* operators.list({ limit: 1, after: null })
        expect((yield* operators.list({ limit: 1, after: first.next })).items).toEqual([ana])
        expect(yield* operators.revoke("ana")).toEqual({ ...ana, status: "revoked" })
        expect(yield* operators.create(Fixtures.operator("ana"))).toBe(false)
        expect(yield* operators.find("ana")).toEqual({ ...ana, status: "revoked" })
        expect(yield* operators.revoke("nobody")).toBeNull()
      }).pipe(Effect.provide(layer))
    )

    it.effect("overlap tokens on rotation like API keys, move to another pepper, and note their use", () =>
      Effect.gen(function* () {
        const operators = yield* OperatorStore
        yield* operators.create(Fixtures.operator("ana"))
        for (const hash of ["11", "22", "33"]) {
          const secret = { hash, createdAt: now, expiresAt: null }
          yield* operators.rotate({ name: "ana", secret, expireOthersAt: Time.after(now, 1000), now })
        }
        yield* operators.rehash({ name: "ana", from: "22", to: "44" })
        yield* operators.rehash({ name: "ana", from: "gone", to: "55" })
        yield* operators.touch({ name: "ana", now: Time.after(now, 5) })
        const found = yield* operators.find("ana")
        expect(found?.lastUsedAt).toBe(now + 5)
        expect(found?.secrets.map(({ expiresAt, hash }) => [hash, expiresAt])).toEqual([
          ["33", null],
          ["44", now + 1000],
          ["11", now + 1000]
        ])
        const secret = { hash: "66", createdAt: now, expiresAt: null }
        expect(yield* operators.rotate({ name: "nobody", secret, expireOthersAt: now, now })).toBeNull()
      }).pipe(Effect.provide(layer))
    )
  })

  describe("the audit log", () => {
    it.effect("lists its entries newest first, page by page, by every member of a query", () =>
      Effect.gen(function* () {
        const audit = yield* AuditStore
        const entries = [
          Fixtures.auditEntry(),
          Fixtures.auditEntry({
            operator: "bob",
            at: Time.after(now, 1),
            before: { name: "Before" },
            after: null
          }),
          Fixtures.auditEntry({
            operation: "accounts.change",
            at: Time.after(now, 2),
            address: null,
            requestId: null
          }),
          Fixtures.auditEntry({ operator: "bob", target: null, at: Time.after(now, 3) })
        ]
        for (const entry of entries) yield* audit.append({ entry, retainSince: Time.at(0) })
        const newest = [...entries].reverse()
        expect(yield* audit.list({ page })).toEqual({ items: newest, next: null })
        const first = yield* audit.list({ page: { limit: 3, after: null } })
        yield* audit.append({
          entry: Fixtures.auditEntry({ at: Time.after(now, 4), operator: "eve" }),
          retainSince: Time.at(0)
        })
        const rest = yield* audit.list({ page: { limit: 3, after: first.next } })
        expect([...first.items, ...rest.items]).toEqual(newest)
        const found = (query: Omit<Audit.Query, "page">) =>
          Effect.map(audit.list({ ...query, page }), ({ items }) => items.map(({ at }) => at - now))
        expect(yield* found({ operator: "bob" })).toEqual([3, 1])
        expect(yield* found({ operation: "accounts.change" })).toEqual([2])
        expect(yield* found({ target: "account-1" })).toEqual([4, 2, 1, 0])
        expect(yield* found({ from: Time.after(now, 1), to: Time.after(now, 3) })).toEqual([2, 1])
        expect(
          yield* found({ operator: "bob", operation: "accounts.create", to: Time.after(now, 2) })
        ).toEqual([1])
        expect(yield* found({ operator: "nobody" })).toEqual([])
      }).pipe(Effect.provide(layer))
    )

    it.effect("loses its oldest entries over their retention as new ones come, a hundred at a time", () =>
      Effect.gen(function* () {
        const audit = yield* AuditStore
        const old = Audit.prunedAtOnce + 20
        for (let at = 0; at < old; at++) {
          yield* audit.append({ entry: Fixtures.auditEntry({ at: Time.at(at) }), retainSince: Time.at(0) })
        }
        const left = Effect.fnUntraced(function* (at: Time.Instant) {
          yield* audit.append({ entry: Fixtures.auditEntry({ at }), retainSince: now })
          const items: Array<number> = []
          for (let after: number | null = null; ; ) {
            const found: Effect.Effect.Success<ReturnType<typeof audit.list>> = yield* audit.list({
              page: { limit: 100, after }
            })
            items.push(...found.items.map((entry) => entry.at))
            if (found.next === null) return items
            after = found.next
          }
        })
        expect(yield* left(now)).toHaveLength(21)
        expect(yield* left(Time.after(now, 1))).toEqual([now + 1, now])
        expect(yield* left(Time.after(now, 2))).toEqual([now + 2, now + 1, now])
      }).pipe(Effect.provide(layer))
    )
  })

  describe("a transaction of several verbs", () => {
    it.effect("is one commit, and is inside until its end", () =>
      Effect.gen(function* () {
        const accounts = yield* AccountStore
        const audit = yield* AuditStore
        const { atomically } = yield* Transactions
        const account = Fixtures.account()
        const answer = yield* atomically(
          Effect.gen(function* () {
            yield* audit.serialize(account.id)
            yield* accounts.create(account)
            yield* audit.append({
              entry: Fixtures.auditEntry({ target: account.id }),
              retainSince: Time.at(0)
            })
            return yield* accounts.find(account.id)
          })
        )
        expect(answer).toEqual(account)
        expect(yield* accounts.find(account.id)).toEqual(account)
        expect((yield* audit.list({ page })).items).toHaveLength(1)
      }).pipe(Effect.provide(layer))
    )

    it.effect("of one target is done one after the other, also where two come together", () =>
      Effect.gen(function* () {
        const accounts = yield* AccountStore
        const audit = yield* AuditStore
        const { atomically, isEmbedded } = yield* Transactions
        const account = Fixtures.account({ name: "0" })
        yield* accounts.create(account)
        const increment = atomically(
          Effect.gen(function* () {
            yield* audit.serialize(account.id)
            const found = yield* accounts.find(account.id)
            yield* Effect.yieldNow()
            const name = String(Number(found?.name) + 1)
            yield* accounts.change({ id: account.id, change: { name }, now })
          })
        )
        // Memory's verbs do not wait for each other.
        if (!(yield* atomically(isEmbedded))) return
        yield* Effect.all(
          Array.from({ length: 10 }, () => increment),
          { concurrency: "unbounded" }
        )
        expect((yield* accounts.find(account.id))?.name).toBe("10")
      }).pipe(Effect.provide(layer))
    )

    it.effect("leaves nothing when it fails or is interrupted", () =>
      Effect.gen(function* () {
        const accounts = yield* AccountStore
        const { atomically, isEmbedded } = yield* Transactions
        // Memory has no rollback.
        if (!(yield* atomically(isEmbedded))) return
        const account = Fixtures.account()
        const failure = new StorageError({ operation: "test", cause: "test" })
        const failed = atomically(Effect.zipRight(accounts.create(account), failure))
        expect((yield* Effect.flip(failed)).operation).toBe(failure.operation)
        expect(yield* accounts.find(account.id)).toBeNull()
        const created = yield* Deferred.make<void>()
        const fiber = yield* Effect.fork(
          atomically(
            accounts
              .create(account)
              .pipe(Effect.zipRight(Deferred.succeed(created, undefined)), Effect.zipRight(Effect.never))
          )
        )
        yield* Deferred.await(created)
        yield* Fiber.interrupt(fiber)
        expect(yield* accounts.find(account.id)).toBeNull()
        yield* accounts.create(account)
        expect(yield* accounts.find(account.id)).toEqual(account)
      }).pipe(Effect.provide(layer))
    )
  })
}
