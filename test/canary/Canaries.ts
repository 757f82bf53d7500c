/**
 * Texts that are found wherever they went: each is unlike any other, and says where it may be. What is in no list of a
 * canary must not have it.
 */
import { randomBytes } from "node:crypto"

/**
 * - `database`: the rows or the bytes of the file.
 * - `problems`: refusals to a tenant or to nobody known.
 * - `logs`, `metrics`, `spans`.
 */
export type Place = "database" | "problems" | "logs" | "metrics" | "spans"

export interface Canary {
  readonly name: string
  readonly text: string
  readonly mayBeIn: ReadonlyArray<Place>
}

const unique = (name: string): string =>
  `canary-${name.replaceAll(" ", "-")}-${randomBytes(9).toString("hex")}`

/** Digits, so that a phone number is one; all of one run differ in their middle. */
let numbers = 100_000 + (randomBytes(3).readUIntBE(0, 3) % 800_000)
const phone = (): string => {
  numbers += 1
  return `34600${numbers}`.padEnd(12, "7")
}

/** Secrets are sealed or hashed; the words and numbers of people are in the database alone. */
export const make = () => {
  const all: Array<Canary> = []
  const canary = (name: string, text: string, mayBeIn: ReadonlyArray<Place> = []): string => {
    all.push({ name, text, mayBeIn })
    return text
  }
  const secret = (name: string) => canary(name, unique(name))
  return {
    all,
    canary,
    adminToken: secret("admin token"),
    masterKey: canary("master key", randomBytes(32).toString("base64")),
    wrongToken: secret("wrong admin token"),
    wrongSecret: secret("wrong secret key"),
    wrongVerifyToken: secret("wrong verify token"),
    gatewaySecret: secret("gateway secret"),
    gatewayHeader: secret("gateway header"),
    gatewayQuery: secret("query of the gateway's URL"),
    accessToken: secret("access token"),
    appSecret: secret("app secret"),
    verifyToken: secret("verify token"),
    userInfo: secret("password in a URL"),
    forged: secret("body of a forged hook"),
    malformed: secret("body that is no JSON"),
    refused: secret("value of an unknown field"),
    query: secret("value of an unknown parameter"),
    bearer: secret("unknown header"),
    echoedPhone: canary("number in a platform's words", phone()),
    webhookQuery: canary("query of a webhook's URL", unique("webhook query"), ["database"]),
    phone: canary("recipient", phone(), ["database"]),
    refusedPhone: canary("refused recipient", phone(), ["database"]),
    strangerPhone: canary("recipient without consent", phone()),
    personPhone: canary("person who wrote", phone(), ["database"]),
    variable: canary("variable", unique("variable"), ["database"]),
    // A tenant reads what the platform says of a message, and that may be the tenant's own text.
    message: canary("message text", unique("message text"), ["database", "problems"]),
    inbound: canary("inbound text", unique("inbound text"), ["database"]),
    unreadable: canary("unreadable item of a hook", unique("unreadable"), ["database"]),
    idempotencyKey: canary("idempotency key", unique("idempotency key"), ["database"]),
    reference: canary("reference", unique("reference"), ["database"])
  }
}

export type Canaries = ReturnType<typeof make>

/** A text, and what encodings that people decode without a thought make of it. */
const spellings = (text: string): ReadonlyArray<string> => [
  ...new Set([
    text,
    encodeURIComponent(text),
    JSON.stringify(text).slice(1, -1),
    Buffer.from(text).toString("hex"),
    Buffer.from(text).toString("base64").replace(/=+$/, "")
  ])
]

/** The names of canaries that are where they may not be. */
export const escaped = (all: ReadonlyArray<Canary>, place: Place, found: string): ReadonlyArray<string> =>
  all
    .filter(
      ({ mayBeIn, text }) => !mayBeIn.includes(place) && spellings(text).some((each) => found.includes(each))
    )
    .map(({ name }) => name)

/** The names of those that may be there, and are: a scan that finds none of them sees nothing. */
export const present = (all: ReadonlyArray<Canary>, place: Place, found: string): ReadonlyArray<string> =>
  all.filter(({ mayBeIn, text }) => mayBeIn.includes(place) && found.includes(text)).map(({ name }) => name)
