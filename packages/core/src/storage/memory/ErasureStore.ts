/** Erases people in memory: each part is one slice. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { ConsentRecord } from "../../domain/consent/Consent.ts"
import * as Consent from "../../domain/consent/Consent.ts"
import type { Name, Part, Redaction, Sought } from "../../domain/Erasure.ts"
import * as Erasure from "../../domain/Erasure.ts"
import * as Ids from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as RetryPlan from "../../domain/job/RetryPlan.ts"
import * as Paging from "../../domain/Page.ts"
import type { Key } from "../../domain/Person.ts"
import * as Person from "../../domain/Person.ts"
import type { Erased, Finding, Unfinished } from "../ErasureStore.ts"
import { ErasureStore } from "../ErasureStore.ts"
import type { ErasureRows } from "../policy/ErasureRows.ts"
import * as Erasures from "../policy/Erasures.ts"
import type { Tx } from "../policy/JobRows.ts"
import type { Database } from "./MemoryDatabase.ts"
import { MemoryDatabase, newestFirst, putJob } from "./MemoryDatabase.ts"
import * as JobRows from "./MemoryJobRows.ts"
import * as People from "./People.ts"

/** Stands for all accounts. */
const everywhere = ""

/** No body has it: a repetition of the request is refused as another one. */
const noFingerprint = "erased"

const isIn = ({ accounts }: Sought, account: string | undefined): boolean =>
  accounts === null || (account !== undefined && accounts.has(account))

const rowsOf = (db: Database): ErasureRows<JobRows.Memory> => {
  const { lockJobs, recipientsAt, saveJobs } = JobRows.make(db)
  return {
    lockJobs,
    recipientsAt,
    saveJobs,
    readJobs: lockJobs,
    recipientsOfPerson: function* (sought) {
      const places = [...db.jobs.values()]
        .filter(({ job }) => isIn(sought, job.accountId))
        .flatMap(({ job, recipients }) =>
          recipients
            .filter(({ recipient }) =>
              isName("phone", recipient.phone, Erasure.namesIn(sought.names, job.accountId))
            )
            .map(({ recipient }) => ({ jobId: job.id, index: recipient.index }))
        )
      return { places, next: null }
    },
    saveErased: function* ({ job: { id } }, erased) {
      const row = db.jobs.get(id)
      if (row === undefined) return
      const recipients = [...row.recipients]
      for (const recipient of erased) {
        // The platform's id may tell the number that it went to.
        const providerId = recipients[recipient.index]?.recipient.providerId ?? null
        replace(db.earlyReports, (each) =>
          each.sessionId === row.job.sessionId && each.report.providerId === providerId ? null : each
        )
        recipients[recipient.index] = { recipient, fence: null }
        const messageId = Ids.messageId(id, recipient.index)
        const earlier = db.earlierAttempts.get(messageId)
        if (earlier !== undefined)
          db.earlierAttempts.set(
            messageId,
            earlier.map((each) => ({ ...each, message: null }))
          )
      }
      const isAlone = row.job.recipients === 1
      const job =
        isAlone && row.job.content.kind === "direct"
          ? { ...row.job, content: { kind: "direct", text: "", linkPreview: false } as const }
          : row.job
      putJob(db, { ...row, job, recipients })
      const record = row.key === null ? undefined : db.idempotency.get(row.key)
      if (isAlone && row.key !== null && record !== undefined)
        db.idempotency.set(row.key, { ...record, fingerprint: noFingerprint })
    }
  }
}

interface Them {
  readonly sought: Sought
  /** The names in an account, and what reads them. */
  readonly in: (accountId: string | null | undefined) => {
    readonly names: ReadonlyArray<Name>
    readonly redaction: Redaction
  }
}

/** What a part has of somebody, and what takes it away; null where it stays. */
interface Found {
  readonly shown: Finding | null
  readonly erase: (() => void) | null
}

const tokenOf = (key: Key, names: ReadonlyArray<Name>): string | undefined => {
  const { phone, userId } = Person.ofKey(key)
  return names.find(({ kind, text }) => (kind === "phone" ? text === phone : text === userId))?.token
}

const isName = (kind: Name["kind"], given: string | null, names: ReadonlyArray<Name>): boolean =>
  names.some((name) => name.kind === kind && name.text === given)

const accountOf = (db: Database, sessionId: string): string | undefined =>
  db.sessions.get(sessionId)?.value.accountId

/** Replaces rows of a list in place. */
const replace = <Row>(rows: Array<Row>, anew: (row: Row) => Row | null): void => {
  rows.splice(0, rows.length, ...rows.flatMap((row) => anew(row) ?? []))
}

const refile = (
  files: Map<Key, { readonly records: Array<ConsentRecord> }>,
  db: Database,
  accountId: string,
  key: Key,
  token: string,
  redaction: Redaction
): void => {
  const records = files.get(key)?.records ?? []
  files.delete(key)
  for (const record of records)
    People.file(db, accountId, {
      keys: [token],
      record: { ...record, phone: token, userId: null, proof: null, source: redaction.text(record.source) }
    })
}

const cleaned = (record: ConsentRecord, { names, redaction }: ReturnType<Them["in"]>): ConsentRecord => ({
  ...record,
  phone: isName("phone", record.phone, names) ? null : record.phone,
  userId: isName("user", record.userId, names) ? null : record.userId,
  proof: record.proof === null ? null : redaction.text(record.proof),
  source: redaction.text(record.source)
})

const shownConsent = (accountId: string, record: ConsentRecord): Finding => ({
  account_id: accountId,
  phone: record.phone,
  user_id: record.userId,
  purpose: record.purpose,
  status: record.status,
  source: record.source,
  proof: record.proof,
  occurred_at: Time.format(record.occurredAt),
  reported_at: Time.formatOrNull(record.reportedAt),
  recorded_at: Time.format(record.recordedAt)
})

function* consents(db: Database, them: Them): Generator<Found> {
  for (const [accountId, files] of db.consents) {
    if (!isIn(them.sought, accountId)) continue
    const theirs = them.in(accountId)
    const { names, redaction } = theirs
    for (const [key, file] of [...files]) {
      const token = tokenOf(key, names)
      if (token !== undefined) {
        // The first takes the others along.
        for (const [place, record] of [...file.records].entries())
          yield {
            shown: shownConsent(accountId, record),
            erase: () => {
              if (place === 0) refile(files, db, accountId, key, token, redaction)
            }
          }
        continue
      }
      if (names.some((name) => name.token === key))
        for (const record of file.records) yield { shown: shownConsent(accountId, record), erase: null }
      const after = file.records.map((record) => cleaned(record, theirs))
      if (JSON.stringify(after) === JSON.stringify(file.records)) continue
      yield {
        shown: null,
        erase: () => {
          files.set(key, {
            records: after,
            last: after.reduce(Consent.withLast<ConsentRecord>, new Map<string, ConsentRecord>())
          })
        }
      }
    }
  }
}

function* links(db: Database, them: Them): Generator<Found> {
  for (const [accountId, ofAccount] of db.links) {
    if (!isIn(them.sought, accountId)) continue
    const { names } = them.in(accountId)
    for (const [person, others] of ofAccount) {
      for (const [other, link] of [...others]) {
        const isTheirs = tokenOf(person, names) !== undefined
        if (!isTheirs && tokenOf(other, names) === undefined) continue
        const { phone, userId } = Person.ofKey(other)
        yield {
          shown: isTheirs
            ? { account_id: accountId, of: person, phone, user_id: userId, at: Time.format(link.at) }
            : null,
          erase: () => {
            others.delete(other)
            if (others.size === 0) ofAccount.delete(person)
          }
        }
      }
    }
  }
}

function* pairs(db: Database, them: Them): Generator<Found> {
  for (const pair of [...db.pairs.keys()]) {
    const [session = "", phone = ""] = pair.split("|")
    const accountId = accountOf(db, session)
    if (isIn(them.sought, accountId) && isName("phone", phone, them.in(accountId).names))
      yield { shown: null, erase: () => void db.pairs.delete(pair) }
  }
}

function* events(db: Database, them: Them): Generator<Found> {
  const seen = new Set<unknown>()
  for (const delivery of [...db.deliveries.values()]) {
    const { event } = delivery
    if (!isIn(them.sought, event.accountId)) continue
    const { redaction } = them.in(event.accountId)
    const body = redaction.event(event.body)
    if (body === event.body) continue
    const isFirst = !seen.has(event.id)
    seen.add(event.id)
    yield {
      shown: isFirst && redaction.isAbout(event.body) ? JSON.parse(event.body) : null,
      erase: () => {
        const current = db.deliveries.get(delivery.id) ?? delivery
        db.deliveries.set(delivery.id, { ...current, event: { ...event, body } })
      }
    }
  }
}

function* attempts(db: Database, them: Them): Generator<Found> {
  for (const delivery of [...db.deliveries.values()]) {
    const { event, log } = delivery
    if (!isIn(them.sought, event.accountId)) continue
    const { redaction } = them.in(event.accountId)
    const isAbout = redaction.isAbout(event.body)
    const after = log.map((attempt) => ({
      ...attempt,
      excerpt: isAbout || redaction.text(attempt.excerpt) !== attempt.excerpt ? "" : attempt.excerpt
    }))
    const changed = log.filter(({ excerpt }, at) => excerpt !== after[at]?.excerpt)
    for (const { at, excerpt, status } of changed)
      yield {
        shown: { at: Time.format(at), status, excerpt },
        erase: () => void db.deliveries.set(delivery.id, { ...delivery, log: after })
      }
  }
}

function* jobs(db: Database, them: Them): Generator<Found> {
  for (const row of [...db.jobs.values()]) {
    const { job, key } = row
    if (!isIn(them.sought, job.accountId)) continue
    const { redaction } = them.in(job.accountId)
    const reference = job.reference === null ? null : redaction.text(job.reference)
    const record = key === null ? undefined : db.idempotency.get(key)
    const requestId = job.requestId === null ? null : redaction.text(job.requestId)
    const anew = key === null || redaction.text(key) === key ? key : `${redaction.text(key)}:${row.position}`
    const answer = record?.answer == null ? null : redaction.json(record.answer)
    const isAsBefore = reference === job.reference && requestId === job.requestId && anew === key
    if (isAsBefore && answer === (record?.answer ?? null)) continue
    const idempotencyKey = anew === null ? null : anew.slice(JobRows.keyOf(job.publicKey, "").length)
    yield {
      shown: null,
      erase: () => {
        putJob(db, { ...row, job: { ...job, reference, requestId, idempotencyKey }, key: anew })
        if (key === null || anew === null || record === undefined) return
        db.idempotency.delete(key)
        db.idempotency.set(anew, { ...record, answer })
      }
    }
  }
}

function* retries(db: Database, them: Them): Generator<Found> {
  for (const row of [...db.retryPlans.values()]) {
    const { key, plan, position } = row
    const { accountId } = plan.filter
    if (accountId !== undefined && !isIn(them.sought, accountId)) continue
    const { redaction } = them.in(accountId)
    const anew = key === null ? null : redaction.text(key)
    const { filter, selection } = RetryPlan.withReference(plan, redaction.text)
    if (anew === key && filter === plan.filter) continue
    yield {
      shown: null,
      erase: () =>
        void db.retryPlans.set(plan.id, {
          ...row,
          plan: { ...plan, filter, selection },
          key: anew === key ? key : `${anew}:${position}`
        })
    }
  }
}

function* refusals(db: Database, them: Them): Generator<Found> {
  for (const [accountId, rows] of db.perhapsRefusals) {
    if (!isIn(them.sought, accountId)) continue
    const { names, redaction } = them.in(accountId)
    for (const { value } of rows) {
      const isTheirs = isName("phone", value.phone, names) || isName("user", value.userId, names)
      const text = redaction.text(value.text)
      if (!isTheirs && text === value.text) continue
      yield {
        shown: isTheirs
          ? { session_id: value.sessionId, text: value.text, occurred_at: Time.format(value.occurredAt) }
          : null,
        erase: () =>
          void db.perhapsRefusals.set(
            accountId,
            (db.perhapsRefusals.get(accountId) ?? []).flatMap((row) => {
              if (row.value !== value) return [row]
              return isTheirs ? [] : [{ ...row, value: { ...value, text } }]
            })
          )
      }
    }
  }
}

function* texts(db: Database, them: Them): Generator<Found> {
  for (const row of [...db.unattributed]) {
    const text = them.in(row.value.accountId).redaction.text(row.value.text)
    if (text === row.value.text || !isIn(them.sought, row.value.accountId)) continue
    yield {
      shown: null,
      erase: () =>
        replace(db.unattributed, (each) => (each === row ? { ...row, value: { ...row.value, text } } : each))
    }
  }
}

function* unread(db: Database, them: Them): Generator<Found> {
  for (const [sessionId, rows] of [...db.unreadHooks]) {
    const accountId = accountOf(db, sessionId)
    if (!isIn(them.sought, accountId)) continue
    const { redaction } = them.in(accountId)
    for (const { position, value } of rows) {
      if (redaction.text(value.content) === value.content) continue
      yield {
        shown: {
          session_id: sessionId,
          content: value.content,
          received_at: Time.format(value.receivedAt)
        },
        erase: () =>
          void db.unreadHooks.set(
            sessionId,
            (db.unreadHooks.get(sessionId) ?? []).filter((row) => row.position !== position)
          )
      }
    }
  }
}

function* reports(db: Database, them: Them): Generator<Found> {
  for (const row of [...db.earlyReports]) {
    const accountId = accountOf(db, row.sessionId)
    if (!isIn(them.sought, accountId)) continue
    const { names, redaction } = them.in(accountId)
    const before = JSON.stringify(row.report)
    const { named, providerId } = row.report
    const isTheirs =
      isName("phone", named?.phone ?? null, names) ||
      isName("user", named?.userId ?? null, names) ||
      (providerId !== null && redaction.text(providerId) !== providerId)
    if (!isTheirs && redaction.json(before) === before) continue
    yield {
      shown: JSON.parse(before),
      erase: () =>
        replace(db.earlyReports, (each) => {
          if (each !== row) return each
          return isTheirs ? null : { ...row, report: JSON.parse(redaction.json(before)) }
        })
    }
  }
}

function* audit(db: Database, them: Them): Generator<Found> {
  const { redaction } = them.in(null)
  for (const row of [...db.audit]) {
    const before = JSON.stringify(row.value)
    if (redaction.json(before) === before) continue
    yield {
      shown: null,
      erase: () =>
        replace(db.audit, (each) =>
          each === row ? { ...row, value: JSON.parse(redaction.json(before)) } : each
        )
    }
  }
}

function* happenings(db: Database, them: Them): Generator<Found> {
  for (const happening of [...db.happenings]) {
    const { accountId } = happening
    const { redaction } = them.in(accountId)
    const before = JSON.stringify(happening.data)
    if (redaction.text(before) === before || (accountId !== null && !isIn(them.sought, accountId))) continue
    yield {
      shown: null,
      erase: () =>
        replace(db.happenings, (each) =>
          each === happening ? { ...happening, data: JSON.parse(redaction.json(before)) } : each
        )
    }
  }
}

const found: Readonly<Record<Exclude<Part, "recipients">, (db: Database, them: Them) => Generator<Found>>> = {
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

const eraseAll = (db: Database, part: Exclude<Part, "recipients">, them: Them): number => {
  const all = [...found[part](db, them)].flatMap(({ erase }) => erase ?? [])
  for (const erase of all) erase()
  return all.length
}

const mark = (db: Database, { sweptAt }: Erasure.Erasure, marks: ReadonlyArray<Erasure.Mark>): void => {
  for (const { accountId, hash } of marks) {
    const known = db.erased.get(accountId ?? everywhere) ?? new Map<string, Instant>()
    db.erased.set(accountId ?? everywhere, known.set(hash, sweptAt))
  }
}

const shownErasure = ({ sealed: _, ...erasure }: Unfinished): Erasure.Erasure => erasure

export const layer: Layer.Layer<ErasureStore, never, MemoryDatabase> = Layer.effect(
  ErasureStore,
  Effect.map(MemoryDatabase, (db) => {
    const rows = rowsOf(db)
    const perform = <A>(verb: () => Tx<A, JobRows.Memory>) => Effect.sync(() => JobRows.perform(verb()))
    const themOf = (sought: Sought): Them => {
      const redactionOf = Erasure.redactions(sought)
      return {
        sought,
        in: (accountId = null) => ({
          names: Erasure.namesIn(sought.names, accountId),
          redaction: redactionOf(accountId)
        })
      }
    }
    return {
      hashKey: (sealed) =>
        Effect.sync(() => {
          db.hashKey.sealed ??= sealed
          return db.hashKey.sealed
        }),
      erased: ({ accountId, names }) =>
        Effect.sync(() => {
          const found = new Map<string, Erased>()
          for (const [hash, key] of names) {
            const at = Time.max(
              db.erased.get(accountId)?.get(hash) ?? Time.at(Number.NEGATIVE_INFINITY),
              db.erased.get(everywhere)?.get(hash) ?? Time.at(Number.NEGATIVE_INFINITY)
            )
            if (Number.isFinite(at))
              found.set(hash, { at, isKnownAgain: db.consents.get(accountId)?.has(key) === true })
          }
          return found
        }),
      keys: ({ accountId, phones, userIds }) =>
        Effect.sync(() => {
          const known = [
            ...(db.links.get(accountId)?.keys() ?? []),
            ...(db.consents.get(accountId)?.keys() ?? [])
          ]
          const keys = [
            ...Person.written(phones),
            ...known.filter((key) => userIds.includes(Person.ofKey(key).userId ?? ""))
          ]
          return Person.circle(People.linksFrom(db, accountId, keys)).same(keys)
        }),
      begin: ({ accounts, erasure, marks, sealed, sought }) =>
        Effect.sync(() => {
          mark(db, erasure, marks)
          const them = themOf({ ...sought, accounts: new Set(accounts) })
          const counts = { ...Erasure.noCounts, consents: eraseAll(db, "consents", them) }
          db.erasures.set(erasure.id, { position: db.nextPosition(), value: { ...erasure, counts, sealed } })
          return counts
        }),
      erase: ({ after, erasureId, now, part, sought }) => {
        const them = themOf(sought)
        const erased =
          part === "recipients"
            ? perform(() => Erasures.eraseRecipients(rows, sought, after, now))
            : Effect.sync(() => ({
                counts: { ...Erasure.noCounts, [part]: eraseAll(db, part, them) },
                next: null
              }))
        return Effect.tap(erased, ({ counts }) => {
          const found = db.erasures.get(erasureId)
          if (found === undefined) return
          const value = { ...found.value, counts: Erasure.addSlice(found.value.counts, counts) }
          db.erasures.set(erasureId, { ...found, value })
        })
      },
      find: ({ after, part, sought }) =>
        part === "recipients"
          ? perform(() => Erasures.findRecipients(rows, sought, after))
          : Effect.sync(() => ({
              found: [...found[part](db, themOf(sought))].map(({ shown }) => shown ?? {}),
              next: null
            })),
      save: ({ erasure, marks }) =>
        Effect.sync(() => {
          const row = db.erasures.get(erasure.id)
          if (row !== undefined) {
            const sealed = erasure.nextAt === null ? "" : row.value.sealed
            db.erasures.set(erasure.id, { ...row, value: { ...erasure, sealed } })
          }
          mark(db, erasure, marks)
        }),
      openTransactions: Effect.succeed([]),
      due: (now) =>
        Effect.sync(() =>
          [...db.erasures.values()]
            .map(({ value }) => value)
            .filter(({ nextAt }) => nextAt !== null && nextAt <= now)
        ),
      list: (page) =>
        Effect.sync(() =>
          Paging.map(newestFirst(db.erasures.values(), page), ({ value }) => shownErasure(value))
        ),
      wipe: Effect.succeed(null)
    }
  })
)
