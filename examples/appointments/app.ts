/** Appointments over HTTP: a table, a confirmation, a reminder the day before, and CANCEL as an answer. */
import { randomUUID } from "node:crypto"
import type { Database } from "better-sqlite3"
import Fastify from "fastify"
import { type ReceivedEvent, type Sendwright, SendwrightError } from "sendwright"
import { fromBetterSqlite3 } from "sendwright/sqlite"

interface Booking {
  readonly name: string
  readonly phone: string
  readonly at: string
  /** The checkbox "Remind me by WhatsApp". */
  readonly remindMe?: boolean
}

interface Appointment {
  readonly id: string
  readonly name: string
  readonly phone: string
  /** In milliseconds, as `booked_at`. */
  readonly at: number
  readonly booked_at: number
  readonly remind_me: 0 | 1
  /** The jobs of its messages. */
  readonly confirmation: string | null
  readonly reminder: string | null
  /** The message that canceled it. */
  readonly canceled_by: string | null
}

const table = `CREATE TABLE IF NOT EXISTS appointments (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, phone TEXT NOT NULL, at INTEGER NOT NULL, booked_at INTEGER NOT NULL,
  remind_me INTEGER NOT NULL, confirmation TEXT, reminder TEXT, canceled_by TEXT UNIQUE)`

const body = {
  type: "object",
  required: ["name", "phone", "at"],
  properties: {
    name: { type: "string", minLength: 1, maxLength: 100 },
    phone: { type: "string", pattern: "^[1-9][0-9]{7,14}$" },
    at: { type: "string", format: "date-time" },
    remindMe: { type: "boolean" }
  }
}

const day = 24 * 60 * 60 * 1000
const when = (at: number): string => `${new Date(at).toISOString().slice(0, 16).replace("T", " ")} UTC`
const refused = (error: unknown): error is SendwrightError =>
  SendwrightError.is(error) && ["consent_required", "invalid_request"].includes(error.code)

export interface Settings {
  readonly database: Database
  readonly sw: Sendwright
  readonly accountId: string
  readonly sessionId: string
  readonly now?: () => Date
}

export const makeApp = ({ accountId, database, now = () => new Date(), sessionId, sw }: Settings) => {
  database.exec(table)
  const session = sw.session(sessionId)
  const tx = fromBetterSqlite3(database)
  const find = database.prepare<[string], Appointment>("SELECT * FROM appointments WHERE id = ?")
  const insert = database.prepare(
    `INSERT INTO appointments (id, name, phone, at, booked_at, remind_me)
     VALUES (@id, @name, @phone, @at, @booked_at, @remind_me)`
  )

  /** Queues a message in the open transaction, and writes its job down beside the appointment. */
  const notify = (kind: "confirmation" | "reminder", { at, id, name, phone }: Appointment): void => {
    const to = [{ phone, variables: { "body.1": name, "body.2": when(at) } }]
    const sent = session.sendSync({ template: kind, to, idempotencyKey: `${kind}-${id}` }, { tx })
    database.prepare(`UPDATE appointments SET ${kind} = ? WHERE id = ?`).run(sent.jobId, id)
  }

  const book = database.transaction((id: string, { at, name, phone, remindMe = false }: Booking) => {
    const times = { at: Date.parse(at), booked_at: now().getTime() }
    insert.run({ id, name, phone, ...times, remind_me: remindMe ? 1 : 0 })
    const booked = find.get(id)
    if (booked !== undefined && remindMe) notify("confirmation", booked)
  })

  const upcoming = database.prepare<[{ now: number; day: number }], Appointment>(
    `SELECT * FROM appointments
     WHERE at > @now AND at <= @now + @day AND booked_at < at - @day
       AND remind_me AND reminder IS NULL AND canceled_by IS NULL ORDER BY at`
  )
  const remindOne = database.transaction((appointment: Appointment) => notify("reminder", appointment))
  /** To be called every minute. An appointment whose reminder is queued has its job, so none is reminded of twice. */
  const remind = (): void => {
    for (const appointment of upcoming.all({ now: now().getTime(), day }))
      try {
        remindOne(appointment)
      } catch (error) {
        // Who said STOP is reminded only if they agree again.
        if (!refused(error)) throw error
      }
  }

  // A message may be told of twice: it cancels one appointment, whose row says which message that was.
  const cancelNext = database.prepare(
    `UPDATE OR IGNORE appointments SET canceled_by = @messageId WHERE id = (
       SELECT id FROM appointments WHERE phone = @from AND canceled_by IS NULL AND at > @now ORDER BY at LIMIT 1)`
  )
  const canceledBy = database.prepare<[string], Appointment>(
    "SELECT * FROM appointments WHERE canceled_by = ?"
  )
  const cancel = async ({ from, messageId }: ReceivedEvent): Promise<void> => {
    cancelNext.run({ messageId, from, now: now().getTime() })
    const canceled = canceledBy.get(messageId)
    if (canceled === undefined || from === null) return
    for (const job of [canceled.confirmation, canceled.reminder])
      if (job !== null)
        await session.cancel(job).catch((error: unknown) => {
          if (!(SendwrightError.is(error) && error.code === "job_ended")) throw error
        })
    const text = `Your appointment of ${when(canceled.at)} is canceled.`
    await session.sendDirect({ to: from, text, idempotencyKey: `canceled-${canceled.id}` })
  }
  sw.on("message.received", async ({ data }) => {
    if (/^\s*cancel\W*$/i.test(data.text)) await cancel(data)
  })

  const http = Fastify()
  http.setErrorHandler((error: Error & { statusCode?: number }, _, reply) => {
    if (refused(error)) return reply.code(422).send({ error: error.message, issues: error.issues })
    const { statusCode = 500 } = error
    return reply.code(statusCode).send({ error: statusCode < 500 ? error.message : "Try again later." })
  })
  http.post<{ Body: Booking }>("/appointments", { schema: { body } }, async ({ body: booking }, reply) => {
    const { phone, remindMe } = booking
    if (remindMe) {
      // With its time it counts behind an earlier STOP; a list that tells none brings nobody back.
      const consents = [{ phone, source: "booking form", occurredAt: now() }]
      await sw.admin.consents.record({ accountId, consents })
    }
    const id = randomUUID()
    book(id, booking)
    return reply.code(201).send({ id })
  })
  http.get<{ Params: { id: string } }>("/appointments/:id", async ({ params: { id } }, reply) => {
    const found = find.get(id)
    if (found === undefined) return reply.code(404).send({ error: "There is no such appointment." })
    const statusOf = async (job: string | null) =>
      job === null ? null : ((await session.job(job)).results[0]?.status ?? null)
    const [confirmation, reminder] = await Promise.all([found.confirmation, found.reminder].map(statusOf))
    const { at, canceled_by, name } = found
    return { id, name, at: new Date(at), canceled: canceled_by !== null, confirmation, reminder }
  })
  return { http, remind }
}
