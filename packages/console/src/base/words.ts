/** The words and colours of what the API names. Red is what failed or gives no answer, amber waits, violet nobody knows. */
import { titles } from "../../generated/texts.ts"
import type { Schemas } from "./api.ts"

export type Tone = "ok" | "go" | "wt" | "bd" | "uk" | "of"
export type Status = Schemas["Result"]["status"]
export type JobStatus = Schemas["Job"]["status"]

export const statuses: Readonly<Record<Status, readonly [tone: Tone, word: string]>> = {
  read: ["ok", "Read"],
  delivered: ["ok", "Delivered"],
  sent: ["go", "Sent"],
  accepted: ["go", "Accepted"],
  sending: ["go", "Sending"],
  queued: ["wt", "Waiting"],
  failed: ["bd", "Failed"],
  unknown: ["uk", "Unknown"],
  skipped: ["of", "Skipped"],
  canceled: ["of", "Canceled"]
}
/** In the order in which they are told. */
export const allStatuses: ReadonlyArray<Status> = [
  "read",
  "delivered",
  "sent",
  "accepted",
  "sending",
  "queued",
  "failed",
  "unknown",
  "skipped",
  "canceled"
]

export const jobStatuses: Readonly<Record<JobStatus, readonly [tone: Tone, word: string]>> = {
  queued: ["wt", "Waiting"],
  processing: ["go", "Sending"],
  paused: ["wt", "Held"],
  canceling: ["of", "Canceling"],
  canceled: ["of", "Canceled"],
  completed: ["ok", "Ended"],
  failed: ["bd", "Failed"]
}

const limiters: Readonly<Record<string, string>> = {
  platform: "The platform does not answer",
  pace: "A turn within the pace",
  template: "Its template is not approved",
  session: "Its session is not connected or blocked",
  retry: "The time of its next attempt",
  worker: "No worker is free",
  restore: "Sending is held after a restore",
  client: "Held by its client or an operator",
  schedule: "Its own time, which is to come",
  hours: "The hours in which it may go"
}
export const limiterOf = (name: string): string => limiters[name] ?? name

/** Limiters that no time ends by itself are somebody's to mend. */
export const isTrouble = (limiter: string): boolean =>
  ["platform", "template", "session", "restore", "worker"].includes(limiter)

const markers: Readonly<Record<string, Tone>> = {
  template_paused: "wt",
  queue_slow: "wt",
  quota_full: "wt",
  refusals_doubtful: "wt",
  hooks_unread: "wt",
  clock_differs: "wt",
  erasure_stuck: "wt",
  process_lost: "wt",
  unknown_outcomes: "uk"
}
export const toneOfAttention = (kind: string): Tone => markers[kind] ?? "bd"

const acts: Readonly<Record<string, string>> = {
  session_unavailable: "Open the session",
  session_blocked: "Open the session",
  session_disconnected: "Open the session",
  template_paused: "See the templates",
  failures_rising: "See what failed",
  unknown_outcomes: "Review them",
  webhook_failing: "See its deliveries",
  webhook_disabled: "See its deliveries",
  refusals_doubtful: "Read them",
  hooks_unread: "Read them",
  quota_full: "See what was used",
  queue_slow: "See who waits"
}
export const actOfAttention = (kind: string): string => acts[kind] ?? "Look"

// One formatter for all: making one costs more than all else of a row.
const whole = new Intl.NumberFormat("en")
const short = new Intl.NumberFormat("en", { maximumFractionDigits: 1 })
export const n = (value: number): string => whole.format(value)
export const shortNumber = (value: number): string => short.format(value)
/** How many a list has, as far as that was counted: `1,000+`. */
export const countedOf = ({ count, is_exact }: Schemas["Counted"]): string =>
  `${n(count)}${is_exact ? "" : "+"}`
/** `1 message`, `2 messages`. */
export const count = (value: number, one: string, many = `${one}s`): string =>
  `${n(value)} ${value === 1 ? one : many}`

const callingCode = /^(1|7|2[07]|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d{3})(\d+)$/
/** `+34 600 001 234`; what is masked, or no number, stays as it is. */
export const phoneOf = (text: string): string => {
  const [, code, rest] = callingCode.exec(text.replace(/^\+/, "")) ?? []
  if (code === undefined || rest === undefined) return text
  return `+${code} ${rest.replace(/\B(?=(?:\d{3})+$)/g, " ")}`
}
export const personOf = ({
  phone,
  user_id
}: {
  readonly phone: string | null
  readonly user_id: string | null
}): string => (phone === null ? (user_id ?? "somebody who was erased") : phoneOf(phone))

/** What a client says of somebody for itself, each with its title. */
export const textsOf = (
  told: Readonly<Record<(typeof titles)[number][0], string | null>>
): ReadonlyArray<readonly [title: string, text: string]> =>
  titles.flatMap(([name, title]) => (told[name] === null ? [] : [[title, told[name]] as const]))

export const bytesOf = (bytes: number): string => {
  const names = ["B", "kB", "MB", "GB", "TB"]
  const at = Math.min(names.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3))
  return `${shortNumber(bytes / 1000 ** at)} ${names[at]}`
}

/** The beginning and the end of an id, for where it is read and not copied. */
export const shortId = (id: string): string => (id.length > 20 ? `${id.slice(0, 8)}…${id.slice(-4)}` : id)
