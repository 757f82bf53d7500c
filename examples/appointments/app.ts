/** Appointments over HTTP: a confirmation, a reminder the day before, and CANCEL as an answer. */
import { randomUUID } from "node:crypto"
import Fastify from "fastify"
import { type Job, type ReceivedEvent, type Send, type Sendwright, SendwrightError } from "sendwright"
import { type Appointment, type Calendar, Taken } from "./calendar.ts"

interface Booking {
  readonly name: string
  readonly phone: string
  readonly at: string
  /** The checkbox "Remind me by WhatsApp". */
  readonly remindMe?: boolean
}

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
const when = (at: Date): string => `${at.toISOString().slice(0, 16).replace("T", " ")} UTC`

/** The messages for an appointment. Its id is their reference, and a part of their keys: none goes twice. */
const messagesOf = ({ at, id, name, phone }: Appointment, now: Date): ReadonlyArray<Send> => {
  const to = { phone, variables: { "body.1": name, "body.2": when(at) } }
  const message = (template: string, times: Pick<Send, "sendAt" | "expiresAt">): Send => ({
    template,
    to,
    reference: id,
    idempotencyKey: `${template}-${id}`,
    expiresAt: at,
    ...times
  })
  const dayBefore = new Date(at.getTime() - day)
  const confirmation = message("confirmation", {})
  return dayBefore > now ? [confirmation, message("reminder", { sendAt: dayBefore })] : [confirmation]
}

export interface Settings {
  readonly calendar: Calendar
  readonly sw: Sendwright
  readonly accountId: string
  readonly sessionId: string
  readonly now?: () => Date
}

export const makeApp = ({ accountId, calendar, now = () => new Date(), sessionId, sw }: Settings) => {
  const session = sw.session(sessionId)

  /** The jobs of an appointment. */
  const jobsOf = async (reference: string): Promise<ReadonlyArray<Job>> => {
    const jobs: Array<Job> = []
    for await (const job of session.jobs({ reference })) jobs.push(job)
    return jobs
  }

  const cancel = async ({ from, messageId }: ReceivedEvent): Promise<void> => {
    if (from === null) return
    const canceled = await calendar.cancelNext(from, messageId, now())
    if (canceled === undefined) return
    for (const { jobId } of await jobsOf(canceled.id))
      await session.cancel(jobId).catch((error: unknown) => {
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
    if (error instanceof Taken) return reply.code(409).send({ error: "Somebody else has this time." })
    if (SendwrightError.is(error) && ["consent_required", "invalid_request"].includes(error.code))
      return reply.code(422).send({ error: error.message, issues: error.issues })
    const { statusCode = 500 } = error
    return reply.code(statusCode).send({ error: statusCode < 500 ? error.message : "Try again later." })
  })
  http.post<{ Body: Booking }>("/appointments", { schema: { body } }, async ({ body: booking }, reply) => {
    const { name, phone, remindMe = false } = booking
    if (remindMe) {
      // With its time it counts behind an earlier STOP; a list that tells none brings nobody back.
      const consents = [{ phone, source: "booking form", occurredAt: now() }]
      await sw.admin.consents.record({ accountId, consents })
    }
    const appointment = { id: randomUUID(), name, phone, at: new Date(booking.at), canceledBy: null }
    await calendar.book(appointment, remindMe ? messagesOf(appointment, now()) : [])
    return reply.code(201).send({ id: appointment.id })
  })
  http.get<{ Params: { id: string } }>("/appointments/:id", async ({ params: { id } }, reply) => {
    const found = await calendar.find(id)
    if (found === undefined) return reply.code(404).send({ error: "There is no such appointment." })
    const messages = await Promise.all(
      (await jobsOf(id)).map(async ({ jobId, startsAt }) => {
        const { results } = await session.job(jobId)
        return { at: startsAt, status: results[0]?.status }
      })
    )
    const { at, canceledBy, name } = found
    return { id, name, at, canceled: canceledBy !== null, messages: messages.sort(byTime) }
  })
  return http
}

const byTime = (a: { readonly at: Date }, b: { readonly at: Date }) => a.at.getTime() - b.at.getTime()
