/** What generated requests name and prove: real ids, real credentials. */
import { createHmac } from "node:crypto"
import { fileURLToPath } from "node:url"
import { Signature } from "@sendwright/core"
import * as GraphApi from "../graph/Graph.ts"
import type { Operation } from "../support/OpenApi.ts"
import * as OpenApi from "../support/OpenApi.ts"
import type { TestHost } from "../support/TestHost.ts"
import { at, sendBody, start, template } from "../support/TestHost.ts"
import type { Known } from "./Cases.ts"
import type { Owned } from "./Tenants.ts"
import * as Tenants from "./Tenants.ts"

/** Of the sessions by which platforms post. */
const gatewaySecret = "gateway-secret-0123456789"
const appSecret = "app-secret-0123456789"
const verifyToken = "verify-me"
export const platformConfig = {
  phone_number_id: "106540352242922",
  waba_id: "102290129340398",
  access_token: "a-token",
  app_secret: appSecret,
  verify_token: verifyToken
}

/** A platform of the session of the WhatsApp Cloud API, on this machine. */
export const platform = () => {
  const { access_token, app_secret, phone_number_id, verify_token, waba_id } = platformConfig
  return GraphApi.start({
    phoneNumberId: phone_number_id,
    wabaId: waba_id,
    accessToken: access_token,
    appSecret: app_secret,
    verifyToken: verify_token,
    templates: [{ ...template, id: "1", language: "en" }]
  })
}

/**
 * Starts a host with a platform for the hooks of any provider. It dispatches nothing, so that addresses that were made up
 * are never called, and jobs stay as they are.
 */
export const host = (environment: Readonly<Record<string, string>> = {}): Promise<TestHost> =>
  start({ ROLE: "api", ...environment }, [
    "--import",
    "tsx",
    fileURLToPath(new URL("host.ts", import.meta.url))
  ])

/** A tenant whose key calls, and one that the operator's requests are about: these may end its key or its session. */
export interface World {
  /** The name of one. */
  readonly operator: string
  readonly caller: Owned
  readonly subject: Owned
  readonly gateway: string
  readonly whatsApp: string
  readonly trusting: string
  /** A text that may be a refusal. */
  readonly refusal: string
  /** Another text of that kind. */
  readonly question: string
}

/** What proves that the gateway posts. */
const gatewayHeaders = (body: string): Readonly<Record<string, string>> => {
  const timestamp = Math.floor(Date.now() / 1000)
  return {
    "x-service-timestamp": String(timestamp),
    "x-service-signature": Signature.sign(gatewaySecret, timestamp, Buffer.from(body))
  }
}

/** Somebody of whom something is known. */
const doubtful = "34600000199"

/** Brings two texts over the gateway that may be refusals, and finds them in the operator's list. */
const doubts = async (
  host: TestHost,
  accountId: string,
  gateway: string
): Promise<Pick<World, "question" | "refusal">> => {
  const body = JSON.stringify({
    messages: ["doubt", "question"].map((id) => ({ id, from: doubtful, text: "can you stop the order" }))
  })
  const headers = { "content-type": "application/json", ...gatewayHeaders(body) }
  await fetch(`${host.base}/hooks/http/${gateway}`, { method: "POST", headers, body })
  const { json } = await host.admin(`/accounts/${accountId}/perhaps-refusals`)
  const idAt = (place: number) => String(at(json, "perhaps_refusals", place, "id"))
  return { refusal: idAt(0), question: idAt(1) }
}

/** @param platform where the session of the WhatsApp Cloud API asks */
export const make = async (host: TestHost, caller: Owned, platform: string): Promise<World> => {
  const subject = await Tenants.make(host, "https://receiver.example/hook")
  // Names are unique for good, and a host may have several worlds.
  const operator = `olga-${subject.accountId}`
  await host.admin("/operators", { name: operator, role: "read" })
  const session = async (provider: string, config: unknown) => {
    const made = await host.admin(`/accounts/${subject.accountId}/sessions`, {
      name: provider,
      provider,
      config
    })
    return String(at(made.json, "session", "id"))
  }
  const gateway = await session("http", { url: "https://gateway.example/send", secret: gatewaySecret })
  return {
    caller,
    subject,
    operator,
    gateway,
    ...(await doubts(host, subject.accountId, gateway)),
    whatsApp: await session("whatsapp_cloud", {
      ...platformConfig,
      base_url: platform
    }),
    trusting: await session("trusting", {})
  }
}

const hookHeaders = (operation: Operation, body = ""): Readonly<Record<string, string>> => {
  if (operation.path.startsWith("/hooks/whatsapp/"))
    return { "x-hub-signature-256": `sha256=${createHmac("sha256", appSecret).update(body).digest("hex")}` }
  return gatewayHeaders(body)
}

/** What requests name is there, and who sends them is proven. */
export const known = (
  host: TestHost,
  { caller, gateway, operator, question, refusal, subject, trusting, whatsApp }: World
): Known => {
  const operatorsId = ({ id, path }: Operation): string =>
    id === "admin.syncTemplates"
      ? whatsApp
      : id === "admin.dismissRefusal"
        ? question
        : path.includes("/accounts/")
          ? subject.accountId
          : path.includes("/sessions/")
            ? subject.sessionId
            : path.includes("/webhooks/")
              ? subject.webhookId
              : path.includes("/deliveries/")
                ? subject.deliveryId
                : path.includes("/perhaps-refusals/")
                  ? refusal
                  : path.includes("/retries/")
                    ? subject.retryId
                    : subject.jobId
  const platformsId = ({ path }: Operation): string => {
    if (path.startsWith("/hooks/http/")) return gateway
    return path.startsWith("/hooks/whatsapp/") ? whatsApp : trusting
  }
  return {
    parameter: (operation, name) => {
      const known: Readonly<Record<string, string>> = {
        id: operatorsId(operation),
        account_id: subject.accountId,
        publicKey: subject.publicKey,
        templateId: String(caller.templateId),
        jobId: caller.jobId,
        messageId: caller.messageId,
        provider: "trusting",
        sessionId: platformsId(operation),
        code: "consent_required",
        person: "34600000100",
        who: doubtful
      }
      return name === "name" && operation.path.includes("/operators/") ? operator : known[name]
    },
    body: (operation, body) => {
      // A store that is held refuses what the other requests ask for.
      if (operation.id === "admin.restore") return { open: "send" }
      if (operation.id === "admin.createOperator" && body === operation.example)
        return { name: `ana-${subject.accountId}`, role: "read" }
      if (operation.id === "browser.signIn" && body === operation.example) return { token: host.adminToken }
      if (operation.id === "public.sendDirect")
        return OpenApi.isObject(body) ? { ...body, to: "34600000100" } : body
      const named = ["v1.send", "v1.estimate"].includes(operation.id)
      if (named && body === operation.example) return sendBody(caller.templateId, "34600000100")
      return named && OpenApi.isObject(body) ? { ...body, template_id: caller.templateId } : body
    },
    query: ({ access, method }) =>
      access === "hook" && method === "GET" ? `hub.verify_token=${verifyToken}` : "",
    headers: (operation, body) => ({
      ...(body === undefined ? {} : { "content-type": "application/json" }),
      ...(operation.access === "key" ? caller.credentials : {}),
      ...(operation.access === "operator" ? { authorization: `Bearer ${host.adminToken}` } : {}),
      ...(operation.access === "hook" ? hookHeaders(operation, body) : {})
    })
  }
}
