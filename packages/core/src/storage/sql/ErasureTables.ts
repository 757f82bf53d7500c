/** Where a person stands in the tables, beside recipients: what is searched, what is shown of it, and how it goes. */
import type { Name, Part, Redaction } from "../../domain/Erasure.ts"
import * as Time from "../../domain/Instant.ts"
import * as RetryPlan from "../../domain/job/RetryPlan.ts"
import * as Person from "../../domain/Person.ts"
import type { Finding } from "../ErasureStore.ts"
import type { Report } from "../JobStore.ts"
import { plans } from "./codec/RetryPlan.ts"
import type { Program, Row, SqlParameter } from "./Program.ts"
import { get, run } from "./Program.ts"
import { instantOrNull, integer, integerOrNull, text, textOrNull } from "./RowReader.ts"

/** Whom a slice is of. */
export interface Them {
  readonly names: ReadonlyArray<Name>
  readonly redaction: Redaction
}

/** A part of the store that is searched row by row, in the order of its key. */
export interface Searched {
  /** The table, which is called `item`, and what is joined to it. */
  readonly from: string
  /** The key's columns and, for each, what is before all of its values. */
  readonly key: ReadonlyArray<readonly [column: string, before: string | number]>
  /** Columns that are read besides the key. */
  readonly columns: ReadonlyArray<string>
  /** The row's account, as SQL; null where it is of none. */
  readonly account: string | null
  /** Columns in which a name may stand, as SQL. */
  readonly mentions: ReadonlyArray<string>
  /** Whether a token stands for a name there, too, since what it is about was erased before. */
  readonly isFoundByToken?: true
  /** The rows of one slice. */
  readonly atOnce: number
  /** Empty where they are only mentioned; null where they are not. */
  readonly shown: (row: Row, them: Them) => Finding | null
  /** Answers whether there was something of theirs. */
  readonly erase: (row: Row, them: Them) => Program<boolean>
}

const bySeq = [["seq", -1]] as const
const ofSession =
  "(SELECT session.account FROM sendwright_session AS session WHERE session.id = item.session)"
/** Of a row in which they are mentioned, and which tells nothing of them. */
const mentioned: Finding = {}

/** The token of a key, if it is one of theirs. */
const tokenOf = (key: Person.Key, { names }: Them): string | undefined => {
  const { phone, userId } = Person.ofKey(key)
  return names.find(({ kind, text }) => (kind === "phone" ? text === phone : text === userId))?.token
}

const isName = (kind: Name["kind"], given: string | null, { names }: Them): boolean =>
  names.some((name) => name.kind === kind && name.text === given)

const time = (row: Row, column: string): string | null => Time.formatOrNull(instantOrNull(row, column))

/** A statement that writes columns of the row that it is of. */
const update = (table: string, columns: ReadonlyArray<string>, key: ReadonlyArray<string>): string =>
  `UPDATE ${table} SET ${columns.map((name) => `${name} = ?`).join(", ")} WHERE ${key.map((name) => `${name} = ?`).join(" AND ")}`

/** Writes texts that name them anew, each by its reading. */
const rewriting = (
  table: string,
  readings: Readonly<Record<string, "json" | "text">>
): Pick<Searched, "erase" | "shown"> => {
  const columns = Object.entries(readings)
  const statement = update(
    table,
    columns.map(([name]) => name),
    ["seq"]
  )
  const anew = (row: Row, { redaction }: Them): ReadonlyArray<string | null> | null => {
    const before = columns.map(([name]) => textOrNull(row, name))
    // Rows as JSON may be written in another way, and name nobody.
    if (before.every((each) => each === null || redaction.text(each) === each)) return null
    return columns.map(([, reading], at) => {
      const given = before[at] ?? null
      return given === null ? null : redaction[reading](given)
    })
  }
  return {
    shown: (row, them) => (anew(row, them) === null ? null : mentioned),
    *erase(row, them) {
      const after = anew(row, them)
      if (after === null) return false
      yield* run(statement, ...after, integer(row, "seq"))
      return true
    }
  }
}

const consentKey = ["account", "person", "occurred_at", "seq"] as const

const lastOf = "SELECT max(seq) AS seq FROM sendwright_consent WHERE account = ? AND person = ?"
const moveConsent = update(
  "sendwright_consent",
  ["person", "seq", "phone", "user_id", "proof", "source"],
  consentKey
)
const cleanConsent = update("sendwright_consent", ["phone", "user_id", "proof", "source"], consentKey)

const keyOfConsent = (row: Row): ReadonlyArray<SqlParameter> => [
  text(row, "account"),
  text(row, "person"),
  integer(row, "occurred_at"),
  integer(row, "seq")
]

/** Under the hash the order of recording stays, behind what an earlier erasure has put there. */
function* eraseConsent(row: Row, them: Them): Program<boolean> {
  const [account, person] = [text(row, "account"), text(row, "person")]
  const token = tokenOf(person, them)
  const source = them.redaction.text(text(row, "source"))
  if (token !== undefined) {
    const last = yield* get(lastOf, account, token)
    const seq = 1 + ((last === undefined ? null : integerOrNull(last, "seq")) ?? 0)
    yield* run(moveConsent, token, seq, null, null, null, source, ...keyOfConsent(row))
    return true
  }
  const [phone, userId] = [textOrNull(row, "phone"), textOrNull(row, "user_id")]
  const proof = textOrNull(row, "proof")
  const after = [
    isName("phone", phone, them) ? null : phone,
    isName("user", userId, them) ? null : userId,
    proof === null ? null : them.redaction.text(proof),
    source
  ]
  if (after[0] === phone && after[1] === userId && after[2] === proof && source === text(row, "source"))
    return false
  yield* run(cleanConsent, ...after, ...keyOfConsent(row))
  return true
}

const deleteLink = "DELETE FROM sendwright_person_link WHERE account = ? AND person = ? AND other = ?"
const deletePair = "DELETE FROM sendwright_pair WHERE session = ? AND phone = ?"
const deleteRefusal = "DELETE FROM sendwright_perhaps_refusal WHERE seq = ?"
const cleanRefusal = update("sendwright_perhaps_refusal", ["text"], ["seq"])
const deleteUnread = "DELETE FROM sendwright_unread_hook WHERE session = ? AND number = ?"
const cleanAttempt = update("sendwright_attempt", ["excerpt"], ["delivery", "number"])
const deleteReport = "DELETE FROM sendwright_parked WHERE seq = ?"
const cleanReport = update("sendwright_parked", ["report"], ["seq"])
const jobTexts = ["reference", "request_id", "idempotency_key", "answer"] as const
const cleanJob = update("sendwright_job", jobTexts, ["seq"])
const wantedOf = plans.columns.wanted.read
const cleanRetry = update("sendwright_retry_plan", ["idempotency_key", "wanted"], ["seq"])
const cleanEvent = update("sendwright_event", ["body"], ["seq"])

const isOfRefusal = (row: Row, them: Them): boolean =>
  isName("phone", textOrNull(row, "phone"), them) || isName("user", textOrNull(row, "user_id"), them)

/** A receiver that names them in its answer may tell more of them there. */
const excerptOf = (row: Row, { redaction }: Them): string => {
  const [body, excerpt] = [textOrNull(row, "body"), text(row, "excerpt")]
  const isTheirs = (body !== null && redaction.isAbout(body)) || redaction.text(excerpt) !== excerpt
  return isTheirs ? "" : excerpt
}

/** True for an early report that is of their message, and not of another's that mentions them. */
const isTheirReport = (row: Row, them: Them): boolean => {
  const { named }: Pick<Report, "named"> = JSON.parse(text(row, "report"))
  const providerId = text(row, "provider_id")
  return (
    isName("phone", named?.phone ?? null, them) ||
    isName("user", named?.userId ?? null, them) ||
    them.redaction.text(providerId) !== providerId
  )
}

const jobs: Searched = {
  from: "sendwright_job AS item",
  key: bySeq,
  columns: jobTexts,
  account: "item.account",
  mentions: jobTexts.map((column) => `item.${column}`),
  atOnce: 2000,
  shown: (row, { redaction }) =>
    jobTexts.some((column) => {
      const given = textOrNull(row, column)
      return given !== null && redaction.text(given) !== given
    })
      ? mentioned
      : null,
  *erase(row, { redaction }) {
    const [reference, request, key, answer] = [
      textOrNull(row, "reference"),
      textOrNull(row, "request_id"),
      textOrNull(row, "idempotency_key"),
      textOrNull(row, "answer")
    ]
    const anew = key === null ? null : redaction.text(key)
    const seq = integer(row, "seq")
    const after = [
      reference === null ? null : redaction.text(reference),
      request === null ? null : redaction.text(request),
      // Two keys that become one text stay two.
      anew === key ? key : `${anew}:${seq}`,
      answer === null ? null : redaction.json(answer)
    ]
    if (after[0] === reference && after[1] === request && after[2] === key && after[3] === answer)
      return false
    yield* run(cleanJob, ...after, seq)
    return true
  }
}

/** The key and the filter of a retry without them; null where they name nobody. */
const retryAnew = (row: Row, { redaction }: Them) => {
  const key = textOrNull(row, "idempotency_key")
  const wanted = wantedOf(row)
  const anew = key === null ? null : redaction.text(key)
  const without = RetryPlan.withReference(wanted, redaction.text)
  if (anew === key && without === wanted) return null
  // Two keys that become one text stay two.
  return { key: anew === key ? key : `${anew}:${integer(row, "seq")}`, wanted: JSON.stringify(without) }
}

const retries: Searched = {
  from: "sendwright_retry_plan AS item",
  key: bySeq,
  columns: ["wanted", "idempotency_key"],
  account: "item.account",
  mentions: ["item.wanted", "item.idempotency_key"],
  atOnce: 2000,
  shown: (row, them) => (retryAnew(row, them) === null ? null : mentioned),
  *erase(row, them) {
    const anew = retryAnew(row, them)
    if (anew === null) return false
    yield* run(cleanRetry, anew.key, anew.wanted, integer(row, "seq"))
    return true
  }
}

const attempts: Searched = {
  from: `sendwright_attempt AS item LEFT JOIN sendwright_delivery AS delivery ON delivery.seq = item.delivery
    LEFT JOIN sendwright_event AS event ON event.seq = delivery.event`,
  key: [
    ["delivery", -1],
    ["number", -1]
  ],
  columns: ["excerpt", "at", "status", "event.body"],
  account: "event.account",
  mentions: ["item.excerpt", "event.body"],
  isFoundByToken: true,
  atOnce: 300,
  shown: (row, them) =>
    excerptOf(row, them) === text(row, "excerpt")
      ? null
      : { at: time(row, "at"), status: integerOrNull(row, "status"), excerpt: text(row, "excerpt") },
  *erase(row, them) {
    const excerpt = excerptOf(row, them)
    if (excerpt === text(row, "excerpt")) return false
    yield* run(cleanAttempt, excerpt, integer(row, "delivery"), integer(row, "number"))
    return true
  }
}

const events: Searched = {
  from: "sendwright_event AS item",
  key: bySeq,
  columns: ["body"],
  account: "item.account",
  mentions: ["item.body"],
  atOnce: 300,
  shown: (row, { redaction }) => {
    const body = text(row, "body")
    if (redaction.isAbout(body)) return JSON.parse(body)
    return redaction.event(body) === body ? null : mentioned
  },
  *erase(row, { redaction }) {
    const body = text(row, "body")
    const after = redaction.event(body)
    if (after === body) return false
    yield* run(cleanEvent, after, integer(row, "seq"))
    return true
  }
}

const consents: Searched = {
  from: "sendwright_consent AS item",
  key: [
    ["account", ""],
    ["person", ""],
    ["occurred_at", Number.MIN_SAFE_INTEGER],
    ["seq", -1]
  ],
  columns: ["purpose", "status", "source", "proof", "reported_at", "recorded_at", "phone", "user_id"],
  account: "item.account",
  mentions: ["item.person", "item.phone", "item.user_id", "item.proof", "item.source"],
  // The order of a person's records is in their key: what is under a hash by now is found to be shown.
  isFoundByToken: true,
  atOnce: 1000,
  shown: (row, them) => {
    const person = text(row, "person")
    const { phone, userId } = Person.ofKey(person)
    if (tokenOf(person, them) === undefined && !them.names.some(({ token }) => token === person)) return null
    return {
      account_id: text(row, "account"),
      phone: textOrNull(row, "phone") ?? phone,
      user_id: textOrNull(row, "user_id") ?? userId,
      purpose: text(row, "purpose"),
      status: text(row, "status"),
      source: text(row, "source"),
      proof: textOrNull(row, "proof"),
      occurred_at: time(row, "occurred_at"),
      reported_at: time(row, "reported_at"),
      recorded_at: time(row, "recorded_at")
    }
  },
  erase: eraseConsent
}

const links: Searched = {
  from: "sendwright_person_link AS item",
  key: [
    ["account", ""],
    ["person", ""],
    ["other", ""]
  ],
  columns: ["at"],
  account: "item.account",
  mentions: ["item.person", "item.other"],
  atOnce: 1000,
  shown: (row, them) => {
    const [person, other] = [text(row, "person"), text(row, "other")]
    if (tokenOf(person, them) === undefined) return null
    const { phone, userId } = Person.ofKey(other)
    return { account_id: text(row, "account"), of: person, phone, user_id: userId, at: time(row, "at") }
  },
  *erase(row, them) {
    const [account, person, other] = [text(row, "account"), text(row, "person"), text(row, "other")]
    if (tokenOf(person, them) === undefined && tokenOf(other, them) === undefined) return false
    yield* run(deleteLink, account, person, other)
    return true
  }
}

const pairs: Searched = {
  from: "sendwright_pair AS item",
  key: [
    ["session", ""],
    ["phone", ""]
  ],
  columns: ["next_at"],
  account: ofSession,
  mentions: ["item.phone"],
  atOnce: 2000,
  shown: (row, them) => (isName("phone", text(row, "phone"), them) ? mentioned : null),
  *erase(row, them) {
    const [session, phone] = [text(row, "session"), text(row, "phone")]
    if (!isName("phone", phone, them)) return false
    yield* run(deletePair, session, phone)
    return true
  }
}

const refusals: Searched = {
  from: "sendwright_perhaps_refusal AS item",
  key: bySeq,
  columns: ["phone", "user_id", "text", "session", "occurred_at"],
  account: "item.account",
  mentions: ["item.phone", "item.user_id", "item.text"],
  atOnce: 1000,
  shown: (row, them) => {
    const said = text(row, "text")
    if (isOfRefusal(row, them))
      return { session_id: text(row, "session"), text: said, occurred_at: time(row, "occurred_at") }
    return them.redaction.text(said) === said ? null : mentioned
  },
  *erase(row, them) {
    const seq = integer(row, "seq")
    if (isOfRefusal(row, them)) {
      yield* run(deleteRefusal, seq)
      return true
    }
    const after = them.redaction.text(text(row, "text"))
    if (after === text(row, "text")) return false
    yield* run(cleanRefusal, after, seq)
    return true
  }
}

const texts: Searched = {
  from: "sendwright_unattributed AS item",
  key: bySeq,
  columns: ["text"],
  account: "item.account",
  mentions: ["item.text"],
  atOnce: 1000,
  ...rewriting("sendwright_unattributed", { text: "text" })
}

const unread: Searched = {
  from: "sendwright_unread_hook AS item",
  key: [
    ["session", ""],
    ["number", -1]
  ],
  columns: ["content", "received_at"],
  account: ofSession,
  mentions: ["item.content"],
  atOnce: 300,
  shown: (row, { redaction }) => {
    const content = text(row, "content")
    return redaction.text(content) === content
      ? null
      : { session_id: text(row, "session"), content, received_at: time(row, "received_at") }
  },
  *erase(row, { redaction }) {
    const content = text(row, "content")
    if (redaction.text(content) === content) return false
    yield* run(deleteUnread, text(row, "session"), integer(row, "number"))
    return true
  }
}

const reports: Searched = {
  from: "sendwright_parked AS item",
  key: bySeq,
  columns: ["report", "session", "provider_id"],
  account: ofSession,
  mentions: ["item.report", "item.provider_id"],
  atOnce: 1000,
  shown: (row, them) => {
    const report = text(row, "report")
    return them.redaction.text(report) === report && !isTheirReport(row, them) ? null : JSON.parse(report)
  },
  *erase(row, them) {
    if (isTheirReport(row, them)) {
      yield* run(deleteReport, integer(row, "seq"))
      return true
    }
    const report = text(row, "report")
    if (them.redaction.text(report) === report) return false
    yield* run(cleanReport, them.redaction.json(report), integer(row, "seq"))
    return true
  }
}

const audit: Searched = {
  from: "sendwright_audit AS item",
  key: bySeq,
  columns: ["target", "before_act", "after_act"],
  account: null,
  mentions: ["item.target", "item.before_act", "item.after_act"],
  atOnce: 1000,
  ...rewriting("sendwright_audit", { target: "text", before_act: "json", after_act: "json" })
}

const happenings: Searched = {
  from: "sendwright_happening AS item",
  key: bySeq,
  columns: ["data"],
  account: "item.account",
  mentions: ["item.data"],
  atOnce: 1000,
  ...rewriting("sendwright_happening", { data: "json" })
}

export const tables: Readonly<Record<Exclude<Part, "recipients">, Searched>> = {
  jobs,
  retries,
  attempts,
  events,
  consents,
  links,
  pairs,
  refusals,
  texts,
  unread,
  reports,
  audit,
  happenings
}
