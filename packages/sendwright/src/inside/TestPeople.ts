/** The people of a test, by a phone or a user id. */
import { Address, Fault, Phone } from "@sendwright/core"
import * as Schema from "effect/Schema"
import * as Failures from "./Failures.ts"
import { input } from "./Input.ts"

const textOf = input(Schema.String, { name: "phone" })

/** A phone as everything here writes it, so that one that is written otherwise is told apart from nobody. */
export const phone = (given: unknown): string => {
  const text = textOf(given)
  const fault = Phone.check(text)
  if (fault === undefined) return text
  throw Failures.invalid([Fault.make(["phone"], "recipient_invalid", fault)])
}

/** The phone or the user id that somebody is known by. */
export const name = (given: unknown): string => {
  const text = textOf(given)
  return Address.read(text) === undefined ? phone(text) : text
}

/** The person whom a name stands for. */
export const named = (name: string) => Address.read(name) ?? { phone: name, userId: null }

export const text = input(Schema.String, { name: "text" })
