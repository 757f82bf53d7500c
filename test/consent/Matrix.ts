/**
 * Every shape of an opt-out, with a fault at every step of the hook that brings it. The platform repeats what it got no
 * 200 for. Afterwards nothing may be sent to any of those people, neither what was accepted before nor anything new.
 */

import { createHmac } from "node:crypto"
import {
  AddressPolicy,
  Engine,
  HttpGateway,
  Ids,
  Instant,
  SecretBox,
  Sender,
  Signature,
  type Stores,
  WhatsApp
} from "@sendwright/core"
import { SessionStore } from "@sendwright/core/storage"
import { RecordingTransport } from "@sendwright/core/testing"
import * as Arrays from "effect/Array"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import * as Logger from "effect/Logger"
import * as Faults from "./Faults.ts"
import type { Hook, Shape, Who } from "./Shapes.ts"
import * as Shapes from "./Shapes.ts"

const secrets = { whatsapp_cloud: "the app's secret", http: "the gateway's own secret" }

const atOnce = 250
/** Each in an account of its own: those of one account wait for each other's commits. */
const accounts = 8
const concurrency = 2

const signed = ({ body, provider }: Hook) => {
  const bytes = Buffer.from(JSON.stringify(body))
  const timestamp = Math.floor(Date.now() / 1000)
  const headers: Record<string, string> =
    provider === "http"
      ? {
          "x-service-timestamp": String(timestamp),
          "x-service-signature": Signature.sign(secrets.http, timestamp, bytes)
        }
      : {
          "x-hub-signature-256": `sha256=${createHmac("sha256", secrets.whatsapp_cloud).update(bytes).digest("hex")}`
        }
  return { method: "POST" as const, headers, query: {}, body: bytes }
}

interface Case {
  readonly shape: Shape
  readonly kind: Faults.Kind | null
  readonly step: number
  readonly statement: number
}

const nameOf = ({ kind, shape, statement, step }: Case): string =>
  `${shape.name}; step ${step} ${kind ?? "goes well"}${statement > 0 ? ` at statement ${statement}` : ""}`

/** How a message that waited may have ended: the last two by a receipt of the hook itself. */
const settled: ReadonlySet<string> = new Set(["skipped", "failed", "delivered"])

/** Of the cases of each shape every so manieth, from each of these places on. */
export interface Part {
  readonly every: number
  readonly from: ReadonlyArray<number>
}

export const whole: Part = { every: 1, from: [0] }

/** At least one of each place, and not the same faults of each shape. */
const partOf =
  ({ every, from }: Part) =>
  (cases: ReadonlyArray<Case>, shape: number): ReadonlyArray<Case> => {
    const places = from.map((place) => (place + 5 * shape) % Math.min(every, cases.length))
    return cases.filter((_, at) => places.includes(at % every))
  }

/** The cases of a shape whose steps, and the statements of each, were counted. */
const casesOf = (
  shape: Shape,
  { statements, steps }: Faults.Plan,
  breaks: "each" | "last"
): ReadonlyArray<Case> =>
  Array.from({ length: steps }, (_, at) => at + 1).flatMap((step) => [
    ...Faults.kinds
      .filter((kind) => kind !== "breaks off")
      .map((kind) => ({ shape, kind, step, statement: 0 })),
    ...Array.from({ length: statements[step - 1] ?? 0 }, (_, at) => at + 1)
      .filter((statement) => breaks === "each" || statement === statements[step - 1])
      .map((statement) => ({ shape, kind: "breaks off" as const, step, statement }))
  ])

export interface Outcome {
  readonly cases: number
  /** The kinds of faults that were made. */
  readonly kinds: ReadonlySet<Faults.Kind | null>
  /** The messages that went out after an opt-out, or would have. */
  readonly sent: ReadonlyArray<string>
  /** Hooks that the platform was refused although nothing was wrong any more. */
  readonly refused: ReadonlyArray<string>
}

type Process = Context.Tag.Service<Engine.Engine>

/** Which statements of a step break off, and how many of the cases are run. */
export interface Which {
  readonly breaks: "each" | "last"
  readonly part: Part
}

/** The cases of some shapes, in an account of their own. */
const inAccount = (
  shapes: ReadonlyArray<Shape>,
  [engine, successor]: readonly [Process, Process],
  sent: ReadonlyArray<string>,
  { breaks, part }: Which,
  first: number
) =>
  Effect.gen(function* () {
    const sessions = yield* SessionStore.SessionStore
    const { admin } = engine
    const plan = { minimumWaitMs: 0, requestsPerMinute: 1_000_000, dailyTemplateRecipients: null }
    const account = yield* admin.accounts.create({ name: "Shop", plan })
    const whatsApp = yield* admin.sessions.create(account.id, {
      name: "WhatsApp",
      provider: "whatsapp_cloud",
      pacing: { messagesPerSecond: null },
      config: {
        phone_number_id: Shapes.number,
        waba_id: Shapes.account,
        access_token: "token",
        app_secret: secrets.whatsapp_cloud,
        verify_token: "verify"
      }
    })
    const gateway = yield* admin.sessions.create(account.id, {
      name: "Gateway",
      provider: "http",
      config: { url: "http://127.0.0.1:9", secret: secrets.http }
    })
    for (const { id } of [whatsApp, gateway])
      yield* sessions.transition({ id, state: "connected", reason: null, now: Instant.at(Date.now()) })
    const content = {
      name: "offer",
      language: "en",
      category: "MARKETING",
      components: [{ type: "BODY", text: "An offer" }]
    }
    const {
      templates: [template]
    } = yield* admin.templates.importAll(whatsApp.id, [content])
    const { key, secretKey } = yield* admin.keys.issue(whatsApp.id, {})
    const caller = yield* engine.identify({ publicKey: key.publicKey, secretKey })
    const request = (phones: ReadonlyArray<string>) => ({
      templateId: template?.templateId ?? 0,
      recipients: phones.map((phone) => ({ phone }))
    })

    let people = first
    const jobs: Array<string> = []
    const subjects = new Map<string, string>()
    /** People who consent, and have a message waiting. */
    const audience = Effect.fnUntraced(function* (cases: ReadonlyArray<Case>) {
      const found: Array<{ readonly each: Case; readonly who: Who }> = []
      for (const some of Arrays.chunksOf(cases, atOnce)) {
        const phones = some.map((_, at) => `346${String(people + at).padStart(8, "0")}`)
        yield* admin.consents.record(
          account.id,
          phones.map((phone) => ({ phone, source: "web-form" }))
        )
        const { jobId } = yield* engine.send(caller, {
          idempotencyKey: `audience-${people}`,
          request: request(phones)
        })
        jobs.push(jobId)
        some.forEach((each, at) => {
          const phone = phones[at] ?? ""
          subjects.set(phone, nameOf(each))
          const name = `${people + at}`
          const userId = `ES.${1_000_000_000 + people + at}`
          found.push({ each, who: { phone, userId, name, messageId: Ids.messageId(jobId, at) } })
        })
        people += some.length
      }
      return found
    })

    const post = (to: typeof engine, hook: Hook) =>
      to.hook(hook.provider, hook.provider === "http" ? gateway.id : whatsApp.id, signed(hook))

    const refused: Array<string> = []
    const mustPass = (to: typeof engine, hook: Hook, name: string) =>
      Effect.catchAllCause(post(to, hook), (cause) =>
        Effect.sync(() => refused.push(`${name}: ${String(cause)}`))
      )

    /** Tells if the platform got its 200, and the process that is there afterwards. */
    const deliver = Effect.fnUntraced(function* (hook: Hook, plan: Faults.Plan) {
      const fiber = yield* Effect.forkDaemon(Faults.under(plan)(post(engine, hook)))
      const { kind, reached } = plan
      if (kind === "is hung up on before" || kind === "is hung up on after") {
        yield* Effect.race(Deferred.await(reached), Fiber.await(fiber))
        yield* Fiber.interrupt(fiber)
        return { isAnswered: false, process: engine }
      }
      if (kind === "is killed before" || kind === "is killed after") {
        yield* Effect.race(Deferred.await(reached), Fiber.await(fiber))
        yield* Fiber.interruptFork(fiber)
        return { isAnswered: false, process: successor }
      }
      return { isAnswered: Exit.isSuccess(yield* Fiber.await(fiber)), process: engine }
    })

    const perform = Effect.fnUntraced(function* ({ each, who }: { readonly each: Case; readonly who: Who }) {
      const { kind, shape, statement, step } = each
      for (const hook of shape.before?.(who) ?? []) yield* mustPass(engine, hook, nameOf(each))
      // The platform repeats what it sent, to the byte.
      const hook = shape.hook(who)
      const plan = yield* Faults.plan(kind, step, statement)
      const { isAnswered, process } = yield* deliver(hook, plan)
      if (!isAnswered) yield* mustPass(process, hook, nameOf(each))
      for (const later of shape.after?.(who) ?? []) yield* mustPass(process, later, nameOf(each))
      return plan
    })

    const plain = shapes.map((shape): Case => ({ shape, kind: null, step: 0, statement: 0 }))
    const plans = yield* Effect.forEach(yield* audience(plain), perform, { concurrency })
    const cases = shapes.flatMap((shape, at) => {
      const counted = plans[at]
      return counted === undefined ? [] : partOf(part)(casesOf(shape, counted, breaks), at)
    })
    yield* Effect.forEach(yield* audience(cases), perform, { concurrency, discard: true })

    /** To be asked once everything that waited was dispatched. */
    const outcome = Effect.gen(function* () {
      const got = new Set(sent.filter((phone) => subjects.has(phone)))
      for (const [place, phones] of Arrays.chunksOf([...subjects.keys()], atOnce).entries()) {
        const answer = yield* Effect.either(
          engine.send(caller, { idempotencyKey: `again-${place}`, request: request(phones) })
        )
        const without =
          Either.isLeft(answer) && answer.left._tag === "ConsentRequired"
            ? answer.left.faults.map(({ path }) => Number(path[1]))
            : []
        phones.forEach((phone, at) => {
          if (!without.includes(at)) got.add(phone)
        })
      }
      for (const jobId of jobs) {
        const page = { limit: atOnce, after: null }
        const { results } = yield* admin.jobs.find(jobId, { page })
        for (const { address: phone, status } of results.items) if (!settled.has(status)) got.add(phone)
      }
      const found: Outcome = {
        cases: plain.length + cases.length,
        kinds: new Set(cases.map(({ kind }) => kind)),
        sent: [...got].map((phone) => subjects.get(phone) ?? phone),
        refused
      }
      return found
    })
    return outcome
  })

/** Runs cases on stores that are empty. */
export const run = (stores: Layer.Layer<Stores.Stores, unknown>, which: Which) =>
  Effect.gen(function* () {
    const sent: Array<string> = []
    const recording = (sender: Sender.Sender): Sender.Sender => ({
      ...sender,
      send: ({ to }) =>
        Effect.sync(() => {
          sent.push(to)
          return Sender.SendResult.Accepted({ providerId: null, status: "accepted" })
        })
    })
    const senders = Sender.layer(recording(yield* WhatsApp.make()), recording(yield* HttpGateway.make()))
    const shared = yield* Layer.build(Layer.mergeAll(stores, senders, SecretBox.layerRandom))
    const open = Effect.map(
      Layer.build(
        Engine.layer().pipe(
          Layer.provide(Layer.succeedContext(shared)),
          Layer.provide(RecordingTransport.layer),
          Layer.provide(AddressPolicy.layer([]))
        )
      ),
      (context) => Context.get(context, Engine.Engine)
    )
    // The second process takes over from the first, and knows nothing of what that one kept in mind.
    const [engine, successor] = [yield* open, yield* open]
    const groups = Array.from({ length: accounts }, (_, at) =>
      Shapes.all.filter((_, place) => place % accounts === at)
    )
    const outcomes = yield* Effect.forEach(
      groups,
      (shapes, at) => inAccount(shapes, [engine, successor], sent, which, 1_000_000 * at),
      { concurrency: "unbounded" }
    ).pipe(
      Effect.tap(successor.drain),
      Effect.flatMap((found) => Effect.all(found)),
      Effect.provide(shared)
    )
    return {
      cases: outcomes.reduce((sum, { cases }) => sum + cases, 0),
      kinds: new Set(outcomes.flatMap(({ kinds }) => [...kinds])),
      sent: outcomes.flatMap((each) => each.sent),
      refused: outcomes.flatMap((each) => each.refused)
    }
  }).pipe(Effect.scoped, Effect.provide(Logger.remove(Logger.defaultLogger)))
