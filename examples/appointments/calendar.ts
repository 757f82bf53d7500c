/** Where appointments are kept: in a database of the app's an appointment and its messages are one transaction. */
import type { Database } from "better-sqlite3"
import type { Pool } from "pg"
import type { Send, Session } from "sendwright"
import { fromPg } from "sendwright/postgres"
import { fromBetterSqlite3 } from "sendwright/sqlite"

export interface Appointment {
  readonly id: string
  readonly name: string
  readonly phone: string
  readonly at: Date
  /** The message that canceled it. */
  readonly canceledBy: string | null
}

/** Somebody else has this time. */
export class Taken extends Error {}

export interface Calendar {
  /** Keeps the appointment and sends its messages: both, or neither. */
  readonly book: (appointment: Appointment, messages: ReadonlyArray<Send>) => Promise<void>
  readonly find: (id: string) => Promise<Appointment | undefined>
  /** Cancels the person's next one. A message that is told of twice cancels one. */
  readonly cancelNext: (phone: string, messageId: string, now: Date) => Promise<Appointment | undefined>
}

/** For a look at it: an appointment is forgotten with its process, while its messages stay where Sendwright keeps them. */
export const inMemory = (session: Session): Calendar => {
  const kept = new Map<string, Appointment>()
  const holds = ({ at }: Appointment) =>
    [...kept.values()].some((one) => one.canceledBy === null && one.at.getTime() === at.getTime())
  return {
    book: async (appointment, messages) => {
      if (holds(appointment)) throw new Taken()
      kept.set(appointment.id, appointment)
      try {
        for (const message of messages) await session.send(message)
      } catch (error) {
        kept.delete(appointment.id)
        throw error
      }
    },
    find: async (id) => kept.get(id),
    cancelNext: async (phone, canceledBy, now) => {
      const all = [...kept.values()].sort((a, b) => a.at.getTime() - b.at.getTime())
      const before = all.find((one) => one.canceledBy === canceledBy)
      const next = all.find((one) => one.phone === phone && one.canceledBy === null && one.at > now)
      if (before !== undefined || next === undefined) return before
      kept.set(next.id, { ...next, canceledBy })
      return kept.get(next.id)
    }
  }
}

const tables = (time: string) => `
CREATE TABLE IF NOT EXISTS appointments (
  id TEXT PRIMARY KEY, name TEXT NOT NULL, phone TEXT NOT NULL, at ${time} NOT NULL, canceled_by TEXT UNIQUE);
CREATE UNIQUE INDEX IF NOT EXISTS appointments_at ON appointments (at) WHERE canceled_by IS NULL;`
const insert = "INSERT INTO appointments (id, name, phone, at) VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING"
const byId = `SELECT id, name, phone, at, canceled_by AS "canceledBy" FROM appointments WHERE id = $1`
const byMessage = byId.replace("id = $1", "canceled_by = $1")
const cancel = `UPDATE appointments SET canceled_by = $1
  WHERE id = (SELECT id FROM appointments WHERE phone = $2 AND canceled_by IS NULL AND at > $3 ORDER BY at LIMIT 1)
    AND NOT EXISTS (SELECT 1 FROM appointments WHERE canceled_by = $1)`

export const onSqlite = (database: Database, session: Session): Calendar => {
  database.exec(tables("INTEGER"))
  const tx = fromBetterSqlite3(database)
  type Row = Omit<Appointment, "at"> & { readonly at: number }
  const read = (statement: string) => {
    const rows = database.prepare<[object], Row>(statement)
    return (value: string) => {
      const row = rows.get({ 1: value })
      return row && { ...row, at: new Date(row.at) }
    }
  }
  const [find, canceledBy] = [read(byId), read(byMessage)]
  const book = database.transaction(({ at, id, name, phone }: Appointment, messages: ReadonlyArray<Send>) => {
    for (const message of messages) session.sendSync(message, { tx })
    // Where the time is taken the messages are rolled back, too.
    const { changes } = database.prepare(insert).run({ 1: id, 2: name, 3: phone, 4: at.getTime() })
    if (changes === 0) throw new Taken()
  })
  return {
    book: async (appointment, messages) => book.immediate(appointment, messages),
    find: async (id) => find(id),
    cancelNext: async (phone, messageId, now) => {
      database.prepare(cancel).run({ 1: messageId, 2: phone, 3: now.getTime() })
      return canceledBy(messageId)
    }
  }
}

export const onPostgres = async (pool: Pool, session: Session): Promise<Calendar> => {
  await pool.query(tables("TIMESTAMPTZ"))
  const read = async (statement: string, value: string) =>
    (await pool.query<Appointment>(statement, [value])).rows[0]
  return {
    book: async ({ at, id, name, phone }, messages) => {
      const client = await pool.connect()
      try {
        await client.query("BEGIN")
        for (const message of messages) await session.send(message, { tx: fromPg(client) })
        // Where the time is taken the messages are rolled back, too.
        const { rowCount } = await client.query(insert, [id, name, phone, at])
        if (rowCount === 0) throw new Taken()
        await client.query("COMMIT")
      } catch (error) {
        await client.query("ROLLBACK")
        throw error
      } finally {
        client.release()
      }
    },
    find: (id) => read(byId, id),
    cancelNext: async (phone, messageId, now) => {
      await pool.query(cancel, [messageId, phone, now])
      return read(byMessage, messageId)
    }
  }
}
