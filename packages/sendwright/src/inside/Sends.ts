/** A send, and a direct message, as callers give them: to whom, by one name or a list. */
import { Address, Fault, RequestDecoder } from "@sendwright/core"
import { ClientTexts } from "@sendwright/core/adapter"
import * as Records from "effect/Record"
import * as Schema from "effect/Schema"
import type * as Messages from "../api/Messages.ts"
import * as Failures from "./Failures.ts"
import { input } from "./Input.ts"

const { String: Text, optional, Struct: object } = Schema

/** Core says what is wrong with these values. What only this package knows, and what it does not know, is refused here. */
const anything = optional(Schema.Unknown)
const nameOrId = object({
  template: anything,
  language: optional(Text),
  to: anything,
  variables: anything,
  currency: anything,
  reference: anything,
  priority: anything,
  pace: anything,
  stopWhen: anything,
  sendAt: anything,
  expiresAt: anything,
  hours: anything,
  idempotencyKey: optional(Text)
})
const sendOf = input(nameOrId)
/** @param text of each */
const recipientTexts = <A>(text: A): Readonly<Record<keyof Messages.RecipientTexts, A>> =>
  Records.map(ClientTexts.recipient.of({}), () => text)

const recipientMembers = {
  phone: anything,
  userId: anything,
  variables: anything,
  sendAt: anything,
  expiresAt: anything,
  timeZone: anything,
  ...recipientTexts(anything)
}

/** A number is digits, and a user id begins with letters and a period. */
const namedBy = (text: string) => (Address.userIdForm.test(text) ? { userId: text } : { phone: text })

/** A phone or user id, or whatever else stands for a recipient, as core takes recipients. */
const recipientOf = (given: unknown): unknown => (typeof given === "string" ? namedBy(given) : given)

/** The recipients that `to` names, one by one; a value that is no list is one. */
const recipientsOf = (to: unknown): unknown => {
  if (to === undefined) return undefined
  return Array.isArray(to) ? Array.from(to, recipientOf) : [recipientOf(to)]
}

/** The faults of the members that recipients have; of most there are none, which is seen without making a decoder. */
const recipientFaults = (to: unknown): ReadonlyArray<Fault.Fault> =>
  (Array.isArray(to) ? Array.from<unknown>(to) : [to]).flatMap((each, place) => {
    if (typeof each !== "object" || each === null || Array.isArray(each)) return []
    if (Object.keys(each).every((name) => Object.hasOwn(recipientMembers, name))) return []
    const path = Array.isArray(to) ? ["to", place] : ["to"]
    const read = RequestDecoder.decoder(object(recipientMembers), path)(each)
    return read._tag === "Left" ? read.left : []
  })

/** A send, or what an estimate is asked for, by its members, and its recipients one by one. */
export const send = (given: unknown): typeof nameOrId.Type & { readonly recipients: unknown } => {
  const message = sendOf(given)
  const faults = [...recipientFaults(message.to)]
  if (message.language !== undefined && typeof message.template === "number") {
    const text = "A template's id says its language: leave `language` out, or give the template's name."
    faults.push(Fault.make(["language"], "invalid_value", text))
  }
  if (faults.length > 0) throw Failures.invalid(faults.slice(0, Fault.maximum))
  return { ...message, recipients: recipientsOf(message.to) }
}
const directMessage = object({
  to: anything,
  text: anything,
  linkPreview: anything,
  buttons: anything,
  media: anything,
  location: anything,
  replyTo: anything,
  otherwise: optional(object({ templateId: anything, variables: anything })),
  reference: anything,
  idempotencyKey: optional(Text)
})
const directOf = input(directMessage)

const onePerson = RequestDecoder.decoder(object({ phone: anything, userId: anything }))

/** A direct message, and the names of the one whom it goes to. */
export const direct = (
  given: unknown
): typeof directMessage.Type & { readonly phone?: unknown; readonly userId?: unknown } => {
  const message = directOf(given)
  const { to } = message
  if (Array.isArray(to) && to.length !== 1) {
    const text = `A direct message goes to one person: \`to\` has ${to.length}.`
    throw Failures.invalid([Fault.make(["to"], "invalid_value", text)])
  }
  const one: unknown = Array.isArray(to) ? to[0] : to
  if (typeof one === "string") return { ...message, ...namedBy(one) }
  if (typeof one !== "object" || one === null || Array.isArray(one)) return { ...message, phone: one }
  const read = onePerson(one)
  if (read._tag === "Right") return { ...message, ...read.right }
  const within = Array.isArray(to) ? ["to", 0] : ["to"]
  throw Failures.invalid(read.left.map((fault) => ({ ...fault, path: [...within, ...fault.path] })))
}
