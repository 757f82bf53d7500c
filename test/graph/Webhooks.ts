/** What the platform sends back: the handshake, the statuses and their signature. */
import { createHmac, randomInt } from "node:crypto"
import * as Errors from "./Errors.ts"

/** The value of X-Hub-Signature-256 for exactly these bytes. */
export const signature = (raw: string, appSecret: string): string =>
  `sha256=${createHmac("sha256", appSecret).update(raw).digest("hex")}`

/**
 * The bytes of a hook as the platform writes and signs them: slashes with a backslash before, and every character beyond
 * ASCII by its number.
 */
export const written = (body: object): string =>
  JSON.stringify(body)
    .replaceAll("/", "\\/")
    .replaceAll(
      /[\u007f-\uffff]/g,
      (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`
    )

export const envelope = (wabaId: string, field: string, value: object): object => ({
  object: "whatsapp_business_account",
  entry: [{ id: wabaId, changes: [{ field, value }] }]
})

export const statusValue = (
  phoneNumberId: string,
  displayPhoneNumber: string,
  statuses: ReadonlyArray<object>
): object => ({
  messaging_product: "whatsapp",
  metadata: {
    display_phone_number: displayPhoneNumber.replace(/\D/g, ""),
    phone_number_id: phoneNumberId
  },
  statuses
})

/** What a status tells of its message. */
export interface Told {
  readonly id: string
  readonly to: string
  readonly callbackData: string | null
  readonly category: string
}

const status = (message: Told, name: string, rest: object): object => ({
  id: message.id,
  status: name,
  timestamp: String(Math.floor(Date.now() / 1000)),
  recipient_id: message.to,
  ...(message.callbackData === null ? {} : { biz_opaque_callback_data: message.callbackData }),
  ...rest
})

export const sent = (message: Told): object =>
  status(message, "sent", {
    pricing: {
      billable: message.category !== "service",
      pricing_model: "PMP",
      type: "regular",
      category: message.category
    }
  })

export const delivered = (message: Told): object => status(message, "delivered", {})

export const failed = (message: Told, code: number): object =>
  status(message, "failed", { errors: [Errors.reported(code)] })

// A callback that never answers must not hold up the end of a test.
const patienceMs = 5_000

export const handshake = async (callbackUrl: string, verifyToken: string): Promise<boolean> => {
  const challenge = String(randomInt(1_000_000_000, 2_000_000_000))
  const url = new URL(callbackUrl)
  url.searchParams.set("hub.mode", "subscribe")
  url.searchParams.set("hub.challenge", challenge)
  url.searchParams.set("hub.verify_token", verifyToken)
  try {
    const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(patienceMs) })
    return (await response.text()) === challenge && response.status === 200
  } catch {
    return false
  }
}

export const post = async (url: string, raw: string, signed: string | undefined): Promise<number> => {
  const response = await fetch(url, {
    method: "POST",
    redirect: "manual",
    signal: AbortSignal.timeout(patienceMs),
    headers: {
      "content-type": "application/json",
      ...(signed === undefined ? {} : { "x-hub-signature-256": signed })
    },
    body: raw
  })
  await response.arrayBuffer()
  return response.status
}

/** Posts receipts by themselves, those of one message one after the other. */
export interface Outbox {
  readonly follow: (after: Promise<void>, posts: ReadonlyArray<() => Promise<number>>) => void
  readonly settled: () => Promise<void>
  readonly close: () => Promise<void>
}

// Few at a time, so that a large job does not open a connection for each of its messages.
const lanes = 8

// The platform tries for 36 hours; a callback that is restarting is back within this.
const waitsMs = [50, 100, 200, 400, 800]

export const outbox = (): Outbox => {
  const tails = Array.from({ length: lanes }, () => Promise.resolve())
  let followed = 0
  let closed = false

  const persist = async (attempt: () => Promise<number>): Promise<void> => {
    for (const waitMs of [...waitsMs, 0]) {
      if (closed) return
      const answered = await attempt().catch(() => 0)
      if (answered >= 200 && answered < 300) return
      await new Promise((resolve) => setTimeout(resolve, waitMs))
    }
  }

  const settled = async (): Promise<void> => {
    for (let seen = -1; seen !== followed; ) {
      seen = followed
      await Promise.all(tails)
    }
  }

  return {
    follow: (after, posts) => {
      const lane = followed % lanes
      followed += 1
      const tail = tails[lane] ?? Promise.resolve()
      tails[lane] = tail.then(async () => {
        await after
        for (const attempt of posts) await persist(attempt)
      })
    },
    settled,
    close: () => {
      closed = true
      return settled()
    }
  }
}
