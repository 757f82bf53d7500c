import { describe, expect, it } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Ids from "../../src/domain/Ids.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as Json from "../../src/domain/Json.ts"
import * as FailureCatalogue from "../../src/domain/session/FailureCatalogue.ts"
import * as HttpGateway from "../../src/sender/HttpGateway.ts"
import type { OutboundMessage } from "../../src/sender/Sender.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"
import * as HttpPlatform from "../../src/testing/HttpPlatform.ts"
import * as SenderSuite from "../../src/testing/SenderSuite/index.ts"
import * as Signature from "../../src/webhook/Signature.ts"

const secret = "a-secret-of-the-gateway-that-nobody-may-see"
const token = "a-token-of-the-gateway-that-nobody-may-see"

const json = (status: number, body: object, headers: Readonly<Record<string, string>> = {}) => ({
  status,
  headers: { "content-type": "application/json", ...headers },
  body: JSON.stringify(body)
})

/** A gateway as docs/senders.md wants it: what is signed and new under its key is sent on. */
const gateway = Effect.gen(function* () {
  const taken = new Map<string, SenderSuite.ReceivedMessage>()
  const { closedUrl, situations, url } = yield* HttpPlatform.make({
    about: ({ body }) => Json.textAt(Json.parse(body), "message_id"),
    answer: ({ body, headers }, mood) => {
      const timestamp = Number(headers["x-service-timestamp"])
      const ours =
        headers["x-service-signature"] === Signature.sign(secret, timestamp, body) &&
        headers["x-token"] === token
      if (!ours) return json(401, { error: { code: "not_ours", message: "Who are you?" } })
      if (mood === "refuses") {
        return json(422, { error: { code: "recipient_unreachable", message: "No such number." } })
      }
      if (mood === "busy") return json(429, {}, { "retry-after": "7" })
      const key = headers["idempotency-key"] ?? ""
      const message = Json.parse(body)
      const one = taken.get(key) ?? {
        messageId: Json.textAt(message, "message_id") ?? null,
        to: Json.textAt(message, "to") ?? "",
        content: body,
        providerId: `gateway-${taken.size + 1}`
      }
      taken.set(key, one)
      return json(200, { id: one.providerId, status: "accepted" })
    }
  })
  const headers = { "x-token": token }
  const config = { url: `${url}/send`, secret, headers, timeout_ms: 60_000 }
  const platform: SenderSuite.Platform = {
    config,
    required: ["url", "secret"],
    secrets: ["secret", "headers"],
    unreachable: { ...config, url: closedUrl },
    situations: { ...situations, holds: SenderSuite.absent("A gateway cannot say that it holds a message.") },
    retryAfterMs: 7000,
    received: () => [...taken.values()],
    templates: null,
    hook: {
      signed: (body, at) => {
        const timestamp = Math.floor(at / Time.second)
        return {
          method: "POST",
          headers: {
            "x-service-timestamp": String(timestamp),
            "x-service-signature": Signature.sign(secret, timestamp, body)
          },
          query: {},
          body: new TextEncoder().encode(body),
          now: at
        }
      },
      delivered: ({ messageId }) =>
        JSON.stringify({ receipts: [{ message_id: messageId, status: "delivered" }] }),
      staleAfterMs: Signature.toleranceSeconds * Time.second
    },
    reports: null
  }
  return { sender: yield* HttpGateway.make(), platform }
})

SenderSuite.suite("http", gateway)

const message = (config: object): OutboundMessage => ({
  messageId: Ids.messageId(Fixtures.makeIds().jobId(Fixtures.now), 0),
  sessionId: "session",
  to: "34600000001",
  userId: null,
  content: { kind: "direct", text: "Hello", linkPreview: false },
  values: [],
  attempt: 1,
  config
})

/** Every answer of a gateway has a meaning. */
const answering = (status: number, body: object, headers: Readonly<Record<string, string>> = {}) =>
  Effect.scoped(
    Effect.gen(function* () {
      const { url } = yield* HttpPlatform.make({
        about: () => undefined,
        answer: () => json(status, body, headers)
      })
      const { send } = yield* HttpGateway.make()
      return { url, result: yield* send(message({ url: `${url}/send`, secret })) }
    })
  )

const meant = (status: number, body: object, headers?: Readonly<Record<string, string>>) =>
  Effect.map(answering(status, body, headers), ({ result }) => result)

describe("a gateway's refusal (contract.md §9, §10)", () => {
  it.live("with a code of the catalogue is what that says, whatever its status", () =>
    Effect.gen(function* () {
      for (const code of [
        "credentials_rejected",
        "number_restricted",
        "template_paused",
        "pair_rate_limited"
      ]) {
        for (const status of [401, 403, 422, 503]) {
          expect(yield* meant(status, { error: { code } }), `${status} ${code}`).toMatchObject({
            _tag: "Transient",
            failure: { code, permanent: false, message: FailureCatalogue.find(code)?.message }
          })
        }
      }
      for (const status of [400, 429, 500]) {
        const failure = { code: "recipient_unreachable", permanent: true }
        const result = yield* meant(status, {
          error: { code: "recipient_unreachable", message: "No such number." }
        })
        expect(result, `${status}`).toMatchObject({ _tag: "Rejected", failure })
      }
    })
  )

  it.live("by which it asks to come again is tried again, and is no outage", () =>
    Effect.gen(function* () {
      for (const status of [408, 409, 423, 425, 429]) {
        expect(yield* meant(status, {}), `${status}`).toMatchObject({
          _tag: "Transient",
          answered: true,
          failure: { code: "provider_unavailable", provider_code: String(status) }
        })
      }
      for (const status of [400, 404, 410, 422]) {
        expect(yield* meant(status, {}), `${status}`).toMatchObject({ _tag: "Rejected" })
      }
    })
  )

  it.live("of the session's credentials says so, and is for good without a code of the catalogue", () =>
    Effect.gen(function* () {
      for (const status of [401, 403]) {
        expect(yield* meant(status, { error: { code: "not_ours" } })).toMatchObject({
          _tag: "Rejected",
          failure: {
            code: "gateway_refused",
            provider_code: "not_ours",
            message: `The gateway answered ${status}: it does not accept the session's \`secret\` or \`headers\`.`
          }
        })
      }
    })
  )

  it.live("by a redirect says where to, without what may be secret in it, and is tried again", () =>
    Effect.gen(function* () {
      for (const [status, location, target] of [
        [301, "https://user:password@gateway.example/new?token=secret#part", "https://gateway.example/new"],
        [
          302,
          `https://gateway.example/${"long".repeat(100)}`,
          `https://gateway.example/${"long".repeat(44)}`
        ],
        [308, "/other", undefined]
      ] as const) {
        const { result, url } = yield* answering(status, {}, { location })
        expect(result).toMatchObject({
          _tag: "Transient",
          failure: { code: "gateway_redirects", provider_code: String(status), permanent: false }
        })
        const said = result._tag === "Transient" ? result.failure.message : ""
        expect(said).toBe(
          `The gateway answered ${status} to ${target ?? `${url}/other`}; Sendwright does not follow redirects: ` +
            "set the session's `url` to that address."
        )
      }
      for (const headers of [{}, { location: "javascript:alert(1)" }]) {
        expect(yield* meant(304, {}, headers)).toMatchObject({
          failure: {
            message:
              "The gateway answered 304; Sendwright does not follow redirects: set the session's `url` to the address that answers."
          }
        })
      }
    })
  )
})

describe("a gateway's headers", () => {
  const configured = (headers: object) =>
    Effect.map(HttpGateway.make(), ({ configure }) =>
      Either.mapLeft(
        configure?.({ url: "http://127.0.0.1/", secret, headers }) ?? Either.right({}),
        (faults) => faults.map(({ path }) => path.join("/"))
      )
    )

  it.scoped(
    "are refused by their names where HTTP forbids them, or they are not the session's to write",
    () =>
      Effect.gen(function* () {
        const wrong = {
          "": "a",
          "x y": "a",
          "x:y": "a",
          "x\r\n": "a",
          ["x".repeat(65)]: "a",
          "Content-Length": "1",
          HOST: "a",
          "transfer-encoding": "chunked",
          Connection: "close",
          expect: "100-continue",
          "X-Service-Signature": "none",
          "idempotency-key": "none",
          "x-break": "a\r\nx-forged: b",
          "x-nul": "a\0b",
          "x-wide": "ł",
          "x-number": 1,
          ["__proto__"]: "a",
          "x-RIGHT": "b"
        }
        const faults = Either.flip(yield* configured({ "x-right": "a", ...wrong }))
        expect(Either.getOrElse(faults, () => []).toSorted()).toEqual(
          Object.keys(wrong)
            .map((name) => `config/headers/${name}`)
            .toSorted()
        )
      })
  )

  it.scoped("are at most 32 and 6 KiB, names and values together", () =>
    Effect.gen(function* () {
      const named = (count: number, length: number) =>
        Object.fromEntries(Array.from({ length: count }, (_, at) => [`x-${at}`, "a".repeat(length)]))
      expect(Either.isRight(yield* configured(named(32, 100)))).toBe(true)
      const refused = Either.left(["config/headers"])
      expect(yield* configured(named(33, 1))).toEqual(refused)
      expect(yield* configured(named(4, 2000))).toEqual(refused)
      expect(Either.isRight(yield* configured(named(1, 4096)))).toBe(true)
    })
  )

  it.live("of every name that HTTP allows reach it", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const seen: Array<Readonly<Record<string, string>>> = []
        const { url } = yield* HttpPlatform.make({
          about: () => undefined,
          answer: ({ headers }) => {
            seen.push(headers)
            return json(200, {})
          }
        })
        const { configure, send } = yield* HttpGateway.make()
        const headers = { X_Api_Key: "k", "!#$%&'*+.^`|~": "t", "x-empty": "", "x-latin": "caf\u00e9\t" }
        const config = Either.getOrThrow(configure?.({ url, secret, headers }) ?? Either.right({}))
        // A header that was configured before such were refused is left out.
        const stored = { ...config, headers: { ...headers, "x-old": "a\nb", Host: "elsewhere", "x y": "z" } }
        expect(yield* send(message(stored))).toMatchObject({ _tag: "Accepted" })
        expect(seen[0]).toMatchObject({
          x_api_key: "k",
          "!#$%&'*+.^`|~": "t",
          "x-empty": "",
          "x-latin": "caf\u00e9"
        })
        expect(seen[0]).not.toHaveProperty("x-old")
        expect(seen[0]?.["host"]).not.toBe("elsewhere")
      })
    )
  )
})
