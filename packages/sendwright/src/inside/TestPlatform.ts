/** A platform that does as a test tells it, and the people on it. */
import type { Sender as CoreSenders } from "@sendwright/core"
import { FailureCatalogue, Instant, Rendering, Sender } from "@sendwright/core"
import * as Effect from "effect/Effect"
import type { Received } from "../api/Testing.ts"
import { forever } from "./TestClock.ts"

type Outbound = CoreSenders.OutboundMessage
type Report = Effect.Effect.Success<ReturnType<NonNullable<CoreSenders.Sender["poll"]>>>["reports"][number]

/** What becomes of one message. */
export interface Script {
  readonly result: (providerId: string) => CoreSenders.SendResult
  /** Whether the platform has it. */
  readonly isTaken: boolean
  /** How long after the attempt receipts come. */
  readonly receiptsAfterMs: number
  /** The process dies before it knows of the answer. */
  readonly isFatal: boolean
}

const delivers: Script = {
  result: (providerId) => Sender.accepted(providerId, "accepted"),
  isTaken: true,
  receiptsAfterMs: 0,
  isFatal: false
}

const silent = { code: "outcome_unknown", provider_code: null, permanent: false }

const failureOf = (code: string) => {
  const entry = FailureCatalogue.findWhatsApp(Number(code))
  return {
    code: entry?.code ?? "provider_error",
    provider_code: code,
    message: `The platform refused with ${code}.`,
    permanent: entry?.permanent ?? true
  }
}

const noAnswer = (message: string) => () =>
  Sender.SendResult.Ambiguous({ failure: { ...silent, message }, answered: true })

export const scripts = {
  fails: (code: string): Script => ({
    ...delivers,
    isTaken: false,
    result: () => Sender.refused(failureOf(code))
  }),
  hangs: (): Script => ({ ...delivers, isTaken: false, result: noAnswer("The platform never answered.") }),
  answersLate: (receiptsAfterMs: number): Script => ({
    ...delivers,
    receiptsAfterMs,
    result: noAnswer("The platform did not answer in time.")
  }),
  isBusy: (retryAfterMs: number): Script => ({
    ...delivers,
    isTaken: false,
    result: () =>
      Sender.SendResult.Transient({ failure: { ...failureOf("130429"), permanent: false }, retryAfterMs })
  }),
  crashesAfterSending: (): Script => ({ ...delivers, isFatal: true })
}

const contentOf = ({ content, values }: Outbound): Pick<Received, "template" | "text"> =>
  content.kind === "direct"
    ? { template: null, text: content.text || (content.media?.caption ?? "") }
    : { template: content.template.name, text: Rendering.render(content.template, values).body }

interface Due {
  readonly at: Instant.Instant
  readonly to: string
  readonly report: Report
  readonly message: Pick<Received, "messageId" | "template" | "text">
}

/** The state of one platform; `hook` is where it posts what people do. */
export class TestPlatform {
  readonly attempts: Array<{
    at: Date
    phone: string | null
    userId: string | null
    messageId: string
    attempt: number
  }> = []
  readonly inboxes = new Map<string, Array<Received>>()
  readonly blocked = new Set<string>()
  /** The people to whom the platform takes no text. */
  readonly closed = new Set<string>()
  readonly #scripts = new Map<string, Array<Script>>()
  readonly #taken = new Set<string>()
  #due: Array<Due> = []
  #posts: Array<CoreSenders.HookContent> = []
  readonly #onCrash: () => void
  readonly #onAttempt: (phone: string, attempt: number) => void

  constructor(onCrash: () => void, onAttempt: (phone: string, attempt: number) => void) {
    this.#onCrash = onCrash
    this.#onAttempt = onAttempt
  }

  script(phone: string, script: Script): void {
    this.#scripts.set(phone, [...(this.#scripts.get(phone) ?? []), script])
  }

  /** What the next post to the hook holds. */
  post(content: Partial<CoreSenders.HookContent>): void {
    this.#posts.push({ reports: [], messages: [], preferences: [], templates: [], unread: [], ...content })
  }

  report(
    message: Pick<Received, "messageId">,
    status: "delivered" | "read" | "sent",
    at: Instant.Instant
  ): Report {
    return {
      messageId: message.messageId,
      providerId: `test-${message.messageId}`,
      status,
      at,
      failure: null
    }
  }

  readonly sender: CoreSenders.Sender = {
    provider: "sandbox",
    deduplicates: false,
    send: (message) => Effect.flatMap(Instant.now, (now) => this.#send(message, now)),
    poll: (now) => Effect.sync(() => this.#poll(now)),
    receive: () =>
      Effect.sync(() => {
        const content = this.#posts.shift()
        return content === undefined
          ? Sender.HookResult.Forged({ reason: "Nobody posted this." })
          : Sender.HookResult.Content(content)
      })
  }

  #send(message: Outbound, now: Instant.Instant): Effect.Effect<CoreSenders.SendResult> {
    const { attempt, messageId, to, userId } = message
    this.attempts.push({ at: new Date(now), phone: to === userId ? null : to, userId, messageId, attempt })
    this.#onAttempt(to, attempt)
    const isClosed = message.content.kind === "direct" && this.closed.has(to)
    const usual = isClosed ? scripts.fails("131047") : delivers
    const script = this.#scripts.get(to)?.shift() ?? usual
    if (script.isTaken && !this.#taken.has(messageId)) {
      this.#taken.add(messageId)
      const at = Instant.after(now, script.receiptsAfterMs)
      const taken = { messageId, ...contentOf(message) }
      const statuses = this.blocked.has(to) ? (["sent"] as const) : (["sent", "delivered"] as const)
      for (const status of statuses)
        this.#due.push({ at, to, message: taken, report: this.report(taken, status, at) })
    }
    if (!script.isFatal) return Effect.succeed(script.result(`test-${messageId}`))
    this.#onCrash()
    return forever
  }

  #poll(now: number) {
    const due = this.#due.filter(({ at }) => at <= now)
    this.#due = this.#due.filter(({ at }) => at > now)
    for (const { at, message, report, to } of due)
      if (report.status === "delivered")
        this.inboxes.set(to, [...(this.inboxes.get(to) ?? []), { ...message, at: new Date(at) }])
    const times = this.#due.map(({ at }) => at)
    return {
      reports: due.map(({ report }) => report),
      messages: [],
      nextAt: Instant.firstOf(times)
    }
  }
}
