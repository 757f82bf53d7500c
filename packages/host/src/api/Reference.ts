/**
 * What the description tells of each operation besides its schemas. Its type asks for an entry for every endpoint of
 * the contract, and for examples that are what the endpoint takes and answers.
 */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import type { Code } from "../http/Problems.ts"
import type * as AdminApi from "./AdminApi.ts"
import type * as Api from "./Api.ts"
import * as Examples from "./Examples.ts"

export interface Operation<Payload, Success> {
  readonly summary: string
  readonly description: string
  /** An example of the body; absent where there is none. */
  readonly request: [Payload] extends [never] ? undefined : Payload
  /** An example of the answer. */
  readonly answer: Success
  /** The codes that it refuses with besides those of everyone with its access: `Description` knows these. */
  readonly refusals: ReadonlyArray<Code>
  /** Whether its answer may be a replay. */
  readonly isIdempotent?: boolean
}

type Endpoint = HttpApiGroup.HttpApiGroup.Endpoints<
  typeof Api.versioned | typeof Api.direct | typeof AdminApi.group | typeof Api.hooks | typeof Api.service
>

/** By the name of the endpoint. */
export type Reference = {
  readonly [E in Endpoint as E["name"]]: Operation<
    HttpApiEndpoint.HttpApiEndpoint.Payload<E>,
    HttpApiEndpoint.HttpApiEndpoint.Success<E>
  >
}

const { account, at, ids, job, jobDetail, key, session, template, webhook } = Examples
const ok = { ok: true } as const
const noBody = { request: undefined } as const
const lastPage = { next_cursor: null } as const
const missing: ReadonlyArray<Code> = ["not_found"]
const nothing: ReadonlyArray<Code> = []

const versioned = {
  connection: {
    summary: "Validate credentials and session",
    description: "Tells whose the key is, what it may do, and the limits of its plan.",
    ...noBody,
    answer: {
      ...ok,
      authenticated: true,
      connected: true,
      session: {
        id: session.id,
        name: session.name,
        provider: session.provider,
        state: session.state,
        connected_since: at,
        unavailable_since: null
      },
      permissions: key.permissions,
      limits: { requests_per_minute: 120, minimum_wait_ms: 1000, recipients_per_request: 250 }
    },
    refusals: nothing
  },
  templates: {
    summary: "List approved templates",
    description: "Those of the key's session. Only approved ones are listed.",
    ...noBody,
    answer: { ...ok, templates: [template], ...lastPage },
    refusals: nothing
  },
  template: {
    summary: "Read a template and its variables",
    description:
      "`variables` lists what a send must give. A template that is unknown, not approved or another session's is not found.",
    ...noBody,
    answer: { ...ok, template },
    refusals: missing
  },
  estimate: {
    summary: "Estimate the cost of a send, not binding",
    description:
      "Takes the body of a send, needs no consent, and creates nothing. With `explain=true` it tells per recipient which value won, the rendered text, the price, and the consent.",
    request: Examples.templateRequest,
    answer: {
      ...ok,
      estimate: {
        binding: false,
        currency: "EUR",
        total: "0.0250",
        complete: true,
        recipients: 1,
        billable_recipients: 1,
        rate_card: { id: ids.rateCard, effective_from: at },
        breakdown: [
          { market: "Spain", category: "utility", recipients: 1, unit_price: "0.0250", subtotal: "0.0250" }
        ],
        unpriced: [],
        without_consent: 0
      }
    },
    refusals: nothing
  },
  send: {
    summary: "Send a template to 1 to 250 recipients",
    description:
      "Creates a job, and answers once it is durable. The same `Idempotency-Key` with the same body answers the same again; with another body it is a conflict. A refused request leaves its key free.",
    request: Examples.templateRequest,
    answer: { ...ok, job_id: ids.job, status: "queued", recipients: 1, links: Examples.links },
    refusals: ["consent_required", "quota_exceeded", "idempotency_conflict", "minimum_wait_active"],
    isIdempotent: true
  },
  jobs: {
    summary: "List this key's jobs, newest first",
    description: "Jobs of other keys are not told, not even of the same session.",
    ...noBody,
    answer: { ...ok, jobs: [job], ...lastPage },
    refusals: nothing
  },
  job: {
    summary: "Read a job and its result per recipient",
    description: "Results come in pages of up to 250. Another key's job is not found.",
    ...noBody,
    answer: { ...ok, job: jobDetail },
    refusals: missing
  },
  cancel: {
    summary: "Cancel what of a job was not sent",
    description: "What is in flight finishes. That is final: a canceled job cannot be retried.",
    ...noBody,
    answer: { ...ok, job: { ...job, status: "canceling", completed_at: null } },
    refusals: ["not_found", "job_ended"]
  }
} as const

const direct = {
  test: {
    summary: "Test an API key",
    description: "Tells whether the key is active and its session connected. Its refusals tell it, too.",
    ...noBody,
    answer: {
      ok: true,
      authenticated: true,
      connected: true,
      message: "The key is active and its session is connected."
    },
    refusals: nothing
  },
  sendDirect: {
    summary: "Send one text message now",
    description:
      "Answers once the platform took it. An `Idempotency-Key` is optional, and works as it does for template sends: a request that repeats one still under way waits for its answer. While the session's platform does not answer, the message is refused with `send_failed` and without a `messageId`: nothing is recorded, and the same request may be repeated under the same key.",
    request: { to: Examples.phone, message: "Your order is ready.", linkPreview: false },
    answer: { ...ok, messageId: ids.message, to: Examples.phone, status: "accepted", createdAt: at },
    refusals: [
      "consent_required",
      "daily_limit_reached",
      "idempotency_conflict",
      "minimum_wait_active",
      "send_failed"
    ],
    isIdempotent: true
  },
  message: {
    summary: "Read a direct message",
    description:
      "Where its outcome was unknown a receipt may have settled it meanwhile. Another key's is not found.",
    ...noBody,
    answer: {
      ...ok,
      message: {
        messageId: ids.message,
        to: Examples.phone,
        status: "delivered",
        outcome: null,
        error: null,
        reference: null,
        createdAt: at,
        updatedAt: Examples.later,
        sentAt: at,
        deliveredAt: Examples.later,
        readAt: null
      }
    },
    refusals: missing
  }
} as const

const hooks = {
  whatsAppChallenge: {
    summary: "Answer the handshake of the WhatsApp Cloud API",
    description: "Answers `hub.challenge` as text when `hub.verify_token` is the session's.",
    ...noBody,
    answer: "1158201444",
    refusals: missing
  },
  whatsAppHook: {
    summary: "Take what the WhatsApp Cloud API posts",
    description:
      "`X-Hub-Signature-256` is `sha256=` and the HMAC-SHA256 of the raw body with the app secret, in hex. The body is up to 4 MiB and may grow: what is not known is not refused. It is answered once what it tells is kept.",
    request: {
      object: "whatsapp_business_account",
      entry: [{ id: "102290129340398", changes: [{ field: "messages", value: {} }] }]
    },
    answer: ok,
    refusals: missing
  },
  gatewayHook: {
    summary: "Take receipts and messages of a gateway of one's own",
    description:
      "`X-Service-Signature` is the HMAC-SHA256 of the timestamp, a dot and the raw body with the session's `secret`, in lower-case hex; a timestamp more than 5 minutes off is refused. The body is up to 4 MiB and may grow. An item that cannot be read is told in the log and refuses nothing.",
    request: {
      receipts: [{ message_id: ids.message, status: "delivered", at }],
      messages: [{ id: "in-1", from: Examples.phone, text: "STOP", at }]
    },
    answer: ok,
    refusals: missing
  }
} as const

const service = {
  live: {
    summary: "Tell that the process lives",
    description: "Answers as long as the process can answer at all, while it stops, too.",
    ...noBody,
    answer: { ok: true, status: "live" },
    refusals: nothing
  },
  ready: {
    summary: "Tell whether it can accept, write and send",
    description: "A 503 names in `checks` what cannot.",
    ...noBody,
    answer: { ...ok, status: "ready", checks: [{ name: "storage", ok: true, detail: null }] },
    refusals: nothing
  },
  problem: {
    summary: "Explain a problem code",
    description: "Of a refusal, or of a single fault within its `errors`: then `status` is null.",
    ...noBody,
    answer: {
      ...ok,
      code: "job_ended",
      status: 409,
      title: "Job ended",
      description: "The job has ended, so that nothing of it is left to cancel."
    },
    refusals: missing
  }
} as const

const accounts = {
  createAccount: {
    summary: "Create an account",
    description: "A tenant. What of the plan is absent is by default.",
    request: { name: account.name, currency: "EUR", plan: { daily_direct_messages: 500 } },
    answer: { ...ok, account },
    refusals: nothing
  },
  accounts: {
    summary: "List accounts",
    description: "All of them, a page at a time.",
    ...noBody,
    answer: { ...ok, accounts: [account], ...lastPage },
    refusals: nothing
  },
  account: {
    summary: "Read an account",
    description: "With its plan.",
    ...noBody,
    answer: { ...ok, account },
    refusals: missing
  },
  changeAccount: {
    summary: "Change an account",
    description: "What is absent stays as it was.",
    request: { name: "Corner Shop Madrid", plan: { minimum_wait_ms: 0 } },
    answer: { ...ok, account: { ...account, name: "Corner Shop Madrid" } },
    refusals: missing
  },
  usage: {
    summary: "Read what of today's limits is used",
    description: "Days are UTC; a limit that is null is none.",
    ...noBody,
    answer: {
      ...ok,
      usage: {
        day: "2026-11-02",
        template_recipients: { used: 1, limit: 100_000 },
        direct_messages: { used: 0, limit: 1000 },
        resets_at: "2026-11-03T00:00:00.000Z"
      }
    },
    refusals: missing
  }
} as const

const sessions = {
  createSession: {
    summary: "Create a session",
    description:
      "One connection of the account to a platform. A sandbox session starts connected; any other is to be connected.",
    request: { name: session.name, provider: "sandbox", pacing: { messages_per_second: 80 } },
    answer: { ...ok, session },
    refusals: missing
  },
  sessions: {
    summary: "List an account's sessions",
    description: "Without their configuration, which holds secrets.",
    ...noBody,
    answer: { ...ok, sessions: [session], ...lastPage },
    refusals: missing
  },
  session: {
    summary: "Read a session",
    description: "Without its configuration, which holds secrets.",
    ...noBody,
    answer: { ...ok, session },
    refusals: missing
  },
  changeSession: {
    summary: "Change a session",
    description: "What is absent stays as it was; a `config` replaces all of the old one.",
    request: { name: session.name, pacing: { messages_per_second: null }, retry_for: 3600 },
    answer: { ...ok, session },
    refusals: missing
  },
  connect: {
    summary: "Connect a session",
    description:
      "Asks the platform first: where it does not know us the session stays disconnected, and `reason` says why. Ends an outage (`unavailable_since`). Where the platform does not answer, a connected session stays as it is.",
    ...noBody,
    answer: { ...ok, session },
    refusals: missing
  },
  disconnect: {
    summary: "Disconnect a session",
    description: "Its jobs pause, and its keys are refused with `session_disconnected`.",
    ...noBody,
    answer: {
      ...ok,
      session: { ...session, state: "disconnected", reason: "operator", connected_since: null }
    },
    refusals: missing
  }
} as const

const keys = {
  issueKey: {
    summary: "Issue an API key",
    description: "`secret_key` is shown now and never again. Without `permissions` the key has all of them.",
    request: { name: "Web shop", permissions: key.permissions },
    answer: { ...ok, key, secret_key: Examples.secretKey },
    refusals: missing
  },
  keys: {
    summary: "List a session's API keys",
    description: "Without their secrets.",
    ...noBody,
    answer: { ...ok, keys: [key], ...lastPage },
    refusals: missing
  },
  rotateKey: {
    summary: "Give an API key a new secret",
    description:
      "The old one lives on for `overlap_seconds`: a day unless said otherwise, 0 ends it at once.",
    request: { overlap_seconds: 3600 },
    answer: { ...ok, key, secret_key: Examples.secretKey },
    refusals: missing
  },
  revokeKey: {
    summary: "Revoke an API key",
    description: "At once, and for good.",
    ...noBody,
    answer: { ...ok, key: { ...key, status: "revoked" } },
    refusals: missing
  },
  changeKey: {
    summary: "Change an API key",
    description: "What is absent stays as it was. A revoked key stays revoked.",
    request: { permissions: ["jobs:read"] },
    answer: { ...ok, key: { ...key, permissions: ["jobs:read"] } },
    refusals: missing
  }
} as const

const templates = {
  importTemplates: {
    summary: "Import templates",
    description:
      "Each by its name and language. What cannot be expressed is imported as not sendable; what cannot be read is refused by its item. When none can be read nothing is imported.",
    request: { templates: [Examples.platformTemplate] },
    answer: Examples.imported,
    refusals: missing
  },
  syncTemplates: {
    summary: "Take over the platform's templates",
    description: "All pages of them. What the platform has no more can no longer be sent.",
    ...noBody,
    answer: { ...Examples.imported, skipped: [] },
    refusals: missing
  }
} as const

const consents = {
  recordConsents: {
    summary: "Record up to 10,000 consents",
    description:
      "Grants and revocations of phones, item by item: a wrong one is told in `results` and keeps none of the others.",
    request: {
      consents: [{ phone: Examples.phone, purpose: "utility", source: "checkout form", proof: "order A-17" }]
    },
    answer: {
      ...ok,
      recorded: 1,
      results: [{ index: 0, phone: Examples.phone, ok: true, consent_id: ids.consent }]
    },
    refusals: missing
  },
  consents: {
    summary: "Read a person's consents",
    description: "What holds now for each purpose, and all that was recorded. Give `phone` or `user_id`.",
    ...noBody,
    answer: {
      ...ok,
      phone: Examples.phone,
      user_id: null,
      current: [{ purpose: "utility", status: "granted", consent_id: ids.consent }],
      history: [Examples.consent]
    },
    refusals: missing
  },
  unattributed: {
    summary: "List what came in and names nobody",
    description: "Newest first. An opt-out among them is somebody's: find out whose, and record it.",
    ...noBody,
    answer: {
      ...ok,
      unattributed: [
        {
          id: ids.unattributed,
          session_id: ids.session,
          kind: "opt_out",
          message_id: null,
          text: "STOP",
          occurred_at: at,
          recorded_at: at
        }
      ],
      ...lastPage
    },
    refusals: missing
  }
} as const

const webhooks = {
  createWebhook: {
    summary: "Register a webhook endpoint",
    description: "`secret` signs its deliveries; it is shown now and never again.",
    request: { url: webhook.url, events: webhook.events, description: webhook.description },
    answer: { ...ok, webhook, secret: Examples.webhookSecret },
    refusals: missing
  },
  webhooks: {
    summary: "List an account's webhook endpoints",
    description: "Without their secrets.",
    ...noBody,
    answer: { ...ok, webhooks: [webhook], ...lastPage },
    refusals: missing
  },
  changeWebhook: {
    summary: "Change a webhook endpoint",
    description:
      "What is absent stays as it was. A disabled endpoint loses nothing: its events wait until it is enabled.",
    request: { events: ["*"], enabled: true },
    answer: { ...ok, webhook: { ...webhook, events: ["*"] } },
    refusals: missing
  },
  removeWebhook: {
    summary: "Remove a webhook endpoint",
    description: "With its deliveries.",
    ...noBody,
    answer: ok,
    refusals: missing
  },
  rotateWebhook: {
    summary: "Give a webhook endpoint a new secret",
    description:
      "The old ones sign beside it for `overlap_seconds`: a day unless said otherwise, 0 ends them at once.",
    request: { overlap_seconds: 3600 },
    answer: { ...ok, webhook, secret: Examples.webhookSecret },
    refusals: missing
  },
  testWebhook: {
    summary: "Send a test event",
    description: "A `webhook.test`, to this endpoint alone.",
    ...noBody,
    answer: { ...ok, delivery_id: ids.delivery },
    refusals: missing
  },
  deliveries: {
    summary: "List an endpoint's deliveries",
    description: "Newest first, each with its attempts and what was answered to them.",
    ...noBody,
    answer: { ...ok, deliveries: [Examples.delivery], ...lastPage },
    refusals: missing
  },
  replayWebhook: {
    summary: "Deliver again what did not arrive since a time",
    description:
      "`failed`: what was attempted and did not arrive. `missing`: what never was a delivery to this endpoint. Asked twice it finds nothing more.",
    request: { since: at, which: "failed" },
    answer: { ...ok, replayed: 3 },
    refusals: missing
  },
  replayDelivery: {
    summary: "Deliver one event again",
    description: "With the same id and body as before.",
    ...noBody,
    answer: { ...ok, delivery: { ...Examples.delivery, status: "pending", next_attempt_at: at } },
    refusals: missing
  }
} as const

const { currency, effective_from, prices } = Examples.rateCard

const rateCards = {
  addRateCard: {
    summary: "Add a rate card",
    description:
      "It prices sends from `effective_from` on, until one with a later time does. A number's market is found by its longest prefix.",
    request: { currency, effective_from, prices },
    answer: { ...ok, rate_card: Examples.rateCard },
    refusals: nothing
  },
  importRateCard: {
    summary: "Add a platform's rate card from its CSV file",
    description: "Faults name the line and the column of the file.",
    request: {
      currency: "EUR",
      effective_from,
      csv: "Market,Currency,Marketing,Utility,Authentication\nSpain,EUR,0.0509,0.0170,0.0170\n"
    },
    answer: { ...ok, rate_card: Examples.rateCard },
    refusals: nothing
  },
  rateCards: {
    summary: "List rate cards",
    description: "All of them, a page at a time.",
    ...noBody,
    answer: { ...ok, rate_cards: [Examples.rateCard], ...lastPage },
    refusals: nothing
  }
} as const

const jobs = {
  messages: {
    summary: "List an account's direct messages",
    description: "Newest first.",
    ...noBody,
    answer: {
      ...ok,
      messages: [
        {
          message_id: ids.message,
          session_id: ids.session,
          to: Examples.phone,
          status: "delivered",
          error: null,
          reference: null,
          attempts: 1,
          created_at: at,
          updated_at: Examples.later,
          sent_at: at,
          delivered_at: Examples.later,
          read_at: null
        }
      ],
      ...lastPage
    },
    refusals: missing
  },
  adminJobs: {
    summary: "List an account's jobs",
    description: "Those of all its keys, newest first.",
    ...noBody,
    answer: { ...ok, jobs: [job], ...lastPage },
    refusals: missing
  },
  adminJob: {
    summary: "Read any account's job",
    description: "With its result per recipient, in pages of up to 250.",
    ...noBody,
    answer: { ...ok, job: jobDetail },
    refusals: missing
  },
  cancelJob: {
    summary: "Cancel any account's job",
    description: "What is in flight finishes. That is final: a canceled job cannot be retried.",
    ...noBody,
    answer: { ...ok, job: { ...job, status: "canceling", completed_at: null } },
    refusals: ["not_found", "job_ended"]
  },
  retryJob: {
    summary: "Send a job's failed recipients again",
    description:
      "Chooses the recipients that match every member. `statuses` is by default `failed`; a recipient that is `unknown` is chosen only when it is named there, and may get the message twice. A failure that is permanent is chosen only by its code in `codes` or its phone in `phones`. With `dry_run` nothing changes: `retried` and `counts` tell how many it would be.",
    request: { statuses: ["failed"], dry_run: true },
    answer: {
      ...ok,
      job,
      retried: 0,
      counts: { failed: 0, unknown: 0 },
      dry_run: true
    },
    refusals: ["not_found", "job_ended"]
  },
  resealSecrets: {
    summary: "Encrypt every secret with the first master key",
    description: "Tells what still needs an older one. With `list=true` it lists the API keys that do.",
    ...noBody,
    answer: {
      ...ok,
      secrets: {
        key: "k1",
        resealed: { sessions: 0, webhooks: 0 },
        unreadable: { sessions: 0, webhooks: 0 },
        retired: [],
        older_keys: [],
        api_keys_left: 0,
        operators_left: 0,
        detail: "Nothing needs an older master key: leave it out of SECRET_KEY."
      }
    },
    refusals: nothing
  }
} as const

const operators = {
  createOperator: {
    summary: "Make an operator",
    description:
      "The token is shown once. The role `metrics` reads the metrics, `read` also everything that the admin API tells, `admin` does everything. Names are unique for good.",
    request: { name: "ana", role: "read" },
    answer: { ...ok, operator: Examples.operator, token: Examples.operatorToken },
    refusals: nothing
  },
  operators: {
    summary: "List the operators, newest first",
    description: "Without their tokens: `secrets` tells when each was made and until when it is accepted.",
    ...noBody,
    answer: { ...ok, operators: [Examples.operator], ...lastPage },
    refusals: nothing
  },
  rotateOperator: {
    summary: "Give an operator a new token",
    description:
      "The new token is shown once. Old ones are accepted for `overlap_seconds`, a day unless said otherwise; two at most, so that a further rotation ends the oldest.",
    request: { overlap_seconds: 3600 },
    answer: { ...ok, operator: Examples.operator, token: Examples.operatorToken },
    refusals: missing
  },
  revokeOperator: {
    summary: "Revoke an operator for good",
    description: "Its tokens open nothing from then on, and its name is given to nobody else.",
    ...noBody,
    answer: { ...ok, operator: { ...Examples.operator, status: "revoked" } },
    refusals: missing
  },
  audit: {
    summary: "List what operators did, newest first",
    description:
      "An entry is written in the commit of its act: `operation` such as `accounts.change`, `target` the id of what it was done to, and what that was before and after, without secrets. `from` is inclusive, `to` is not.",
    ...noBody,
    answer: { ...ok, entries: [Examples.auditEntry], ...lastPage },
    refusals: nothing
  }
} as const

export const reference: Reference = {
  ...versioned,
  ...direct,
  ...hooks,
  ...service,
  ...accounts,
  ...sessions,
  ...keys,
  ...templates,
  ...consents,
  ...webhooks,
  ...rateCards,
  ...jobs,
  ...operators
}
