/** What `createSendwright` takes, looked at before anything is opened: every fault at once. */
import { AddressPolicy, Event, Fault, RequestDecoder, Session } from "@sendwright/core"
import * as Schema from "effect/Schema"
import type { Logger, Options, Store } from "../api/Sendwright.ts"
import * as Failures from "./Failures.ts"
import * as Senders from "./Senders.ts"
import * as Stores from "./Stores.ts"

const { optional } = Schema

const isCallable = (value: unknown): value is () => unknown => typeof value === "function"
const Callable = Schema.declare(isCallable, { title: "a function" })

const isStore = (value: unknown): value is Store => Stores.find(value) !== undefined
const OneStore = Schema.declare(isStore, { title: Stores.known })

const formed = (form: RegExp, description: string) =>
  Schema.String.pipe(Schema.filter((text) => form.test(text), { description }))

const Provider = formed(
  Session.providerForm,
  "1 to 64 lower-case letters, digits, `_` and `-`, a letter first"
)

const levels = ["debug", "info", "warn", "error"] as const
const isLogger = (value: unknown): value is Logger =>
  typeof value === "object" &&
  value !== null &&
  levels.every((level) => isCallable(Reflect.get(value, level)))
const OneLogger = Schema.declare(isLogger, {
  title: `an object with ${levels.join(", ")}, as \`console\` is`
})

/** 32 bytes, perhaps with the line break of the tool that made them. */
const SecretKey = formed(
  /^\s*[A-Za-z0-9+/_-]{43}=?\s*$/,
  "32 bytes in base64: make one with `openssl rand -base64 32`, and keep it with the database"
)

const Network = Schema.String.pipe(
  Schema.filter((text) => AddressPolicy.parseNetwork(text) !== undefined, {
    description: "a network such as 127.0.0.0/8 or ::1/128"
  })
)

const topics = [...Event.patterns, "error"]

/** As many as a process of the host may have. */
const mostConcurrency = 10_000

const decoded = RequestDecoder.decoder(
  Schema.Struct({
    store: OneStore,
    senders: Schema.Array(Schema.Unknown),
    secretKey: optional(SecretKey),
    secretKeys: optional(Schema.Array(SecretKey)),
    on: optional(Schema.Struct(Object.fromEntries(topics.map((name) => [name, optional(Callable)])))),
    logger: optional(OneLogger),
    traceparent: optional(Callable),
    logLevel: optional(Schema.Literal("debug", "info", "warning", "error", "none")),
    concurrency: optional(Schema.Int.pipe(Schema.between(1, mostConcurrency))),
    webhooks: optional(Schema.Struct({ allowedNetworks: optional(Schema.Array(Network)) }))
  })
)

const custom = {
  provider: Provider,
  send: Callable,
  deduplicates: optional(Schema.Boolean),
  lookUp: optional(Callable),
  check: optional(Callable),
  templates: optional(Callable)
}

/** A plain object as it is; of an instance of a class, whose other members are its own, what a sender has. */
const membersOf = (sender: object): object => {
  const prototype: unknown = Object.getPrototypeOf(sender)
  if (prototype === Object.prototype || prototype === null) return sender
  const names = Object.keys(custom).filter((name) => name in sender)
  return Object.fromEntries(names.map((name) => [name, Reflect.get(sender, name)]))
}

const senderFaults = (sender: unknown, place: number): ReadonlyArray<Fault.Fault> => {
  const path = ["senders", place]
  if (Senders.builtIn(sender) !== undefined) return []
  if (typeof sender !== "object" || sender === null) {
    const message =
      "Each of `senders` must be sandbox(), whatsapp(), httpGateway(), or an object with `provider` and `send`."
    return [Fault.make(path, "invalid_type", message)]
  }
  const read = RequestDecoder.decoder(Schema.Struct(custom), path)(membersOf(sender))
  return read._tag === "Left" ? read.left : []
}

const providerOf = (sender: unknown): unknown =>
  typeof sender === "object" && sender !== null && "provider" in sender ? sender.provider : undefined

const twinFaults = (senders: ReadonlyArray<unknown>): ReadonlyArray<Fault.Fault> => {
  const names = senders.map(providerOf)
  return names.flatMap((name, place) => {
    if (typeof name !== "string" || names.indexOf(name) === place) return []
    const message = `Two senders have the \`provider\` "${name}": give one of them another name.`
    return [Fault.make(["senders", place, "provider"], "invalid_value", message)]
  })
}

const sendersOf = (options: unknown): ReadonlyArray<unknown> | undefined => {
  const given: unknown =
    typeof options === "object" && options !== null && "senders" in options ? options.senders : undefined
  return Array.isArray(given) ? [...given] : undefined
}

const noneFaults = (senders: ReadonlyArray<unknown> | undefined): ReadonlyArray<Fault.Fault> =>
  senders?.length === 0
    ? [Fault.make(["senders"], "out_of_range", "`senders` needs at least one sender, for example sandbox().")]
    : []

/** One of the two says which they are. */
const keyFaults = (options: unknown): ReadonlyArray<Fault.Fault> => {
  if (typeof options !== "object" || options === null) return []
  const [one, several] = ["secretKey", "secretKeys"].map((name): unknown => Reflect.get(options, name))
  if (Array.isArray(several) && several.length === 0)
    return [Fault.make(["secretKeys"], "out_of_range", "`secretKeys` needs at least one key.")]
  if (one === undefined && several === undefined)
    return [Fault.make(["secretKey"], "required", "`secretKey` is required, or `secretKeys` to change it.")]
  if (one === undefined || several === undefined) return []
  const message = "`secretKeys` has every key: leave `secretKey` out beside it."
  return [Fault.make(["secretKeys"], "invalid_value", message)]
}

export const check: (options: unknown) => asserts options is Options = (options) => {
  const read = decoded(options)
  const given = sendersOf(options)
  const senders = given ?? []
  const faults = [
    ...keyFaults(options),
    ...(read._tag === "Left" ? read.left : []),
    ...noneFaults(given),
    ...senders.flatMap(senderFaults),
    ...twinFaults(senders)
  ]
  if (faults.length > 0) throw Failures.invalid(faults, "invalid_options")
}
