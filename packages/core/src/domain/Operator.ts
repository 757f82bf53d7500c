/**
 * Operators: who may use the admin API, each with a name, a role and a token of its own (docs/adr/0024-operators.md).
 * A token is shown once; only hashes are kept, and a rotation overlaps tokens as it does the secrets of API keys.
 */
import type { Secret } from "./account/ApiKey.ts"
import * as ApiKey from "./account/ApiKey.ts"
import type { Instant } from "./Instant.ts"

/**
 * `metrics` reads metrics only; `read` also reads everything in the admin API; `support` also does what people and customers ask
 * for and nothing else (contract.md §13 "Operating"); `admin` does everything.
 */
export const roles = ["metrics", "read", "support", "admin"] as const
export type Role = (typeof roles)[number]

/** `revoked` is final. */
export const statuses = ["active", "revoked"] as const
export type Status = (typeof statuses)[number]

export interface Operator {
  /** Unique for ever, even after a revocation, so that a name in the audit log means one operator. */
  readonly name: string
  readonly role: Role
  readonly status: Status
  /** True when people's numbers are masked in all that it is answered (`Phone.mask`): only of the role `read`. */
  readonly masksPhones: boolean
  /** The hashes of its tokens, the newest first. */
  readonly secrets: ReadonlyArray<Secret>
  readonly createdAt: Instant
  readonly lastUsedAt: Instant | null
}

/** The one who acts: an operator, or the one of the environment, whose token was made elsewhere. */
export interface Acting extends Omit<Operator, "createdAt"> {
  readonly createdAt: Instant | null
}

/** The operator of the environment's token. No other operator can have this name, since names have no capitals. */
export const environment: Acting = {
  name: "ADMIN_TOKEN",
  role: "admin",
  status: "active",
  masksPhones: false,
  secrets: [],
  createdAt: null,
  lastUsedAt: null
}

/** Each role may do what those before it may. */
export const allows = (role: Role, needed: Role): boolean => roles.indexOf(role) >= roles.indexOf(needed)

const nameForm = /^[a-z0-9][a-z0-9._@-]{0,63}$/

export const isName = (text: string): boolean => nameForm.test(text)

/** True for a name that people would read as the environment's operator. New operators cannot have it. */
export const isReserved = (name: string): boolean => name === environment.name.toLowerCase()

export const nameRule = "1 to 64 lower-case letters, digits and . _ @ -, the first a letter or digit"

/** `op_<name>_` before the form of an API key's secret: whoever finds a token knows whose it is. */
export const makeToken = (name: string, randomBytes: (count: number) => Uint8Array): string =>
  ApiKey.makeChecked(`op_${name}_`, randomBytes)

const tokenForm = /^op_(.+)_[0-9A-Za-z]{43}_[0-9A-Za-z]{6}$/

/** The name in a token; undefined for what is no operator's token. */
export const nameOf = (token: string): string | undefined => {
  const name = tokenForm.exec(token)?.[1]
  return name !== undefined && isName(name) ? name : undefined
}
