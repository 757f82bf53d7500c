/** What must hold after every step, and what must hold in the end. Each throws with what is wrong. */
import * as Time from "../../packages/core/src/domain/Instant.ts"
import * as Job from "../../packages/core/src/domain/job/Job.ts"
import * as Recipient from "../../packages/core/src/domain/job/Recipient.ts"
import { usageKey } from "./View.ts"
import type { World } from "./World.ts"
import { healthy, messageId } from "./World.ts"

const hold = (condition: boolean, what: string): void => {
  if (!condition) throw new Error(what)
}

interface Seen {
  readonly status: Recipient.Status
  readonly sequence: number
  /** How often its status went back: at an operator's word only. */
  readonly falls: number
}

/** Remembers what was seen, to see that nothing goes back. */
export const make = () => {
  const before = new Map<string, Seen>()

  const afterStep = (world: World): void => {
    const { platform, promised, retried, tenants, view } = world
    const awaited = new Map<number, number>()
    for (const { awaits, job, recipients } of view.jobs.values()) {
      const tally = { ...Recipient.noCounts }
      for (const recipient of recipients) tally[recipient.status] += 1
      hold(recipients.length === job.recipients, `${job.id} lost a recipient`)
      for (const status of Recipient.statuses) {
        hold(job.counts[status] === tally[status], `${job.id} counts ${status} wrongly`)
      }
      const open = tally.queued + tally.sending
      hold(Job.hasEnded(job.status) === (open === 0), `${job.id} is ${job.status} with ${open} open`)
      hold((job.completedAt !== null) === Job.hasEnded(job.status), `${job.id} has a wrong end`)
      const provider = tenants.find(({ sessionId }) => sessionId === job.sessionId)?.provider
      for (const recipient of recipients) {
        const id = messageId(job.id, recipient.index)
        const retries = retried.get(id) ?? 0
        const known = before.get(id)
        const waitsAgain =
          known?.status === "sending" &&
          recipient.status === "queued" &&
          recipient.attempts === 0 &&
          !recipient.maybeSent
        const fell =
          known !== undefined &&
          !waitsAgain &&
          Recipient.rank(recipient.status) < Recipient.rank(known.status)
        const falls = (known?.falls ?? 0) + (fell ? 1 : 0)
        hold(falls <= retries, `${id} fell from ${known?.status} to ${recipient.status}`)
        hold(known === undefined || recipient.sequence >= known.sequence, `${id} has an older sequence`)
        before.set(id, { status: recipient.status, sequence: recipient.sequence, falls })
        const effects = platform.effects.get(id) ?? 0
        hold(effects <= 1 + retries, `${id} reached its person ${effects} times`)
        const recorded = Recipient.wasAccepted(recipient.status)
        hold(!recorded || effects > 0, `${id} is ${recipient.status} and nobody sent it`)
        if (provider === "sandbox" || effects === 0 || awaits(recipient.index) || retries > 0) continue
        const named = recorded || recipient.status === "unknown" || recipient.status === "failed"
        const asked = provider === "whatsapp_cloud" && recipient.status === "sending" && recipient.maybeSent
        hold(named || asked, `${id} was sent and is ${recipient.status}`)
      }
    }
    for (const fence of view.claims?.awaited ?? []) awaited.set(fence, (awaited.get(fence) ?? 0) + 1)
    for (const fence of new Set([...awaited.keys(), ...(view.claims?.counted.keys() ?? [])])) {
      const [open, counted] = [awaited.get(fence) ?? 0, view.claims?.counted.get(fence) ?? 0]
      hold(open === counted, `A claim counts ${counted} outcomes and awaits ${open}`)
    }
    for (const [key, jobId] of promised)
      hold(view.jobs.has(jobId), `${key} was promised ${jobId}, which is not there`)
    for (const { accountId, quota } of tenants) {
      const days = new Map<string, number>()
      for (const { job } of view.jobs.values()) {
        if (job.accountId !== accountId || job.content.kind !== "template") continue
        const day = Time.utcDay(job.createdAt)
        days.set(day, (days.get(day) ?? 0) + job.recipients)
      }
      for (const [day, used] of days) {
        hold(used <= quota, `${accountId} used ${used} of ${quota} on ${day}`)
        hold(view.usage.get(usageKey(accountId, day)) === used, `${accountId} was charged wrongly on ${day}`)
      }
    }
  }

  /** Everything has ended, every state was told, and everybody who listens heard it. */
  const inTheEnd = (world: World): void => {
    afterStep(world)
    const { received, view } = world
    const told = new Map<string, { readonly sequence: number; readonly status: string }>()
    const sequences = new Set<string>()
    for (const { body, eventId, id, status, url } of view.deliveries) {
      if (url !== healthy) continue
      hold(status === "delivered", `Delivery ${id} is ${status}`)
      const [came, ...others] = received.get(eventId) ?? []
      if (came === undefined || others.length > 0)
        throw new Error(`Event ${eventId} came in none or several forms`)
      hold(body === null || body === came, `Event ${eventId} came in another form`)
      const {
        data
      }: {
        readonly data: { readonly message_id?: string; readonly sequence?: number; readonly status?: string }
      } = JSON.parse(came)
      if (data.message_id === undefined || data.sequence === undefined) continue
      const mark = `${data.message_id} ${data.sequence}`
      hold(!sequences.has(mark), `${mark} was told twice`)
      sequences.add(mark)
      const last = told.get(data.message_id)
      if (last === undefined || last.sequence < data.sequence) {
        told.set(data.message_id, { sequence: data.sequence, status: data.status ?? "" })
      }
    }
    for (const { job, recipients } of view.jobs.values()) {
      hold(Job.hasEnded(job.status), `${job.id} never ended: ${job.status}, ${JSON.stringify(job.counts)}`)
      for (const recipient of recipients) {
        const untold = job.content.kind === "direct" ? ["canceled", "unknown", "skipped"] : ["canceled"]
        if (untold.includes(recipient.status)) continue
        const id = messageId(job.id, recipient.index)
        hold(
          told.get(id)?.status === recipient.status,
          `${id} is ${recipient.status}, told ${told.get(id)?.status}`
        )
      }
    }
  }

  return { afterStep, inTheEnd }
}
