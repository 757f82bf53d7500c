/** Says of the texts of answers what they are, beyond their form, because masking has to know (`Masking`). */
import * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"

const phone = Symbol.for("@sendwright/core/api/Texts/phone")
const userId = Symbol.for("@sendwright/core/api/Texts/userId")
const link = Symbol.for("@sendwright/core/api/Texts/link")
const plain = Symbol.for("@sendwright/core/api/Texts/plain")

export const isPhone = ({ annotations }: AST.AST): boolean => annotations[phone] === true
export const isUserId = ({ annotations }: AST.AST): boolean => annotations[userId] === true
export const isLink = ({ annotations }: AST.AST): boolean => annotations[link] === true
export const isPlain = ({ annotations }: AST.AST): boolean => annotations[plain] === true

/** Somebody's number. */
export const Phone = Schema.String.annotations({ [phone]: true })
export const NullablePhone = Schema.NullOr(Phone)

/** A platform's id of somebody. */
export const UserId = Schema.String.annotations({ [userId]: true })
export const NullableUserId = Schema.NullOr(UserId)

/** The person whom a message was for, by the names that its request gave. */
export const recipient = { phone: NullablePhone, user_id: NullableUserId }

/** A path of the API. */
export const Link = Schema.String.annotations({ [link]: true })

/** A text of ours that holds no number of anybody, whatever it looks like. */
export const plainly = <A, I>(schema: Schema.Schema<A, I>): Schema.Schema<A, I> =>
  schema.annotations({ [plain]: true })
