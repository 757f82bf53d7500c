/** What a table's columns write is what they read: from a driver's row, and from the JSON text of an answer. */
import { afterAll, describe, expect, it } from "@effect/vitest"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import * as FastCheck from "effect/FastCheck"
import * as Records from "effect/Record"
import * as Consent from "../../src/domain/consent/Consent.ts"
import * as Keywords from "../../src/domain/consent/Keywords.ts"
import * as Time from "../../src/domain/Instant.ts"
import * as ClientTexts from "../../src/domain/job/ClientTexts.ts"
import * as Job from "../../src/domain/job/Job.ts"
import * as Priority from "../../src/domain/job/Priority.ts"
import * as Recipient from "../../src/domain/job/Recipient.ts"
import * as Transitions from "../../src/domain/job/Transitions.ts"
import * as Operators from "../../src/domain/Operator.ts"
import * as Person from "../../src/domain/Person.ts"
import * as Sessions from "../../src/domain/session/Session.ts"
import * as Templates from "../../src/domain/template/Template.ts"
import * as Unattributed from "../../src/domain/Unattributed.ts"
import * as Event from "../../src/domain/webhook/Event.ts"
import * as Webhook from "../../src/domain/webhook/Webhook.ts"
import type { Row, SqlValue } from "../../src/storage/Program.ts"
import type { Columns, Table } from "../../src/storage/sql/Columns.ts"
import { integer, table, text, textOrNull } from "../../src/storage/sql/Columns.ts"
import { accounts } from "../../src/storage/sql/codec/Account.ts"
import { apiKeys } from "../../src/storage/sql/codec/ApiKey.ts"
import { auditEntries } from "../../src/storage/sql/codec/AuditEntry.ts"
import {
  consents,
  histories,
  readConsent,
  standings,
  writeConsent
} from "../../src/storage/sql/codec/Consent.ts"
import { attempts, deliveries, events } from "../../src/storage/sql/codec/Delivery.ts"
import { endpoints } from "../../src/storage/sql/codec/Endpoint.ts"
import { operators } from "../../src/storage/sql/codec/Operator.ts"
import { rateCards } from "../../src/storage/sql/codec/RateCard.ts"
import { readSession, sessions, writeSession } from "../../src/storage/sql/codec/Session.ts"
import { readTemplate, templates } from "../../src/storage/sql/codec/Template.ts"
import { unattributedItems } from "../../src/storage/sql/codec/Unattributed.ts"
import { unreadHooks } from "../../src/storage/sql/codec/UnreadHook.ts"
import { insertInto } from "../../src/storage/sql/Insert.ts"
import { claims } from "../../src/storage/sql/jobs/Claims.ts"
import * as JobColumns from "../../src/storage/sql/jobs/JobColumns.ts"
import * as Jobs from "../../src/storage/sql/jobs/Jobs.ts"
import {
  areEqual,
  readRecipients,
  recipientColumns,
  recipients,
  writeChanged
} from "../../src/storage/sql/jobs/RecipientColumns.ts"
import { perhapsRefusals } from "../../src/storage/sql/PerhapsRefusalRows.ts"
import { impersonal, mention } from "../../src/storage/sql/Personal.ts"
import { everyTable } from "../../src/storage/sql/Schema.ts"
import { dialect } from "../../src/storage/sqlite/Dialect.ts"
import * as Migrator from "../../src/storage/sqlite/Migrator.ts"
import { migrations } from "../../src/storage/sqlite/Schema.ts"
import * as Fixtures from "../../src/testing/Fixtures.ts"

const db = new Sqlite(":memory:")
Effect.runSync(Migrator.migrate(db, migrations, Fixtures.now))
afterAll(() => {
  db.close()
})

/** The row of some values, alone in its table. */
const stored = (name: string, columns: ReadonlyArray<string>, values: ReadonlyArray<SqlValue>): Row => {
  db.exec(`DELETE FROM ${name}`)
  db.prepare(insertInto(name, columns)).run(...values)
  return db.prepare<[], Row>(`SELECT * FROM ${name}`).get() ?? {}
}

const answer = (statement: string, ...parameters: ReadonlyArray<SqlValue>): string => {
  const [value] = Object.values(db.prepare<Array<SqlValue>, Row>(statement).get(...parameters) ?? {})
  return typeof value === "string" ? value : ""
}

const word = FastCheck.oneof(FastCheck.string(), FastCheck.constantFrom("'", '"', "\\", "null", "é", "😀"))
const number = FastCheck.nat(Number.MAX_SAFE_INTEGER)
const time = number.map(Time.at)
const orNull = <A>(some: FastCheck.Arbitrary<A>) => FastCheck.option(some, { nil: null })
const of = <A>(words: ReadonlyArray<A>) => FastCheck.constantFrom(...words)

const secret = FastCheck.record({ hash: word, createdAt: time, expiresAt: orNull(time) })
const pacing = FastCheck.record({ messagesPerSecond: orNull(number), pairIntervalMs: orNull(number) })

/** Tables that tell of the database itself, and of its migrations. */
const ofDatabase = ["sendwright_migration", "sendwright_probe", "sendwright_state"]

it("every table of the schema is described, with all of its columns", () => {
  const tables = db.prepare<[], { readonly name: string }>(
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND name LIKE 'sendwright%' ORDER BY name"
  )
  const columns = db.prepare<[string], { readonly name: string }>("SELECT name FROM pragma_table_info(?)")
  const described = new Map(
    everyTable.map(({ name, ordered }) => [name, ordered.map((column) => column.name)])
  )
  // Most rows have their number from the database.
  const withoutSeq = (all: ReadonlyArray<string>) => all.filter((column) => column !== "seq")
  for (const { name } of tables.all()) {
    if (ofDatabase.includes(name)) continue
    const expected = columns.all(name).map((column) => column.name)
    expect([name, withoutSeq(described.get(name) ?? [])]).toEqual([name, withoutSeq(expected)])
  }
})

const identity = <R extends object>(name: string, columns: Table<R>, records: FastCheck.Arbitrary<R>) => {
  it(`${name}: a record that was written is read as it was`, () => {
    FastCheck.assert(
      FastCheck.property(records, (record) => {
        const row = stored(name, columns.names, columns.write(record))
        expect(columns.read(row)).toEqual(record)
        const values: ReadonlyArray<SqlValue> = JSON.parse(
          answer(`SELECT ${dialect.jsonArray(columns.of("one"))} FROM ${name} AS one`)
        )
        expect(columns.read(columns.toRow(values))).toEqual(record)
      })
    )
  })
}

describe("Columns", () => {
  identity(
    "sendwright_account",
    accounts,
    FastCheck.record({
      id: word,
      name: word,
      currency: word,
      plan: FastCheck.constant(Fixtures.account().plan),
      caps: FastCheck.record({
        authentication: orNull(FastCheck.record({ most: number, days: number })),
        utility: FastCheck.constant(null),
        marketing: FastCheck.constant(null)
      }),
      retention: FastCheck.record({
        deliveriesDays: FastCheck.option(number),
        contentsDays: FastCheck.option(number),
        resultsDays: FastCheck.option(number),
        unreadHooksDays: FastCheck.option(number),
        consentsDays: FastCheck.option(number)
      }),
      createdAt: time,
      updatedAt: time
    })
  )
  identity(
    "sendwright_api_key",
    apiKeys,
    FastCheck.record({
      publicKey: word,
      sessionId: word,
      name: orNull(word),
      permissions: FastCheck.constant(Fixtures.apiKey("session").permissions),
      status: of(["active", "inactive", "revoked"] as const),
      secrets: FastCheck.array(secret),
      createdAt: time,
      lastUsedAt: orNull(time)
    })
  )
  identity(
    "sendwright_operator",
    operators,
    FastCheck.record({
      name: word,
      role: of(Operators.roles),
      masksPhones: FastCheck.boolean(),
      status: of(Operators.statuses),
      secrets: FastCheck.array(secret),
      createdAt: time,
      lastUsedAt: orNull(time)
    })
  )
  identity(
    "sendwright_audit",
    auditEntries,
    FastCheck.record({
      id: word,
      at: time,
      operator: word,
      operation: word,
      target: orNull(word),
      address: orNull(word),
      requestId: orNull(word),
      before: orNull(FastCheck.record({ name: word })),
      after: orNull(FastCheck.record({ name: word }))
    })
  )
  identity(
    "sendwright_rate_card",
    rateCards,
    FastCheck.record({
      id: word,
      currency: word,
      effectiveFrom: time,
      createdAt: time,
      prices: FastCheck.constant(Fixtures.rateCard().prices)
    })
  )
  identity(
    "sendwright_perhaps_refusal",
    perhapsRefusals,
    FastCheck.record({
      id: word,
      accountId: word,
      sessionId: word,
      portfolio: word,
      phone: orNull(word),
      userId: orNull(word),
      messageId: orNull(word),
      text: word,
      occurredAt: time,
      reportedAt: orNull(time),
      recordedAt: time
    })
  )
  identity(
    "sendwright_unattributed",
    unattributedItems,
    FastCheck.record({
      id: word,
      accountId: word,
      sessionId: word,
      kind: of(Unattributed.kinds),
      messageId: orNull(word),
      text: word,
      occurredAt: time,
      recordedAt: time
    })
  )
  identity(
    "sendwright_unread_hook",
    unreadHooks,
    FastCheck.record({
      sessionId: word,
      number,
      id: word,
      field: word,
      reason: word,
      content: word,
      isCut: FastCheck.boolean(),
      receivedAt: time
    })
  )
  identity(
    "sendwright_endpoint",
    endpoints,
    FastCheck.record({
      id: word,
      accountId: word,
      url: word,
      events: FastCheck.array(word),
      description: orNull(word),
      enabled: FastCheck.boolean(),
      disabledReason: orNull(word),
      secrets: FastCheck.array(FastCheck.record({ sealed: word, createdAt: time, expiresAt: orNull(time) })),
      failingSince: orNull(time),
      deliveriesPerSecond: orNull(FastCheck.integer({ min: 1, max: Webhook.maximumPace })),
      batchRecipients: FastCheck.boolean(),
      createdAt: time,
      updatedAt: time
    })
  )
  identity(
    "sendwright_event",
    events,
    FastCheck.record({
      id: word,
      accountId: word,
      type: of([...Event.types, Event.batchType]),
      body: word,
      traceparent: orNull(word),
      createdAt: time
    })
  )
  identity(
    "sendwright_delivery",
    deliveries,
    FastCheck.record({
      seq: number,
      id: word,
      endpoint: number,
      event: number,
      status: of(Webhook.deliveryStatuses),
      attempts: number,
      tries: number,
      firstAttemptAt: orNull(time),
      nextAt: orNull(time),
      dueAt: orNull(time),
      worker: orNull(word),
      fence: number,
      createdAt: time
    })
  )
  identity(
    "sendwright_attempt",
    attempts,
    FastCheck.record({
      delivery: number,
      number,
      at: time,
      status: orNull(number),
      durationMs: number,
      reason: orNull(of(Webhook.failures)),
      excerpt: word
    })
  )
  identity(
    "sendwright_claim",
    claims,
    FastCheck.record({
      fence: number,
      session: word,
      priority: of(Priority.all),
      first: number,
      last: number,
      jobs: orNull(FastCheck.array(number)),
      isOvertaken: FastCheck.boolean(),
      worker: orNull(word),
      open: number,
      at: time,
      place: orNull(number)
    })
  )

  const silence = FastCheck.tuple(time, time).map(([a, b]) => ({
    since: Time.min(a, b),
    until: Time.max(a, b)
  }))
  const outage = FastCheck.record({ since: time, probeAt: time, intervalMs: number })
  const session = FastCheck.record({
    id: word,
    accountId: word,
    name: word,
    provider: word,
    config: word,
    pacing,
    retryForMs: orNull(number),
    closedMarkets: orNull(
      FastCheck.array(
        FastCheck.record({ category: of(["marketing", "utility"] as const), prefixes: FastCheck.array(word) })
      )
    ),
    quietHours: FastCheck.record({
      authentication: FastCheck.constant(null),
      utility: FastCheck.constant(null),
      marketing: orNull(
        FastCheck.record({
          from: word,
          to: word,
          days: orNull(FastCheck.array(number)),
          outside: of(["hold", "skip"] as const)
        })
      )
    }),
    keywords: FastCheck.oneof(
      FastCheck.constant(Keywords.standard),
      FastCheck.record({
        optOut: orNull(FastCheck.array(word, { minLength: 1 })),
        optIn: orNull(FastCheck.array(word))
      })
    ),
    state: of(Sessions.states),
    reason: orNull(word),
    blockedUntil: orNull(time),
    blockReason: orNull(of(Sessions.blockReasons)),
    blockCode: orNull(word),
    repliesBlockedUntil: orNull(time),
    told: FastCheck.dictionary(
      of(["standing", "templates"] as const),
      FastCheck.record({ at: time, words: FastCheck.array(word) })
    ),
    connectedSince: orNull(time),
    mendedAt: orNull(time),
    failing: orNull(
      FastCheck.dictionary(
        of(["answer", "receipt"] as const),
        FastCheck.record({
          code: word,
          providerCode: orNull(word),
          count: number,
          people: FastCheck.array(word),
          blocks: number,
          probeAt: orNull(number)
        })
      )
    ),
    createdAt: time,
    updatedAt: time
  })
  const outages = FastCheck.oneof(
    FastCheck.record({ outage, lastOutage: FastCheck.constant(null) }),
    FastCheck.record({ outage: FastCheck.constant(null), lastOutage: orNull(silence) })
  )

  it("sendwright_session: a session with any outage is read as it was", () => {
    FastCheck.assert(
      FastCheck.property(session, outages, (rest, ofIt) => {
        const record = { ...rest, ...ofIt }
        expect(readSession(stored("sendwright_session", sessions.names, writeSession(record)))).toEqual(
          record
        )
      })
    )
  })

  it("sendwright_session: half an outage is a defect", () => {
    const { names } = sessions
    const values = writeSession(Fixtures.session("account"))
    const row = { ...sessions.toRow(values), unavailable_since: 1 }
    expect(names).toContain("unavailable_since")
    expect(() => readSession(row)).toThrow("no next probe")
  })

  it("sendwright_template: a template is read from its content", () => {
    FastCheck.assert(
      FastCheck.property(
        FastCheck.record({ templateId: number, sessionId: word, updatedAt: time }),
        (known) => {
          const content = Templates.merge(null, Fixtures.template())
          const row = {
            ...content,
            ...known,
            content,
            platformId: null,
            checkAt: null,
            checks: 0,
            checkedAt: null,
            pausedAt: null,
            recheckAt: null,
            told: null
          }
          const found = stored("sendwright_template", templates.names, templates.write(row))
          expect(readTemplate(found)).toEqual({ ...content, ...known })
        }
      )
    )
  })

  const consent = FastCheck.record({
    id: word,
    phone: orNull(of(["4917", "4918"])),
    userId: orNull(of(["u1", "u2"])),
    purpose: of(Consent.scopes),
    status: of(Consent.statuses),
    source: word,
    proof: orNull(word),
    occurredAt: time,
    reportedAt: orNull(time),
    datedBy: orNull(word),
    recordedAt: time
  })
  const keysOf = ({ phone, userId }: Person.Person): ReadonlyArray<Person.Key> => [
    ...(phone === null ? [] : [phone]),
    ...(userId === null ? [] : [Person.keyOfUser(userId, "portfolio")])
  ]

  it("sendwright_consent: a record is read as it was under each of its person's keys", () => {
    FastCheck.assert(
      FastCheck.property(consent, word, number, (record, accountId, seq) => {
        for (const person of keysOf(record)) {
          const values = writeConsent(record, { accountId, person, seq })
          expect(readConsent(stored("sendwright_consent", consents.names, values))).toEqual(record)
          const json = (select: string) =>
            answer(`SELECT ${dialect.jsonArrays(select)} FROM sendwright_consent AS consent`)
          expect(histories.parse(json(histories.select("7")))).toEqual([{ place: 7, record }])
          const { occurredAt, purpose, source, status } = record
          const standing = { purpose, status, source, occurredAt }
          expect(standings.parse(json(standings.select("7")))).toEqual([{ place: 7, record: standing }])
        }
      })
    )
  })

  const moment = FastCheck.oneof(time, FastCheck.record({ local: word, timeZone: word }))
  const accepted = FastCheck.record({
    address: word,
    ...Records.map(ClientTexts.recipient.of({}), () => orNull(word)),
    values: FastCheck.array(word),
    market: orNull(word),
    price: orNull(word),
    timing: orNull(
      FastCheck.record({ sendAt: orNull(moment), expiresAt: orNull(moment), timeZone: orNull(word) })
    )
  })
  const failure = FastCheck.record({
    code: word,
    provider_code: orNull(word),
    message: word,
    permanent: FastCheck.boolean()
  })
  const progress = FastCheck.record({
    status: of(Recipient.statuses),
    failure: orNull(failure),
    attempts: number,
    retryingSince: orNull(time),
    requeuedAt: orNull(time),
    crashCount: number,
    maybeSent: FastCheck.boolean(),
    providerId: orNull(word),
    pricing: orNull(FastCheck.record({ category: word, free: FastCheck.boolean() })),
    sequence: FastCheck.integer({ min: 1 }),
    nextAt: orNull(time),
    updatedAt: time,
    sentAt: orNull(time),
    deliveredAt: orNull(time),
    readAt: orNull(time),
    attemptedAt: orNull(time)
  })
  const position = FastCheck.record({ job: FastCheck.nat(1e9), index: FastCheck.nat(4094) })

  const expectRecipient = (recipient: Job.RecipientResult, job: number, fence: number | null) => {
    const { index, ...rest } = recipient
    const key = job * 4096 + index
    const record = { ...rest, key, fence }
    const row = stored("sendwright_recipient", recipients.names, recipients.write(record))
    expect(recipients.read(row)).toEqual(record)
    const json = answer(
      `SELECT ${recipientColumns(dialect, "'session'")} FROM sendwright_recipient AS recipient`
    )
    expect(readRecipients(json)).toEqual([{ key, recipient, fence }])
  }

  it("sendwright_recipient: a recipient is read as it was", () => {
    FastCheck.assert(
      FastCheck.property(
        accepted,
        progress,
        position,
        orNull(FastCheck.integer({ min: 1 })),
        (is, became, { index, job }, fence) => {
          expectRecipient({ ...is, ...became, index }, job, fence)
        }
      )
    )
  })

  it("sendwright_recipient: two steps are alike when they write the same", () => {
    FastCheck.assert(
      FastCheck.property(accepted, progress, progress, orNull(number), (is, one, other, fence) => {
        const before = Job.newRecipient(is, 0, Time.at(0))
        const a = { before, after: { ...before, ...one }, fenceBefore: null, fence: 7 }
        expect(areEqual(a, { ...a, after: { ...a.after, providerId: "another" } })).toBe(true)
        for (const [field, value] of Object.entries(other)) {
          const b = { ...a, after: { ...a.after, [field]: value } }
          const writesSame = JSON.stringify(writeChanged(a)) === JSON.stringify(writeChanged(b))
          // Failures are compared by what they are: those of one cause are one object.
          if (field !== "failure" || value === null) expect(areEqual(a, b)).toBe(writesSame)
        }
        expect(areEqual(a, { ...a, fence })).toBe(fence === a.fence)
      })
    )
  })

  it("sendwright_recipient: an untouched recipient is read as it was accepted", () => {
    FastCheck.assert(
      FastCheck.property(accepted, position, time, (is, { index, job }, now) => {
        expectRecipient(Job.newRecipient(is, index, now), job, null)
      })
    )
  })

  it("sendwright_recipient: an untouched recipient that a claim has is read as it is sent", () => {
    FastCheck.assert(
      FastCheck.property(accepted, position, time, time, (is, { index, job }, now, at) => {
        const recipient = Job.newRecipient(is, index, now)
        const { index: _, ...rest } = recipient
        const key = job * 4096 + index
        stored("sendwright_recipient", recipients.names, recipients.write({ ...rest, key, fence: null }))
        const read = (first: number) => {
          const claim = {
            ...{ fence: 7, session: "session", priority: "normal" as const, worker: "w", open: 1, at },
            jobs: null,
            place: null,
            isOvertaken: false
          }
          stored("sendwright_claim", claims.names, claims.write({ ...claim, first, last: key }))
          return readRecipients(
            answer(`SELECT ${recipientColumns(dialect, "'session'")} FROM sendwright_recipient AS recipient`)
          )
        }
        expect(read(key)).toEqual([{ key, recipient: Transitions.claim(recipient, at), fence: 7 }])
        expect(read(key + 1)).toEqual([{ key, recipient, fence: null }])
        db.exec("DELETE FROM sendwright_claim")
      })
    )
  })

  const content: Job.Content = { kind: "direct", text: "Hello", linkPreview: false }
  const newJob = FastCheck.record({
    seq: number,
    jobId: word,
    accountId: word,
    sessionId: word,
    publicKey: word,
    requestId: orNull(word),
    traceparent: orNull(word),
    idempotencyKey: orNull(word),
    content: FastCheck.constant(content),
    ...Records.map(ClientTexts.job.of({}), () => orNull(word)),
    recipients: FastCheck.integer({ min: 1, max: 4094 }),
    currency: word,
    estimatedCost: orNull(word),
    priority: of(Priority.all),
    perMinute: orNull(number),
    stopWhen: orNull(
      FastCheck.record({ failedPercent: number, ofFirst: number, over: of(["job", "reference"] as const) })
    ),
    now: time
  })
  const rows = Jobs.make(dialect, Fixtures.makeIds())

  type NewJob = typeof newJob extends FastCheck.Arbitrary<infer A> ? A : never

  /** The job as it is answered, of which there is what the tables hold beside its own row. */
  const answered = ({ seq, ...accepted }: NewJob) => {
    const job = Job.newJob(accepted)
    db.exec("DELETE FROM sendwright_snapshot")
    db.exec("INSERT INTO sendwright_snapshot (seq, digest, body) VALUES (5, 'digest', '{}')")
    stored(
      "sendwright_job",
      ["seq", ...JobColumns.newJob.names],
      [
        seq,
        ...JobColumns.newJob.write({
          ...job,
          kind: content.kind,
          template: null,
          snapshot: 5,
          fingerprint: null,
          dayTotal: 1,
          dueAt: accepted.now
        })
      ]
    )
    const read = JobColumns.readJob(answer(rows.select))
    expect(read.digest).toBe("digest")
    expect(read.snapshot).toBe(5)
    return { job, seq, found: read.of(content).stored }
  }

  it("sendwright_job: a job that waits is read as it was accepted", () => {
    FastCheck.assert(
      FastCheck.property(newJob, (accepted) => {
        db.exec("DELETE FROM sendwright_progress; DELETE FROM sendwright_claim")
        const { found, job, seq } = answered(accepted)
        expect(found).toEqual(JobColumns.untouched(seq, job, accepted.now))
      })
    )
  })

  it("sendwright_job: a job that a claim has whole is processing since then", () => {
    FastCheck.assert(
      FastCheck.property(newJob, FastCheck.nat(1e9), time, (given, seq, at) => {
        const accepted = { ...given, seq }
        db.exec("DELETE FROM sendwright_progress")
        const { sessionId: session } = accepted
        const last = accepted.seq * 4096 + accepted.recipients - 1
        const claim = {
          ...{ fence: 7, session, priority: "low" as const, worker: "w", open: 1, at },
          jobs: null,
          place: null,
          isOvertaken: false
        }
        stored("sendwright_claim", claims.names, claims.write({ ...claim, first: accepted.seq * 4096, last }))
        const { found, job } = answered(accepted)
        const claimed = Transitions.claimedWhole(job, at)
        expect(found).toEqual({
          ...JobColumns.untouched(seq, claimed, null),
          claimedTo: last
        })
        db.exec("DELETE FROM sendwright_claim")
      })
    )
  })

  const state = FastCheck.record({
    status: of(Job.statuses),
    pauseReason: orNull(of(Job.pauseReasons)),
    counts: FastCheck.record(Records.map(Recipient.noCounts, () => number)),
    updatedAt: time,
    completedAt: orNull(time),
    firsts: orNull(FastCheck.record({ failed: number, until: orNull(time) })),
    arrival: orNull(number),
    timing: orNull(
      FastCheck.record({
        sendAt: orNull(moment),
        expiresAt: orNull(moment),
        hours: orNull(
          FastCheck.record({
            from: word,
            to: word,
            days: orNull(FastCheck.array(number)),
            outside: of(["hold", "skip"] as const)
          })
        ),
        startsAt: time,
        expiring: orNull(time)
      })
    )
  })

  it("sendwright_progress: a job on its way is read as it was", () => {
    FastCheck.assert(
      FastCheck.property(newJob, state, orNull(time), (accepted, is, nextAt) => {
        const job = { ...Job.newJob(accepted), ...is }
        const { seq } = accepted
        const wasClaimable = Job.isClaimable(job)
        const written = { ...JobColumns.untouched(seq, job, nextAt), hasRow: true, wasClaimable }
        stored(
          "sendwright_progress",
          JobColumns.progress.names,
          JobColumns.progress.write(JobColumns.progressOf(written, nextAt))
        )
        expect(answered(accepted).found).toEqual(written)
      })
    )
  })
})

describe("Columns: the compiler", () => {
  const none = impersonal
  interface Place {
    readonly name: string
    readonly note: string | null
  }

  it("refuses a column that is missing, misspelt, too many, or of another type", () => {
    const columns: ReadonlyArray<Columns<Place, null>> = [
      { name: text("name", none), note: textOrNull("note", none) },
      // @ts-expect-error missing
      { name: text("name", none) },
      // @ts-expect-error misspelt
      { name: text("name", none), notes: textOrNull("note", none) },
      // @ts-expect-error too many
      { name: text("name", none), note: textOrNull("note", none), size: integer("size", none) },
      // @ts-expect-error of another type
      { name: integer("name", none), note: textOrNull("note", none) },
      // @ts-expect-error without null
      { name: text("name", none), note: text("note", none) },
      // @ts-expect-error with null
      { name: textOrNull("name", none), note: textOrNull("note", none) }
    ]
    expect(columns.map((each) => table("place", { kept: "registered" })(each).names.length)).toEqual([
      2, 1, 2, 3, 2, 2, 2
    ])
  })

  it("refuses a column that does not say what it tells of people, and one that no erasure would find", () => {
    const rows = { kept: "registered", part: "texts" } as const
    // @ts-expect-error it says nothing
    const silent = text("note")
    // @ts-expect-error the rows are no part of an erasure
    const found = [table("place", { kept: "registered" })({ note: text("note", mention) })]
    found.push(table("place", rows)({ note: text("note", mention) }))
    // @ts-expect-error how long they are kept is not said
    found.push(table("place", { part: "texts" })({ note: text("note", mention) }))
    expect([silent, ...found.flatMap(({ ordered }) => ordered)].map(({ name }) => name)).toEqual(
      Array.from({ length: 4 }, () => "note")
    )
  })
})
