/** A stand-in for the WhatsApp Cloud API on a free port of 127.0.0.1: what it takes, refuses and reports is as documented. */
import { randomBytes, randomInt } from "node:crypto"
import { createServer, type IncomingMessage, type ServerResponse } from "node:http"
import * as Errors from "./Errors.ts"
import * as Shapes from "./Shapes.ts"
import * as Webhooks from "./Webhooks.ts"

export interface GraphOptions {
  readonly phoneNumberId: string
  readonly wabaId: string
  readonly accessToken: string
  readonly appSecret: string
  readonly verifyToken: string
  /** Default "v23.0". */
  readonly version?: string
  /** Before each answer. */
  readonly latencyMs?: number
  /** In the platform's form, with status, category, components and the id as a numeric string. */
  readonly templates?: ReadonlyArray<unknown>
  /** The most templates of one page, however many are asked for; default 2. */
  readonly pageSize?: number
}

/** What happens to messages to one phone, until it is told otherwise. */
export type Behaviour =
  | {
      readonly kind: "error"
      readonly code: number
      readonly details?: string
      readonly status?: number
      readonly retryAfter?: string
      /** Only so many times, then messages are accepted. */
      readonly times?: number
    }
  /** Taken but not sent on: no receipts follow by themselves. */
  | { readonly kind: "held"; readonly messageStatus: "held_for_quality_assessment" | "paused" }
  /** Neither taken nor ever answered. */
  | { readonly kind: "hang" }
  /** The connection breaks before or after the message was taken; after it, receipts follow. */
  | { readonly kind: "reset"; readonly when: "before" | "after" }
  /** Accepted, then a failed status by webhook. */
  | { readonly kind: "failed"; readonly code: number }
  /** A 502 with an HTML body, as from something in between; the message was not taken. */
  | { readonly kind: "html" }
  /** Accepted, and no receipts. */
  | { readonly kind: "silent" }

/** A message that was accepted. */
export interface Sent {
  readonly id: string
  readonly to: string
  readonly type: string
  /** The whole JSON that was sent. */
  readonly body: unknown
  readonly callbackData: string | null
}

export interface Received {
  readonly method: string
  /** With its query. */
  readonly path: string
  /** The JSON, or the text that was not JSON, or undefined without a body. */
  readonly body: unknown
}

export interface Graph {
  /** What a sender has as its base URL. */
  readonly url: string
  readonly messages: () => ReadonlyArray<Sent>
  /** Every request that had not the documented shape, in words; tests expect none. */
  readonly faults: () => ReadonlyArray<string>
  readonly requests: () => ReadonlyArray<Received>
  readonly behave: (phone: string, how: Behaviour) => void
  /** The account of a number has another id, by which it is answered and reported. */
  readonly rename: (phone: string, waId: string) => void
  /** With false, every call answers code 190. */
  readonly authorize: (accepted: boolean) => void
  readonly setTemplates: (templates: ReadonlyArray<unknown>) => void
  /** Asks the callback for the challenge, and remembers it when it echoes; false when it does not. */
  readonly subscribe: (callbackUrl: string) => Promise<boolean>
  /** Forgets the callback: what is accepted from now on has no receipts by themselves. */
  readonly unsubscribe: () => void
  /** Posts one signed webhook with these statuses; answers the HTTP status. */
  readonly report: (statuses: ReadonlyArray<object>) => Promise<number>
  /** Posts one signed webhook of one entry with one change. */
  readonly deliver: (value: object, field: string) => Promise<number>
  /** Posts exactly this, with this value of the signature header or none. */
  readonly post: (rawBody: string, signature: string | undefined) => Promise<number>
  /** Resolves when all receipts that follow by themselves have been posted. */
  readonly settled: () => Promise<void>
  readonly close: () => Promise<void>
}

interface Call {
  readonly method: string
  readonly url: URL
  readonly path: string
  readonly authorization: string | undefined
  readonly contentType: string
  readonly raw: string
  readonly body: unknown
  /** Resolves when the answer is out, or can no longer be given. */
  readonly over: Promise<void>
}

type Reply =
  | {
      readonly kind: "json"
      readonly status: number
      readonly body: object
      readonly headers?: Readonly<Record<string, string>>
    }
  | { readonly kind: "html" }
  | { readonly kind: "hang" }
  | { readonly kind: "reset" }

const json = (status: number, body: object, headers: Readonly<Record<string, string>> = {}): Reply => ({
  kind: "json",
  status,
  body,
  headers
})

const invalid = (details: string): Reply => json(400, Errors.general(100, `(#100) ${details}`))

const parsed = (raw: string): unknown => {
  if (raw === "") return undefined
  try {
    return JSON.parse(raw)
  } catch {
    return raw
  }
}

const read = async (request: IncomingMessage, response: ServerResponse): Promise<Call> => {
  const over = new Promise<void>((resolve) => response.once("close", () => resolve()))
  const chunks: Array<Buffer> = []
  for await (const chunk of request) chunks.push(chunk)
  const raw = Buffer.concat(chunks).toString("utf8")
  const path = request.url ?? "/"
  return {
    method: request.method ?? "GET",
    url: new URL(path, "http://graph.invalid"),
    path,
    authorization: request.headers.authorization,
    contentType: request.headers["content-type"] ?? "",
    raw,
    body: parsed(raw),
    over
  }
}

const write = (response: ServerResponse, reply: Reply): void => {
  if (reply.kind === "hang") return
  if (reply.kind === "reset") {
    response.socket?.destroy()
    return
  }
  if (reply.kind === "html") {
    response.writeHead(502, { "content-type": "text/html; charset=UTF-8" })
    response.end("<!DOCTYPE html><html><body><h1>502 Bad Gateway</h1></body></html>")
    return
  }
  response.writeHead(reply.status, { "content-type": "application/json; charset=UTF-8", ...reply.headers })
  response.end(JSON.stringify(reply.body))
}

const displayPhoneNumber = "+1 555-010-0100"

/** What is told of the phone number without being asked for it by name. */
const usual = ["id", "display_phone_number", "verified_name", "quality_rating", "throughput"]

const phoneNumber = (id: string): Readonly<Record<string, unknown>> => ({
  id,
  display_phone_number: displayPhoneNumber,
  verified_name: "Sendwright Test",
  quality_rating: "GREEN",
  throughput: { level: "STANDARD" },
  whatsapp_business_manager_messaging_limit: "TIER_2K",
  messaging_limit_tier: "TIER_2K",
  code_verification_status: "VERIFIED",
  name_status: "APPROVED",
  platform_type: "CLOUD_API",
  status: "CONNECTED",
  account_mode: "LIVE"
})

/** The fields of a template without being asked for by name, where it has them. */
const templateFields = [
  "name",
  "parameter_format",
  "components",
  "language",
  "status",
  "category",
  "sub_category",
  "previous_category",
  "id"
]

const askedFields = (url: URL): ReadonlyArray<string> | undefined => {
  const fields = url.searchParams.get("fields")
  if (fields === null) return undefined
  return fields
    .split(",")
    .map((field) => field.trim())
    .filter((field) => field !== "")
}

const only = (node: Readonly<Record<string, unknown>>, fields: ReadonlyArray<string>): object =>
  Object.fromEntries(
    [...new Set([...fields, "id"])].flatMap((field) =>
      Object.hasOwn(node, field) ? [[field, node[field]]] : []
    )
  )

// A cursor says nothing to whoever holds it, so that nobody computes one.
const cursor = (index: number): string => Buffer.from(`place:${index}`).toString("base64url")

const placeOf = (given: string): number | undefined => {
  const found = /^place:(\d+)$/.exec(Buffer.from(given, "base64url").toString("utf8"))
  return found === null ? undefined : Number(found[1])
}

const digits = (phone: string): string => phone.replace(/\D/g, "")

const documentedPath = /^\/v\d+\.\d+\/\d+(\/messages|\/message_templates)?$/

export const start = async (options: GraphOptions): Promise<Graph> => {
  const version = options.version ?? "v23.0"
  const pageSize = options.pageSize ?? 2
  const messages: Array<Sent> = []
  const faults: Array<string> = []
  const requests: Array<Received> = []
  const behaviours = new Map<string, Behaviour>()
  const accounts = new Map<string, string>()
  const outbox = Webhooks.outbox()
  let templates = options.templates ?? []
  let authorized = true
  let callback: string | undefined
  let base = ""

  const fault = (call: Call, words: string): void => {
    faults.push(`${call.method} ${call.url.pathname}: ${words}`)
  }

  const post: Graph["post"] = (rawBody, signature) =>
    callback === undefined
      ? Promise.reject(new Error("No callback is subscribed."))
      : Webhooks.post(callback, rawBody, signature)
  const deliver: Graph["deliver"] = (value, field) => {
    const raw = Webhooks.written(Webhooks.envelope(options.wabaId, field, value))
    return post(raw, Webhooks.signature(raw, options.appSecret))
  }
  const report: Graph["report"] = (statuses) =>
    deliver(Webhooks.statusValue(options.phoneNumberId, displayPhoneNumber, statuses), "messages")

  const accept = (call: Call, message: Shapes.Message, how: Behaviour | undefined): Reply => {
    const id = `wamid.${randomBytes(30).toString("base64")}`
    const { to, type, callbackData } = message
    messages.push({ id, to, type, body: call.body, callbackData })
    if (callback !== undefined && how?.kind !== "silent" && how?.kind !== "held") {
      const told = { id, to: accounts.get(digits(to)) ?? to, callbackData, category: message.category }
      const statuses =
        how?.kind === "failed"
          ? [() => Webhooks.failed(told, how.code)]
          : [() => Webhooks.sent(told), () => Webhooks.delivered(told)]
      // A receipt before the answer would name a message that its sender does not know yet.
      outbox.follow(
        call.over,
        statuses.map((status) => () => report([status()]))
      )
    }
    if (how?.kind === "reset") return { kind: "reset" }
    return json(200, {
      messaging_product: "whatsapp",
      // Who is named by the platform's own id is answered so.
      contacts: [
        /^[A-Z]/.test(to)
          ? { input: to, user_id: to }
          : { input: to, wa_id: accounts.get(digits(to)) ?? digits(to) }
      ],
      messages: [{ id, message_status: how?.kind === "held" ? how.messageStatus : "accepted" }]
    })
  }

  /** Counts down the errors that come only so many times. */
  const behaviourOf = (phone: string): Behaviour | undefined => {
    const how = behaviours.get(phone)
    if (how?.kind !== "error" || how.times === undefined) return how
    if (how.times <= 0) return undefined
    behaviours.set(phone, { ...how, times: how.times - 1 })
    return how
  }

  const refuse = (call: Call, problems: ReadonlyArray<Shapes.Problem>): Reply => {
    for (const problem of problems) if (problem.deviates) fault(call, problem.details)
    const [{ code, details } = { code: 100, details: undefined }] = problems
    return json(Errors.statusOf(code), Errors.refused(code, details))
  }

  /** A new template waits for its approval. */
  const create = (call: Call): Reply => {
    const problems = Shapes.checkTemplate(call.body)
    if (problems.length > 0 || !Shapes.isRecord(call.body)) return refuse(call, problems)
    const id = String(randomInt(1_000_000_000, 2_000_000_000))
    const category = String(call.body["category"]).toUpperCase()
    templates = [...templates, { ...call.body, id, category, status: "PENDING" }]
    return json(200, { id, status: "PENDING", category })
  }

  const send = (call: Call): Reply => {
    if (!/^application\/json\b/i.test(call.contentType)) {
      fault(call, `the content type is ${JSON.stringify(call.contentType)}, not application/json`)
    }
    if (Shapes.marksRead(call.body)) {
      const problems = Shapes.checkReadMark(call.body)
      return problems.length > 0 ? refuse(call, problems) : json(200, { success: true })
    }
    const { message, problems } = Shapes.check(call.body, templates)
    if (problems.length > 0 || message === undefined) return refuse(call, problems)
    const how = behaviourOf(digits(message.to))
    if (how?.kind === "error") {
      const headers = how.retryAfter === undefined ? {} : { "retry-after": how.retryAfter }
      return json(how.status ?? Errors.statusOf(how.code), Errors.refused(how.code, how.details), headers)
    }
    if (how?.kind === "hang" || how?.kind === "html") return { kind: how.kind }
    if (how?.kind === "reset" && how.when === "before") return { kind: "reset" }
    return accept(call, message, how)
  }

  const describe = (call: Call): Reply => {
    const node = phoneNumber(options.phoneNumberId)
    const fields = askedFields(call.url) ?? usual
    const unknown = fields.find((field) => !Object.hasOwn(node, field))
    if (unknown !== undefined) {
      fault(call, `the phone number has no field ${unknown}`)
      return invalid(`Tried accessing nonexisting field (${unknown}) on node type (WhatsAppPhoneNumber)`)
    }
    return json(200, only(node, fields))
  }

  const list = (call: Call): Reply => {
    const query = call.url.searchParams
    const limit = query.get("limit")
    if (limit !== null && !/^[1-9]\d*$/.test(limit)) {
      fault(call, `limit is ${limit}, not a number from 1`)
      return invalid("Param limit must be an integer greater than 0")
    }
    const after = query.get("after")
    const from = after === null ? 0 : placeOf(after)
    if (from === undefined) {
      fault(call, `after is ${after}, which was never given as a cursor`)
      return invalid("Invalid cursors values supplied")
    }
    const name = query.get("name")
    const status = query.get("status")
    const found = templates
      .filter(Shapes.isRecord)
      .map((node): Readonly<Record<string, unknown>> => ({ parameter_format: "POSITIONAL", ...node }))
      .filter((node) => name === null || node["name"] === name)
      .filter((node) => status === null || String(node["status"]).toUpperCase() === status.toUpperCase())
    const to = from + Math.min(pageSize, limit === null ? pageSize : Number(limit))
    const page = found.slice(from, to).map((node) => only(node, askedFields(call.url) ?? templateFields))
    if (page.length === 0) return json(200, { data: [] })
    const next = new URL(call.path, base)
    next.searchParams.set("after", cursor(to))
    const paging = { cursors: { before: cursor(from), after: cursor(from + page.length) } }
    return json(200, { data: page, paging: to < found.length ? { ...paging, next: next.href } : paging })
  }

  const routes: ReadonlyMap<string, (call: Call) => Reply> = new Map([
    [`POST /${version}/${options.phoneNumberId}/messages`, send],
    [`GET /${version}/${options.phoneNumberId}`, describe],
    [`GET /${version}/${options.wabaId}/message_templates`, list],
    [`POST /${version}/${options.wabaId}/message_templates`, create]
  ])

  const answer = (call: Call): Reply => {
    if (call.authorization === undefined || !/^Bearer \S+$/.test(call.authorization)) {
      fault(call, "there is no bearer token")
    }
    if (!authorized || call.authorization !== `Bearer ${options.accessToken}`) {
      return json(401, Errors.general(190, "Invalid OAuth access token - Cannot parse access token"))
    }
    const route = routes.get(`${call.method} ${call.url.pathname}`)
    if (route !== undefined) return route(call)
    // An object of someone else is asked for in the documented way; anything else is not.
    const send = call.url.pathname.endsWith("/messages")
    if (!documentedPath.test(call.url.pathname) || call.method !== (send ? "POST" : "GET")) {
      fault(call, "there is no such call")
    }
    const what = `Unsupported ${call.method.toLowerCase()} request. Object does not exist: ${call.url.pathname}`
    return json(404, Errors.general(100, what))
  }

  const server = createServer((request, response) => {
    read(request, response).then(
      (call) => {
        requests.push({ method: call.method, path: call.path, body: call.body })
        const reply = answer(call)
        if (options.latencyMs === undefined) write(response, reply)
        else setTimeout(() => write(response, reply), options.latencyMs)
      },
      // The caller has gone before its request was whole: nothing was asked.
      () => response.destroy()
    )
  })
  // Longer than any silence: a connection closed for its idleness would look like an answer lost.
  server.keepAliveTimeout = 3_600_000

  const port = await new Promise<number>((resolve, reject) => {
    server.once("error", reject)
    server.listen(0, "127.0.0.1", () => {
      const address = server.address()
      resolve(typeof address === "object" && address !== null ? address.port : 0)
    })
  })
  base = `http://127.0.0.1:${port}`

  return {
    url: base,
    messages: () => [...messages],
    faults: () => [...faults],
    requests: () => [...requests],
    behave: (phone, how) => {
      behaviours.set(digits(phone), how)
    },
    rename: (phone, waId) => {
      accounts.set(digits(phone), waId)
    },
    authorize: (accepted) => {
      authorized = accepted
    },
    setTemplates: (given) => {
      templates = given
    },
    subscribe: async (callbackUrl) => {
      const echoed = await Webhooks.handshake(callbackUrl, options.verifyToken)
      if (echoed) callback = callbackUrl
      return echoed
    },
    unsubscribe: () => {
      callback = undefined
    },
    report,
    deliver,
    post,
    settled: outbox.settled,
    close: async () => {
      // First, for the receipts of an answer that is cut off here are due at once.
      const emptied = outbox.close()
      await new Promise<void>((closed) => {
        server.close(() => closed())
        server.closeAllConnections()
      })
      await emptied
    }
  }
}
