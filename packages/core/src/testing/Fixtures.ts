/** Builders with defaults: each takes what a test cares about and fills in the rest. */

import type { Entry } from "../domain/Audit.ts"
import type { Account } from "../domain/account/Account.ts"
import type { ApiKey } from "../domain/account/ApiKey.ts"
import * as ApiKeys from "../domain/account/ApiKey.ts"
import * as Caps from "../domain/account/Caps.ts"
import * as Plan from "../domain/account/Plan.ts"
import type { RateCard } from "../domain/billing/RateCard.ts"
import type { ConsentRecord } from "../domain/consent/Consent.ts"
import * as Keywords from "../domain/consent/Keywords.ts"
import * as FieldVersions from "../domain/FieldVersions.ts"
import * as Ids from "../domain/Ids.ts"
import * as Time from "../domain/Instant.ts"
import * as ClientTexts from "../domain/job/ClientTexts.ts"
import type { Operator } from "../domain/Operator.ts"
import * as Retention from "../domain/Retention.ts"
import { unpaced } from "../domain/session/Pacing.ts"
import * as QuietHours from "../domain/session/QuietHours.ts"
import type { Session } from "../domain/session/Session.ts"
import type { TemplateContent } from "../domain/template/Template.ts"
import type { Received } from "../domain/webhook/Event.ts"
import type { Endpoint } from "../domain/webhook/Webhook.ts"
import type { AcceptSend } from "../storage/JobStore.ts"
import type { DeliveryClaim } from "../storage/WebhookStore.ts"

/** A time far from any test clock: what is stored can only come from the argument. */
export const now = Time.at(1_900_000_000_000)

/** Ids that are the same in every run: the high bytes of a linear congruential generator with a period of 2^32. */
export const makeIds = (): Ids.Ids => {
  let state = 0
  return Ids.make((length) =>
    Uint8Array.from({ length }, () => {
      state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
      return state >>> 24
    })
  )
}

const ids = makeIds()

export const account = (some: Partial<Account> = {}): Account => ({
  id: ids.uuid(now),
  name: "Account",
  currency: "EUR",
  plan: Plan.defaults,
  caps: Caps.none,
  retention: Retention.defaults,
  createdAt: now,
  updatedAt: now,
  ...some
})

export const session = (accountId: string, some: Partial<Session> = {}): Session => ({
  id: ids.uuid(now),
  accountId,
  name: "Session",
  provider: "sandbox",
  config: "sealed",
  pacing: unpaced,
  retryForMs: null,
  closedMarkets: null,
  quietHours: QuietHours.none,
  keywords: Keywords.standard,
  state: "connected",
  reason: null,
  blockedUntil: null,
  blockReason: null,
  blockCode: null,
  repliesBlockedUntil: null,
  told: FieldVersions.nothing,
  outage: null,
  lastOutage: null,
  connectedSince: now,
  mendedAt: null,
  failing: null,
  createdAt: now,
  updatedAt: now,
  ...some
})

export const apiKey = (sessionId: string, some: Partial<ApiKey> = {}): ApiKey => ({
  publicKey: `pk_${ids.uuid(now)}`,
  sessionId,
  name: null,
  permissions: ApiKeys.permissions,
  status: "active",
  secrets: [{ hash: "00", createdAt: now, expiresAt: null }],
  createdAt: now,
  lastUsedAt: null,
  ...some
})

export const operator = (name: string, some: Partial<Operator> = {}): Operator => ({
  name,
  role: "admin",
  masksPhones: false,
  status: "active",
  secrets: [{ hash: "00", createdAt: now, expiresAt: null }],
  createdAt: now,
  lastUsedAt: null,
  ...some
})

export const auditEntry = (some: Partial<Entry> = {}): Entry => ({
  id: ids.uuid(now),
  at: now,
  operator: "ana",
  operation: "accounts.create",
  target: "account-1",
  address: "203.0.113.7",
  requestId: "request-1",
  before: null,
  after: { name: "Account" },
  ...some
})

export const template = (some: Partial<TemplateContent> = {}): TemplateContent => ({
  name: "greeting",
  language: "en",
  category: "utility",
  status: "approved",
  components: [{ type: "body", text: "Hello {{1}}" }],
  variables: [{ key: "body.1", type: "text", required: true, max_length: 1024 }],
  bindings: [{ placeholder: "1", buttonIndex: null }],
  sendable: true,
  unsendableReason: null,
  quality: null,
  ...some
})

/** Of one text with these placeholders, numbered by their order in it. */
export const namedTemplate = (names: ReadonlyArray<string>): TemplateContent =>
  template({
    components: [{ type: "body", text: ["Hello", ...names.map((name) => `{{${name}}}`)].join(" ") }],
    variables: names.map((name, place) => ({
      key: `body.${place + 1}`,
      name,
      type: "text",
      required: true,
      max_length: 1024
    })),
    bindings: names.map((placeholder) => ({ placeholder, buttonIndex: null }))
  })

export const consent = (phone: string, some: Partial<ConsentRecord> = {}): ConsentRecord => ({
  id: ids.uuid(now),
  phone,
  userId: null,
  purpose: "all",
  status: "granted",
  source: "test",
  proof: null,
  occurredAt: now,
  reportedAt: null,
  datedBy: null,
  recordedAt: now,
  ...some
})

export const rateCard = (some: Partial<RateCard> = {}): RateCard => ({
  id: ids.uuid(now),
  currency: "EUR",
  effectiveFrom: now,
  createdAt: now,
  prices: [{ market: "*", prefixes: null, category: "utility", price: "0.0100" }],
  ...some
})

export const endpoint = (accountId: string, some: Partial<Endpoint> = {}): Endpoint => ({
  id: ids.uuid(now),
  accountId,
  url: "https://receiver.example/hooks",
  events: ["*"],
  description: null,
  enabled: true,
  disabledReason: null,
  secrets: [{ sealed: "sealed", createdAt: now, expiresAt: null }],
  failingSince: null,
  deliveriesPerSecond: null,
  batchRecipients: false,
  createdAt: now,
  updatedAt: now,
  ...some
})

/** Takes whatever is due. */
export const deliveryClaim = (some: Partial<DeliveryClaim> = {}): DeliveryClaim => ({
  worker: "w",
  limit: 10_000,
  full: [],
  room: () => 10_000,
  ...some
})

export interface Owner {
  readonly accountId: string
  readonly sessionId: string
  readonly publicKey: string
}

/** A send of so many phones, without limits unless they are given. */
export const send = (
  owner: Owner,
  some: Partial<AcceptSend> & { readonly phones?: number; readonly key?: string | null } = {}
): AcceptSend => {
  const { key = ids.uuid(now), phones = 1, ...rest } = some
  return {
    now,
    jobId: ids.jobId(rest.now ?? now),
    ...owner,
    content: { kind: "template", templateId: 1, template: template() },
    ...ClientTexts.job.of({}),
    priority: "normal",
    perMinute: null,
    stopWhen: null,
    recipients: Array.from({ length: phones }, (_, index) => ({
      address: `346${String(index).padStart(8, "0")}`,
      externalId: `r${index}`,
      values: [`Name ${index}`],
      market: "*",
      price: "0.0100"
    })),
    currency: "EUR",
    estimatedCost: null,
    idempotency: key === null ? null : { key, fingerprint: "same" },
    demand: { units: phones, dailyLimit: null, minimumWaitMs: 0 },
    claim: null,
    ...rest
  }
}

/** A person's text as it is stored. */
export const received = (some: Pick<Received, "id" | "person" | "text" | "at">): Received => ({
  ...some,
  type: "text",
  label: null,
  payload: null,
  content: { body: some.text },
  contextId: null,
  groupId: null,
  windowUntil: Time.after(some.at, Time.day)
})
