/** Sendwright in your app: `createSendwright`, a store, senders, and one error. */
import type { BuiltInSender, PlatformOptions, SandboxOptions } from "./api/Sender.ts"
import type { Options, Sendwright, Store } from "./api/Sendwright.ts"
import * as Assembly from "./inside/Assembly.ts"
import * as Senders from "./inside/Senders.ts"
import * as Stores from "./inside/Stores.ts"

export type * from "./api/Admin.ts"
export type * from "./api/Events.ts"
export type * from "./api/Messages.ts"
export type * from "./api/Overview.ts"
export type * from "./api/Sender.ts"
export type * from "./api/Sendwright.ts"
export { type Issue, SendwrightError } from "./api/SendwrightError.ts"
export type {
  Button,
  Component,
  PlatformTemplate,
  Template,
  TemplateQuery,
  Variable
} from "./api/Templates.ts"
export type * from "./api/Timelines.ts"

/**
 * Sendwright over a store. Nothing is sent in the background until `start`.
 *
 * @example
 * ```ts
 * import { createSendwright, memory, sandbox } from "sendwright"
 *
 * const secretKey = process.env["SECRET_KEY"] ?? ""
 * const sw = await createSendwright({ store: memory(), senders: [sandbox()], secretKey })
 * sw.on("message.received", ({ data }) => console.log(data.from, data.text))
 * await sw.start()
 * ```
 *
 * @throws SendwrightError `invalid_options` for what cannot be, `migration_required` where the tables are not those of this
 * version, `unavailable` where the store does not answer
 */
export const createSendwright = async (options: Options): Promise<Sendwright> =>
  (await Assembly.assemble(options)).sw

/**
 * Everything in the memory of this process, for tests and for a first look. Each call makes one store, and engines that are given
 * the same one share it.
 *
 * @example
 * ```ts
 * import { createSendwright, memory, sandbox } from "sendwright"
 *
 * const secretKey = Buffer.alloc(32, "any").toString("base64")
 * const sw = await createSendwright({ store: memory(), senders: [sandbox()], secretKey })
 * ```
 */
export const memory: () => Store = Stores.memory

/**
 * A platform in this process: the last four digits of a number choose what becomes of its message, `0001` a refusal.
 *
 * @example
 * ```ts
 * import { sandbox } from "sendwright"
 *
 * const senders = [sandbox({ latencyMs: 0, receiptDelayMs: 10 })]
 * ```
 */
export const sandbox: (options?: SandboxOptions) => BuiltInSender = Senders.sandbox

/**
 * WhatsApp's Cloud API. A session's `config` says which number.
 *
 * @example
 * ```ts
 * import { type Sendwright, whatsapp } from "sendwright"
 *
 * export const senders = [whatsapp()]
 * export const connect = (sw: Sendwright, accountId: string) =>
 *   sw.admin.sessions.create({
 *     accountId,
 *     name: "main",
 *     provider: "whatsapp_cloud",
 *     config: {
 *       phoneNumberId: "106540352242922",
 *       wabaId: "102290129340398",
 *       accessToken: process.env["WHATSAPP_TOKEN"],
 *       appSecret: process.env["WHATSAPP_APP_SECRET"],
 *       verifyToken: "any word of yours"
 *     }
 *   })
 * ```
 */
export const whatsapp: (options?: PlatformOptions) => BuiltInSender = Senders.whatsapp

/**
 * A gateway of your own over HTTP: one signed POST per message to the `url` of a session's `config`.
 *
 * @example
 * ```ts
 * import { httpGateway, type Sendwright } from "sendwright"
 *
 * export const senders = [httpGateway()]
 * export const connect = (sw: Sendwright, accountId: string) =>
 *   sw.admin.sessions.create({
 *     accountId,
 *     name: "gateway",
 *     provider: "http",
 *     config: { url: "https://gateway.example/messages", secret: process.env["GATEWAY_SECRET"] }
 *   })
 * ```
 */
export const httpGateway: (options?: PlatformOptions) => BuiltInSender = Senders.httpGateway
