/** Too many wrong credentials are refused before any store is asked, and a stranger's lock nobody else out. */
import { describe, expect, it } from "@effect/vitest"
import { Engine, Errors } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as MutableRef from "effect/MutableRef"
import * as Redacted from "effect/Redacted"
import * as TestClock from "effect/TestClock"
import * as Api from "../../src/api/Api.ts"
import * as Steps from "../../src/http/Steps.ts"
import { caller } from "./Caller.ts"

const limits = { perAddress: 8, perSubject: 3, perMinute: 60 }
const adminToken = "an-admin-token-of-24-and-more"

/** An engine whose right secrets are those of `secretOf`, what it was asked, and calls of it over HTTP. */
const host = Effect.gen(function* () {
  const asked: Array<string> = []
  const wrong = new Set<string>()
  const mayLook = yield* Effect.makeLatch(true)
  /** Credentials are looked at until this is opened. */
  const hold = Effect.as(mayLook.close, mayLook)
  const engine = Engine.Engine.of({
    ...Object.create(null),
    authorize: (known: Engine.Caller) => Effect.succeed(known),
    identify: ({ publicKey, secretKey }: Engine.Credentials) =>
      Effect.suspend(() => {
        asked.push(`${publicKey}`)
        return mayLook.await
      }).pipe(
        Effect.zipRight(
          Effect.suspend(() =>
            secretKey === secretOf(`${publicKey}`) && !wrong.has(`${publicKey}`)
              ? Effect.succeed(caller)
              : new Errors.InvalidCredentials()
          )
        )
      ),
    hook: (
      _: string,
      sessionId: string,
      { headers, query }: { headers: Record<string, string>; query: Record<string, string> }
    ) =>
      Effect.suspend(() => {
        asked.push(sessionId)
        return headers["x-signature"] === "right" || query["token"] === "right"
          ? Effect.succeed(null)
          : new Errors.HookForged({ reason: "The signature is wrong." })
      })
  })
  const metrics = {
    access: "operator",
    role: "metrics",
    contentType: "text/plain",
    body: Effect.succeed("metrics")
  } as const
  const handle = yield* Steps.make({
    engine,
    routes: Api.operations.map(({ route }) => route(engine)),
    pages: new Map([["/metrics", metrics]]),
    baseUrl: "http://base",
    adminToken: Redacted.make(adminToken),
    guesses: limits,
    stopping: MutableRef.make(false)
  })
  const call = (url: string, method: string, headers: Record<string, string>, address: string | undefined) =>
    handle({ method, url, headers, address, hasBody: false, body: () => Effect.succeed(new Uint8Array()) })
  const connect = (address: string | undefined, publicKey: string, secretKey = "wrong") =>
    call("/api/v1/connection", "GET", { "x-public-key": publicKey, "x-secret-key": secretKey }, address)
  const operate = (address: string | undefined, token = "wrong") =>
    call("/metrics", "GET", { authorization: `Bearer ${token}` }, address)
  const hook = (address: string | undefined, sessionId: string, signature = "wrong") =>
    call(`/hooks/http/${sessionId}`, "POST", { "x-signature": signature }, address)
  const shake = (address: string | undefined, sessionId: string, token: string) =>
    call(`/hooks/whatsapp/${sessionId}?token=${token}`, "GET", {}, address)
  return { asked, wrong, hold, connect, operate, hook, shake }
})

/** What was begun has come to where it waits. */
const settled = Effect.repeatN(Effect.yieldNow(), 100)

const secretOf = (publicKey: string): string => `secret of ${publicKey}`

const statuses = <E>(times: number, call: (n: number) => Effect.Effect<Steps.PlainResponse, E>) =>
  Effect.map(Effect.all(Array.from({ length: times }, (_, n) => call(n))), (all) =>
    all.map(({ status }) => status)
  )

const repeated = (status: number, times: number): ReadonlyArray<number> => Array(times).fill(status)

const [stranger, owner] = ["203.0.113.7", "198.51.100.1"]

describe("guessing", () => {
  it.effect("at a public key is refused over a burst, with Retry-After and without asking the engine", () =>
    Effect.gen(function* () {
      const { asked, connect } = yield* host
      expect(yield* statuses(3, () => connect(stranger, "pk_a"))).toEqual([401, 401, 401])
      const refused = yield* connect(stranger, "pk_a")
      expect([refused.status, refused.headers["retry-after"]]).toEqual([429, "1"])
      expect(refused.headers["content-type"]).toBe("application/problem+json")
      expect(JSON.parse(String(refused.body))).toMatchObject({ ok: false, code: "rate_limited", status: 429 })
      expect(asked).toHaveLength(3)
      yield* TestClock.adjust("1 second")
      expect(yield* statuses(2, () => connect(stranger, "pk_a"))).toEqual([401, 429])
      expect((yield* connect(stranger, "pk_b")).status).toBe(401)
    })
  )

  it.effect("over many public keys is refused by the address, also where credentials are missing", () =>
    Effect.gen(function* () {
      const { asked, connect } = yield* host
      expect(yield* statuses(8, (n) => connect(stranger, `pk_${n}`))).toEqual(repeated(401, 8))
      expect(yield* statuses(50, (n) => connect(stranger, `pk_new_${n}`))).toEqual(repeated(429, 50))
      expect(asked).toHaveLength(8)
      expect((yield* connect(owner, "pk_a")).status).toBe(401)
    })
  )

  it.effect("by a stranger does not lock out the key's owner at another address", () =>
    Effect.gen(function* () {
      const { connect } = yield* host
      yield* statuses(50, () => connect(stranger, "pk_a"))
      expect((yield* connect(owner, "pk_a", secretOf("pk_a"))).status).toBe(200)
      expect((yield* connect(stranger, "pk_a", secretOf("pk_a"))).status).toBe(429)
    })
  )

  it.effect(
    "does not lock out who was right from the same address within the hour, with those very credentials",
    () =>
      Effect.gen(function* () {
        const { connect, wrong } = yield* host
        expect((yield* connect(stranger, "pk_a", secretOf("pk_a"))).status).toBe(200)
        for (let minute = 0; minute < 90; minute++) {
          yield* statuses(50, (n) => connect(stranger, n % 2 === 0 ? "pk_a" : `pk_${n}`))
          if (minute % 40 === 0) {
            expect((yield* connect(stranger, "pk_a", secretOf("pk_a"))).status).toBe(200)
          }
          yield* TestClock.adjust("1 minute")
        }
        yield* statuses(50, (n) => connect(stranger, n % 2 === 0 ? "pk_a" : `pk_${n}`))
        expect((yield* connect(stranger, "pk_a", "wrong")).status).toBe(429)
        expect((yield* connect(stranger, "pk_b", secretOf("pk_b"))).status).toBe(429)
        wrong.add("pk_a")
        expect(yield* statuses(2, () => connect(stranger, "pk_a", secretOf("pk_a")))).toEqual([401, 429])
      })
  )

  it.effect("counts an IPv6 client by its /64, and an IPv4 one by itself however it is written", () =>
    Effect.gen(function* () {
      const { connect } = yield* host
      const from = (n: number) => connect(`2001:db8:1:2:${n}::${n}`, `pk_${n}`)
      expect(yield* statuses(9, from)).toEqual([...repeated(401, 8), 429])
      expect((yield* connect("2001:db8:1:3::1", "pk_a")).status).toBe(401)
      yield* statuses(8, (n) => connect(`::ffff:${stranger}`, `pk_${n}`))
      expect((yield* connect(stranger, "pk_x")).status).toBe(429)
      expect((yield* connect("::ffff:203.0.113.8", "pk_x")).status).toBe(401)
    })
  )

  it.effect("is counted by public key alone where no address is told", () =>
    Effect.gen(function* () {
      const { connect } = yield* host
      expect(yield* statuses(50, (n) => connect(undefined, `pk_${n}`))).toEqual(repeated(401, 50))
      expect(yield* statuses(3, () => connect(undefined, "pk_0"))).toEqual([401, 401, 429])
    })
  )

  it.effect("with many secrets at once is answered no more often than one by one", () =>
    Effect.gen(function* () {
      const { asked, connect, hold } = yield* host
      const looked = yield* hold
      const burst = yield* Effect.fork(
        Effect.forEach(
          Array.from({ length: 50 }, (_, n) => n),
          (n) => connect(stranger, "pk_a", `wrong ${n}`),
          {
            concurrency: "unbounded"
          }
        )
      )
      yield* settled
      expect(asked).toHaveLength(3)
      yield* looked.open
      const told = (yield* Fiber.join(burst)).map(({ status }) => status)
      expect(told.filter((status) => status === 401)).toHaveLength(3)
      expect(told.filter((status) => status === 429)).toHaveLength(47)
      yield* TestClock.adjust("1 minute")
      expect(yield* statuses(4, () => connect(stranger, "pk_a", "another"))).toEqual([401, 401, 401, 429])
    })
  )

  it.effect("is no guessing where a client begins with right credentials in many requests at once", () =>
    Effect.gen(function* () {
      const { connect, hold } = yield* host
      const looked = yield* hold
      const first = yield* Effect.fork(
        Effect.all(
          Array.from({ length: 300 }, () => connect(owner, "pk_a", secretOf("pk_a"))),
          {
            concurrency: "unbounded"
          }
        )
      )
      yield* settled
      yield* looked.open
      expect((yield* Fiber.join(first)).map(({ status }) => status)).toEqual(repeated(200, 300))
      expect(yield* statuses(4, () => connect(owner, "pk_a"))).toEqual([401, 401, 401, 429])
    })
  )

  it.effect("takes nothing for requests whose clients hang up before it is known", () =>
    Effect.gen(function* () {
      const { asked, connect, hold } = yield* host
      const looked = yield* hold
      for (let round = 0; round < 5; round++) {
        const gone = yield* Effect.fork(
          Effect.all(
            Array.from({ length: 3 }, (_, n) => connect(stranger, "pk_a", `wrong ${n}`)),
            {
              concurrency: "unbounded"
            }
          )
        )
        yield* settled
        yield* Fiber.interrupt(gone)
      }
      expect(asked).toHaveLength(15)
      yield* looked.open
      expect(yield* statuses(4, () => connect(stranger, "pk_a"))).toEqual([401, 401, 401, 429])
    })
  )

  it.effect("at the operator's token is refused by address, and counted apart from API keys", () =>
    Effect.gen(function* () {
      const { connect, operate } = yield* host
      expect((yield* operate(owner, adminToken)).status).toBe(200)
      for (const address of [stranger, owner]) {
        expect(yield* statuses(9, () => operate(address))).toEqual([...repeated(401, 8), 429])
      }
      expect((yield* operate(owner, adminToken)).status).toBe(200)
      expect((yield* operate(stranger, adminToken)).status).toBe(429)
      expect((yield* connect(stranger, "pk_a")).status).toBe(401)
    })
  )

  it.effect("at a hook's signature makes no signed hook wait, wherever the forgeries come from", () =>
    Effect.gen(function* () {
      const { hook } = yield* host
      for (const address of [stranger, undefined]) {
        expect(yield* statuses(500, () => hook(address, "s1"))).toEqual(repeated(401, 500))
        expect((yield* hook(address, "s1", "right")).status).toBe(200)
      }
    })
  )

  it.effect("at a handshake's token is refused for its session alone, since one platform calls for all", () =>
    Effect.gen(function* () {
      const { asked, shake } = yield* host
      expect(yield* statuses(4, (n) => shake(stranger, "s1", `${n}`))).toEqual([401, 401, 401, 429])
      expect(asked).toHaveLength(3)
      expect((yield* shake(stranger, "s2", "right")).status).toBe(200)
      expect((yield* shake(owner, "s1", "right")).status).toBe(200)
    })
  )
})
