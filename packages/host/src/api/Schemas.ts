/** The wire: every body of the contract (decisions.md §3, §5, §8). Nothing here transforms; times are already text. */
import * as ApiKey from "@sendwright/core/domain/ApiKey"
import * as Consent from "@sendwright/core/domain/Consent"
import * as EventData from "@sendwright/core/domain/EventData"
import * as Fault from "@sendwright/core/domain/Fault"
import * as Job from "@sendwright/core/domain/Job"
import * as Operator from "@sendwright/core/domain/Operator"
import * as Plans from "@sendwright/core/domain/Plan"
import * as Recipient from "@sendwright/core/domain/Recipient"
import * as Template from "@sendwright/core/domain/Template"
import * as Unattributed from "@sendwright/core/domain/Unattributed"
import * as Webhook from "@sendwright/core/domain/Webhook"
import * as Schema from "effect/Schema"

const Ok = Schema.Literal(true)
const Text = Schema.String
const NullableText = Schema.NullOr(Schema.String)
const Count = Schema.Int.annotations({ jsonSchema: { type: "integer", minimum: 0 } })
const Id = Schema.String.annotations({ jsonSchema: { format: "uuid" } })
/** A sum may have more digits than a price. */
const Amount = Schema.String.annotations({ jsonSchema: { pattern: "^[0-9]+([.][0-9]+)?$" } })
const SessionState = Schema.Literal("connected", "connecting", "disconnected")
const Permission = Schema.Literal(...ApiKey.permissions)
const KeyStatus = Schema.Literal("active", "inactive", "revoked")
const ConsentStatus = Schema.Literal("granted", "revoked")

/** RFC 3339, UTC, milliseconds. */
const Time = Schema.String.annotations({ jsonSchema: { format: "date-time" } })
const NullableTime = Schema.NullOr(Time)
const Unavailable = NullableTime.annotations({
  description: "Since when the platform does not answer; its jobs wait. null while it does."
})
const NextCursor = Schema.NullOr(Schema.String)

export const Connection = Schema.Struct({
  ok: Ok,
  authenticated: Schema.Literal(true),
  connected: Schema.Literal(true),
  session: Schema.Struct({
    id: Id,
    name: Text,
    provider: Text,
    state: SessionState,
    connected_since: NullableTime,
    unavailable_since: Unavailable
  }),
  permissions: Schema.Array(Permission),
  limits: Schema.Struct({ requests_per_minute: Count, minimum_wait_ms: Count, recipients_per_request: Count })
}).annotations({ identifier: "Connection" })

export const Templates = Schema.Struct({
  ok: Ok,
  templates: Schema.Array(Template.Wire),
  next_cursor: NextCursor
})
export const TemplateDetail = Schema.Struct({ ok: Ok, template: Template.Wire })

const Category = Template.Category

const Rendered = Schema.Struct({
  header: Schema.optional(Text),
  body: Text,
  footer: Schema.optional(Text),
  buttons: Schema.optional(Schema.Array(Template.Button))
})

const ConsentRecord = Schema.Struct({
  consent_id: Id,
  /** Null when only the platform's user id is known of the person. */
  phone: NullableText,
  user_id: NullableText,
  purpose: Schema.Literal(...Consent.scopes),
  status: ConsentStatus,
  source: Text,
  proof: NullableText,
  occurred_at: Time,
  recorded_at: Time
}).annotations({ identifier: "ConsentRecord" })

const Verdict = Schema.Struct({
  status: Schema.Literal("granted", "revoked", "missing"),
  record: Schema.NullOr(ConsentRecord)
})

export const Estimate = Schema.Struct({
  ok: Ok,
  estimate: Schema.Struct({
    binding: Schema.Literal(false),
    currency: Text,
    total: Schema.NullOr(Amount).annotations({
      description: "What the recipients that have a price cost together; null when none has one."
    }),
    complete: Schema.Boolean.annotations({ description: "Whether every recipient has a price." }),
    recipients: Count,
    billable_recipients: Count,
    rate_card: Schema.NullOr(Schema.Struct({ id: Id, effective_from: Time })),
    breakdown: Schema.Array(
      Schema.Struct({
        market: Text,
        category: Category,
        recipients: Count,
        unit_price: Amount,
        subtotal: Amount
      })
    ),
    unpriced: Schema.Array(Schema.Struct({ phone: Text, reason: Text })),
    without_consent: Count,
    recipients_explained: Schema.optional(
      Schema.Array(
        Schema.Struct({
          phone: Text,
          external_id: NullableText,
          variables: Schema.Array(
            Schema.Struct({ key: Text, value: Text, origin: Schema.Literal("common", "recipient") })
          ),
          rendered: Rendered,
          market: NullableText,
          unit_price: Schema.NullOr(Amount),
          consent: Verdict
        })
      )
    )
  })
}).annotations({ identifier: "Estimate" })

export const Acknowledgement = Schema.Struct({
  ok: Ok,
  job_id: Id,
  status: Schema.Literal("queued"),
  recipients: Count,
  links: Schema.Struct({ status: Text })
}).annotations({ identifier: "Acknowledgement" })

const JobStatus = Schema.Literal(...Job.statuses)
const RecipientStatus = Schema.Literal(...Recipient.statuses)

const listed = {
  job_id: Id,
  status: JobStatus,
  template_id: Count,
  reference: NullableText,
  recipients: Count,
  counts: EventData.Counts,
  created_at: Time,
  updated_at: Time,
  completed_at: NullableTime,
  links: Schema.Struct({ status: Text })
}

export const ListedJob = Schema.Struct(listed).annotations({ identifier: "Job" })

export const Result = Schema.Struct({
  phone: Text,
  external_id: NullableText,
  status: RecipientStatus,
  error: Schema.NullOr(EventData.Failure),
  attempts: Count,
  message_id: Id,
  /** The market that priced it, and the price that is due once it is delivered; null without a rate card. */
  market: NullableText,
  unit_price: Schema.NullOr(Amount),
  /** As what the platform billed it, once a receipt said so; it may differ from the template's category. */
  pricing: Schema.NullOr(Schema.Struct({ category: Text, free: Schema.Boolean })),
  updated_at: Time,
  sent_at: NullableTime,
  delivered_at: NullableTime,
  read_at: NullableTime
}).annotations({ identifier: "Result" })

export const Jobs = Schema.Struct({ ok: Ok, jobs: Schema.Array(ListedJob), next_cursor: NextCursor })

export const JobDetail = Schema.Struct({
  ok: Ok,
  job: Schema.Struct({
    ...listed,
    template: Schema.Struct({ template_id: Count, name: Text, language: Text }),
    currency: Text,
    estimated_cost: Schema.NullOr(Amount),
    actual_cost: Schema.NullOr(Amount),
    pause_reason: NullableText,
    waiting_for: Schema.NullOr(
      Schema.Struct({
        limiter: Text.annotations({
          description:
            "`pace`, `retry`, `session`, `template`, `platform` while that does not answer (`until` it is asked again), `daily_template_recipients` or `minimum_wait_ms` when a send of an embedder's transaction waits for that limit of the plan, or `worker` when no process that sends was alive for 15 seconds."
        }),
        until: NullableTime
      })
    ),
    expected_completion_at: NullableTime,
    results: Schema.Array(Result),
    next_cursor: NextCursor
  })
}).annotations({ identifier: "JobDetail" })

export const ConnectionTest = Schema.Struct({
  ok: Schema.Boolean,
  authenticated: Schema.Boolean,
  connected: Schema.Boolean,
  message: Text
}).annotations({ identifier: "ConnectionTest" })

export const DirectAcknowledgement = Schema.Struct({
  ok: Ok,
  messageId: Id,
  to: Text,
  status: Schema.Literal("accepted", "sent"),
  createdAt: Time
}).annotations({ identifier: "DirectAcknowledgement" })

export const DirectMessage = Schema.Struct({
  ok: Ok,
  message: Schema.Struct({
    messageId: Id,
    to: Text,
    status: RecipientStatus,
    outcome: Schema.NullOr(Schema.Literal("unknown")).annotations({
      description:
        "unknown while it is not known whether the platform took the message; null before and after, and the status tells."
    }),
    error: Schema.NullOr(EventData.Failure),
    reference: NullableText,
    createdAt: Time,
    updatedAt: Time,
    sentAt: NullableTime,
    deliveredAt: NullableTime,
    readAt: NullableTime
  })
}).annotations({ identifier: "DirectMessage" })

export const Health = Schema.Struct({ ok: Schema.Boolean, status: Text })
export const Readiness = Schema.Struct({
  ok: Ok,
  status: Schema.Literal("ready"),
  /** Of a 503 as well, where `detail` says what is wrong. */
  checks: Schema.Array(Schema.Struct({ name: Text, ok: Schema.Boolean, detail: NullableText }))
}).annotations({ identifier: "Readiness" })

const SealedCounts = Schema.Struct({ sessions: Count, webhooks: Count })
export const Resealed = Schema.Struct({
  ok: Ok,
  secrets: Schema.Struct({
    key: Text,
    resealed: SealedCounts,
    unreadable: SealedCounts,
    retired: Schema.Array(Text),
    older_keys: Schema.Array(Text),
    api_keys_left: Count,
    operators_left: Count,
    detail: Text
  }),
  /** With `list=true`. */
  api_keys: Schema.optional(
    Schema.Array(
      Schema.Struct({
        public_key: Text,
        session_id: Id,
        name: NullableText,
        status: KeyStatus,
        last_used_at: NullableTime,
        /** Ids of master keys; null for a hash that does not name its key. */
        older_keys: Schema.Array(NullableText)
      })
    )
  )
}).annotations({ identifier: "Resealed" })

const OperatorBody = Schema.Struct({
  name: Text,
  role: Schema.Literal(...Operator.roles),
  status: Schema.Literal(...Operator.statuses),
  secrets: Schema.Array(Schema.Struct({ created_at: Time, expires_at: NullableTime })),
  created_at: Time,
  last_used_at: NullableTime
}).annotations({ identifier: "Operator" })

export const OperatorDetail = Schema.Struct({ ok: Ok, operator: OperatorBody })
/** The token is shown once. */
export const AppointedOperator = Schema.Struct({ ok: Ok, operator: OperatorBody, token: Text })
export const Operators = Schema.Struct({
  ok: Ok,
  operators: Schema.Array(OperatorBody),
  next_cursor: NextCursor
})

/** What is shown of a thing, by the names that it has elsewhere; never a secret. */
const Shown = Schema.NullOr(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const AuditEntry = Schema.Struct({
  id: Text,
  at: Time,
  operator: Text,
  operation: Text,
  target: NullableText,
  address: NullableText,
  request_id: NullableText,
  before: Shown,
  after: Shown
}).annotations({ identifier: "AuditEntry" })

export const AuditEntries = Schema.Struct({
  ok: Ok,
  entries: Schema.Array(AuditEntry),
  next_cursor: NextCursor
})

export const ProblemDescription = Schema.Struct({
  ok: Ok,
  code: Text,
  status: Schema.NullOr(Count),
  title: Text,
  description: Text
})

// The admin API --------------------------------------------------------------------------------------------------

const Plan = Schema.Struct({
  requests_per_minute: Count,
  minimum_wait_ms: Count,
  daily_direct_messages: Schema.NullOr(Count),
  daily_template_recipients: Schema.NullOr(Count),
  features: Schema.Array(Schema.Literal(...Plans.features)),
  subscription: Schema.Literal("active", "inactive")
}).annotations({ identifier: "Plan" })

const AccountBody = Schema.Struct({
  id: Id,
  name: Text,
  currency: Text,
  plan: Plan,
  created_at: Time,
  updated_at: Time
}).annotations({ identifier: "Account" })

export const Account = Schema.Struct({ ok: Ok, account: AccountBody })
export const Accounts = Schema.Struct({
  ok: Ok,
  accounts: Schema.Array(AccountBody),
  next_cursor: NextCursor
})

const Used = Schema.Struct({ used: Count, limit: Schema.NullOr(Count) })
export const Usage = Schema.Struct({
  ok: Ok,
  usage: Schema.Struct({ day: Text, template_recipients: Used, direct_messages: Used, resets_at: Time })
})

const SessionBody = Schema.Struct({
  id: Id,
  account_id: Id,
  name: Text,
  provider: Text,
  pacing: Schema.Struct({
    messages_per_second: Schema.NullOr(Schema.Number),
    pair_interval_ms: Schema.NullOr(Count)
  }),
  /** Seconds; null = by what is sent. */
  retry_for: Schema.NullOr(Count),
  /** null = the words that come with Sendwright. */
  keywords: Schema.Struct({
    opt_out: Schema.NullOr(Schema.Array(Text)),
    opt_in: Schema.NullOr(Schema.Array(Text))
  }),
  state: SessionState,
  reason: NullableText,
  blocked_until: NullableTime,
  unavailable_since: Unavailable,
  next_probe_at: NullableTime.annotations({
    description: "When a message asks the platform again that does not answer."
  }),
  connected_since: NullableTime,
  created_at: Time,
  updated_at: Time
}).annotations({ identifier: "Session" })

export const SessionDetail = Schema.Struct({ ok: Ok, session: SessionBody })
export const Sessions = Schema.Struct({
  ok: Ok,
  sessions: Schema.Array(SessionBody),
  next_cursor: NextCursor
})

/** When a secret was made and until when it is accepted; null while it is the newest. */
const Secret = Schema.Struct({ created_at: Time, expires_at: NullableTime })

const KeyBody = Schema.Struct({
  public_key: Text,
  session_id: Id,
  name: NullableText,
  permissions: Schema.Array(Permission),
  status: KeyStatus,
  secrets: Schema.Array(Secret),
  created_at: Time,
  last_used_at: NullableTime
}).annotations({ identifier: "ApiKey" })

export const Key = Schema.Struct({ ok: Ok, key: KeyBody })
export const IssuedKey = Schema.Struct({ ok: Ok, key: KeyBody, secret_key: Text })
export const Keys = Schema.Struct({ ok: Ok, keys: Schema.Array(KeyBody), next_cursor: NextCursor })

export const FaultItem = Schema.Struct({
  pointer: Text.annotations({ description: "An RFC 6901 pointer to the field." }),
  code: Schema.Literal(...Fault.codes),
  message: Text.annotations({ description: "Says what would be right." })
}).annotations({ identifier: "Fault" })

/** One for each item, in the order given. */
const ImportResult = Schema.Struct({
  index: Count,
  name: NullableText,
  language: NullableText,
  status: Schema.Literal("imported", "refused"),
  template_id: Schema.optional(Count),
  sendable: Schema.optional(Schema.Boolean),
  unsendable_reason: Schema.optional(NullableText),
  errors: Schema.optional(Schema.Array(FaultItem))
}).annotations({ identifier: "ImportResult" })

export const ImportedTemplates = Schema.Struct({
  ok: Ok,
  imported: Count,
  templates: Schema.Array(Template.Wire),
  results: Schema.Array(ImportResult)
})

export const SyncedTemplates = Schema.Struct({
  ...ImportedTemplates.fields,
  /** The platform's templates that could not be listed here, and why. */
  skipped: Schema.Array(Schema.Struct({ name: Text, language: Text, reason: Text }))
})

export const ConsentResults = Schema.Struct({
  ok: Ok,
  recorded: Count,
  results: Schema.Array(
    Schema.Struct({
      index: Count,
      phone: Text,
      ok: Schema.Boolean,
      consent_id: Schema.optional(Id),
      errors: Schema.optional(Schema.Array(FaultItem))
    })
  )
})

export const ConsentState = Schema.Struct({
  ok: Ok,
  /** As it was asked for. */
  phone: NullableText,
  user_id: NullableText,
  current: Schema.Array(
    Schema.Struct({
      purpose: Schema.Literal(...Consent.purposes),
      status: Schema.Literal("granted", "revoked", "missing"),
      consent_id: Schema.NullOr(Id)
    })
  ),
  history: Schema.Array(ConsentRecord)
})

export const UnattributedList = Schema.Struct({
  ok: Ok,
  unattributed: Schema.Array(
    Schema.Struct({
      id: Id,
      session_id: Id,
      kind: Schema.Literal(...Unattributed.kinds),
      message_id: NullableText,
      text: Text,
      occurred_at: Time,
      recorded_at: Time
    })
  ),
  next_cursor: NextCursor
})

const WebhookBody = Schema.Struct({
  id: Id,
  account_id: Id,
  url: Text,
  events: Schema.Array(Text),
  description: NullableText,
  enabled: Schema.Boolean,
  disabled_reason: NullableText,
  failing_since: NullableTime,
  deliveries_per_second: Schema.NullOr(Schema.Number),
  batch_recipients: Schema.Boolean,
  secrets: Schema.Array(Secret),
  created_at: Time,
  updated_at: Time
}).annotations({ identifier: "Webhook" })

export const WebhookDetail = Schema.Struct({ ok: Ok, webhook: WebhookBody })
export const RegisteredWebhook = Schema.Struct({ ok: Ok, webhook: WebhookBody, secret: Text })
export const Webhooks = Schema.Struct({
  ok: Ok,
  webhooks: Schema.Array(WebhookBody),
  next_cursor: NextCursor
})
export const Done = Schema.Struct({ ok: Ok })
export const TestDelivery = Schema.Struct({ ok: Ok, delivery_id: Id })
export const Replayed = Schema.Struct({ ok: Ok, replayed: Count })

const DeliveryBody = Schema.Struct({
  id: Id,
  event_id: Id,
  event_type: Text,
  status: Schema.Literal("pending", "delivered", "exhausted"),
  next_attempt_at: NullableTime,
  created_at: Time,
  attempts: Schema.Array(
    Schema.Struct({
      number: Count,
      at: Time,
      status: Schema.NullOr(Count),
      duration_ms: Count,
      reason: Schema.NullOr(Schema.Literal(...Webhook.failures)),
      response: Text
    })
  )
}).annotations({ identifier: "Delivery" })

export const Delivery = Schema.Struct({ ok: Ok, delivery: DeliveryBody })
export const Deliveries = Schema.Struct({
  ok: Ok,
  deliveries: Schema.Array(DeliveryBody),
  next_cursor: NextCursor
})

const RateCardBody = Schema.Struct({
  id: Id,
  currency: Text,
  effective_from: Time,
  created_at: Time,
  prices: Schema.Array(
    Schema.Struct({
      market: Text,
      prefixes: Schema.optional(Schema.Array(Text)),
      category: Category,
      price: Amount
    })
  )
}).annotations({ identifier: "RateCard" })

export const RateCard = Schema.Struct({ ok: Ok, rate_card: RateCardBody })
export const RateCards = Schema.Struct({
  ok: Ok,
  rate_cards: Schema.Array(RateCardBody),
  next_cursor: NextCursor
})

export const RetriedJob = Schema.Struct({
  ok: Ok,
  job: ListedJob,
  retried: Count,
  counts: Schema.Struct({ failed: Count, unknown: Count }),
  dry_run: Schema.Boolean
})
export const CanceledJob = Schema.Struct({ ok: Ok, job: ListedJob })

export const Messages = Schema.Struct({
  ok: Ok,
  messages: Schema.Array(
    Schema.Struct({
      message_id: Id,
      session_id: Id,
      to: Text,
      status: RecipientStatus,
      error: Schema.NullOr(EventData.Failure),
      reference: NullableText,
      attempts: Count,
      created_at: Time,
      updated_at: Time,
      sent_at: NullableTime,
      delivered_at: NullableTime,
      read_at: NullableTime
    })
  ),
  next_cursor: NextCursor
})

// What platforms post ----------------------------------------------------------------------------------------------

const UnknownTime = Schema.optional(Schema.String)

export const WhatsAppHook = Schema.Struct({
  object: Schema.optional(Text),
  entry: Schema.Array(Schema.Unknown).annotations({ description: "As the WhatsApp Cloud API writes them." })
}).annotations({ identifier: "WhatsAppHook" })

export const GatewayHook = Schema.Struct({
  receipts: Schema.optional(
    Schema.Array(
      Schema.Struct({
        message_id: Schema.optional(Text.annotations({ description: "The one that the gateway was given." })),
        id: Schema.optional(Text.annotations({ description: "The one that the gateway answered." })),
        status: Schema.Literal("sent", "delivered", "read", "failed"),
        at: UnknownTime,
        error: Schema.optional(Schema.Struct({ code: Schema.optional(Text), message: Schema.optional(Text) }))
      })
    )
  ),
  messages: Schema.optional(
    Schema.Array(
      Schema.Struct({
        id: Schema.optional(Text),
        from: Schema.optional(Text.annotations({ description: "A phone number." })),
        user_id: Schema.optional(Text),
        text: Text,
        at: UnknownTime
      })
    )
  )
}).annotations({
  identifier: "GatewayHook",
  description: "`receipts` or `messages`, or both.",
  jsonSchema: { allOf: [{ anyOf: [{ required: ["receipts"] }, { required: ["messages"] }] }] }
})
