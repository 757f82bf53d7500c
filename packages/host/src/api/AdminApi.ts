/** The admin API of decisions.md §8, under `/admin/v1`. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import * as ApiKey from "@sendwright/core/domain/ApiKey"
import * as Consent from "@sendwright/core/domain/Consent"
import { Currency } from "@sendwright/core/domain/Currency"
import * as Event from "@sendwright/core/domain/Event"
import * as Time from "@sendwright/core/domain/Instant"
import * as Keywords from "@sendwright/core/domain/Keywords"
import * as Money from "@sendwright/core/domain/Money"
import * as Operator from "@sendwright/core/domain/Operator"
import * as Person from "@sendwright/core/domain/Person"
import * as Phone from "@sendwright/core/domain/Phone"
import * as Plan from "@sendwright/core/domain/Plan"
import * as RateCard from "@sendwright/core/domain/RateCard"
import * as Retry from "@sendwright/core/domain/Retry"
import * as RetrySelection from "@sendwright/core/domain/RetrySelection"
import * as Session from "@sendwright/core/domain/Session"
import * as Text from "@sendwright/core/domain/Text"
import * as Webhook from "@sendwright/core/domain/Webhook"
import * as Schema from "effect/Schema"
import { MaximumValues } from "./MaximumValues.ts"
import { JobFilter, Paging, paging, resultFilter, TimeText, Uuid } from "./Parameters.ts"
import * as Schemas from "./Schemas.ts"

const optional = Schema.optional
const created = { status: 201 } as const
const id = Schema.Struct({ id: Uuid })
const publicKey = Schema.Struct({
  publicKey: Schema.String.annotations({ description: "The public key, `pk_` and 22 letters and digits." })
})

const Name = Text.line(255)

const OperatorName = Schema.String.pipe(Schema.filter(Operator.isName, { description: Operator.nameRule }))

const maximumCount = 1_000_000_000
const Limit = Schema.NullOr(Schema.Int.pipe(Schema.between(0, maximumCount)))

const PlanChange = Schema.Struct({
  requests_per_minute: optional(Schema.Int.pipe(Schema.between(1, 1_000_000))),
  minimum_wait_ms: optional(Schema.Int.pipe(Schema.between(0, 86_400_000))),
  daily_direct_messages: optional(Limit),
  daily_template_recipients: optional(Limit),
  features: optional(
    Schema.Array(Schema.Literal(...Plan.features)).pipe(Schema.maxItems(Plan.features.length))
  ),
  subscription: optional(Schema.Literal("active", "inactive"))
})

/** null = no limit. */
const PacingChange = Schema.Struct({
  messages_per_second: optional(Schema.NullOr(Schema.Number.pipe(Schema.between(0.001, 10_000)))),
  pair_interval_ms: optional(Schema.NullOr(Schema.Int.pipe(Schema.between(1, 86_400_000))))
})

/** Seconds; null = by what is sent. */
const RetryFor = Schema.NullOr(
  Schema.Int.pipe(
    Schema.between(Retry.shortestSendWindow / Time.second, Retry.longestSendWindow / Time.second)
  )
).annotations({
  description:
    "Seconds for which a transient error is tried again, from the first attempt of a message on. null: 600 for authentication templates, 86,400 for everything else."
})

/** null = the words that come with Sendwright. */
const WordList = Schema.NullOr(Schema.Array(Keywords.Word).pipe(Schema.maxItems(Keywords.maximumWords)))
const KeywordsChange = Schema.Struct({ opt_out: optional(WordList), opt_in: optional(WordList) })

/** The session's sender judges its members: an embedder may bring senders of its own. */
const Configuration = Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
  jsonSchema: {
    type: "object",
    additionalProperties: true,
    description:
      "What the provider asks for. `sandbox`: nothing. `http`: `url` and `secret` (16 to 512 characters), and `headers` and `timeout_ms` (100 to 120,000). `whatsapp_cloud`: `phone_number_id`, `waba_id`, `access_token`, `app_secret` and `verify_token`, and `api_version`, `base_url`, `messages_per_second` and `portfolio_id`."
  }
})

const Permissions = Schema.Array(Schema.Literal(...ApiKey.permissions)).pipe(
  Schema.maxItems(ApiKey.permissions.length)
)
const Overlap = optional(Schema.Int.pipe(Schema.between(0, 604_800)))

export const createAccount = HttpApiEndpoint.post("createAccount", "/admin/v1/accounts")
  .setPayload(Schema.Struct({ name: Name, currency: optional(Currency), plan: optional(PlanChange) }))
  .addSuccess(Schemas.Account, created)
export const accounts = HttpApiEndpoint.get("accounts", "/admin/v1/accounts")
  .setUrlParams(Paging)
  .addSuccess(Schemas.Accounts)
export const account = HttpApiEndpoint.get("account", "/admin/v1/accounts/:id")
  .setPath(id)
  .addSuccess(Schemas.Account)
export const changeAccount = HttpApiEndpoint.patch("changeAccount", "/admin/v1/accounts/:id")
  .setPath(id)
  .setPayload(
    Schema.Struct({
      name: optional(Name),
      currency: optional(Currency),
      plan: optional(PlanChange)
    })
  )
  .addSuccess(Schemas.Account)
export const usage = HttpApiEndpoint.get("usage", "/admin/v1/accounts/:id/usage")
  .setPath(id)
  .addSuccess(Schemas.Usage)

export const createSession = HttpApiEndpoint.post("createSession", "/admin/v1/accounts/:id/sessions")
  .setPath(id)
  .setPayload(
    Schema.Struct({
      name: Name,
      provider: Schema.Literal(...Session.providers),
      config: optional(Configuration),
      pacing: optional(PacingChange),
      retry_for: optional(RetryFor),
      keywords: optional(KeywordsChange)
    })
  )
  .addSuccess(Schemas.SessionDetail, created)
export const sessions = HttpApiEndpoint.get("sessions", "/admin/v1/accounts/:id/sessions")
  .setPath(id)
  .setUrlParams(Paging)
  .addSuccess(Schemas.Sessions)
export const session = HttpApiEndpoint.get("session", "/admin/v1/sessions/:id")
  .setPath(id)
  .addSuccess(Schemas.SessionDetail)
export const changeSession = HttpApiEndpoint.patch("changeSession", "/admin/v1/sessions/:id")
  .setPath(id)
  .setPayload(
    Schema.Struct({
      name: optional(Name),
      pacing: optional(PacingChange),
      retry_for: optional(RetryFor),
      keywords: optional(KeywordsChange),
      config: optional(Configuration)
    })
  )
  .addSuccess(Schemas.SessionDetail)
export const connect = HttpApiEndpoint.post("connect", "/admin/v1/sessions/:id/connect")
  .setPath(id)
  .addSuccess(Schemas.SessionDetail)
export const disconnect = HttpApiEndpoint.post("disconnect", "/admin/v1/sessions/:id/disconnect")
  .setPath(id)
  .addSuccess(Schemas.SessionDetail)

export const issueKey = HttpApiEndpoint.post("issueKey", "/admin/v1/sessions/:id/keys")
  .setPath(id)
  .setPayload(Schema.Struct({ name: optional(Name), permissions: optional(Permissions) }))
  .addSuccess(Schemas.IssuedKey, created)
export const keys = HttpApiEndpoint.get("keys", "/admin/v1/sessions/:id/keys")
  .setPath(id)
  .setUrlParams(Paging)
  .addSuccess(Schemas.Keys)
export const rotateKey = HttpApiEndpoint.post("rotateKey", "/admin/v1/keys/:publicKey/rotate")
  .setPath(publicKey)
  .setPayload(Schema.Struct({ overlap_seconds: Overlap }))
  .addSuccess(Schemas.IssuedKey)
export const revokeKey = HttpApiEndpoint.post("revokeKey", "/admin/v1/keys/:publicKey/revoke")
  .setPath(publicKey)
  .addSuccess(Schemas.Key)
export const changeKey = HttpApiEndpoint.patch("changeKey", "/admin/v1/keys/:publicKey")
  .setPath(publicKey)
  .setPayload(
    Schema.Struct({
      status: optional(Schema.Literal("active", "inactive")),
      permissions: optional(Permissions),
      name: optional(Name)
    })
  )
  .addSuccess(Schemas.Key)

/** Read one by one: what is no template is told by its item. */
const PlatformTemplate = Schema.Unknown.annotations({
  jsonSchema: {
    description: "A template as the platform's API writes it. What cannot be read is refused by its item."
  }
})

export const importTemplates = HttpApiEndpoint.put("importTemplates", "/admin/v1/sessions/:id/templates")
  .setPath(id)
  .setPayload(
    Schema.Struct({
      templates: Schema.Array(PlatformTemplate).pipe(Schema.minItems(1), Schema.maxItems(6000))
    })
  )
  .addSuccess(Schemas.ImportedTemplates)
  // 6,000 of a body alone have 54,000.
  .annotate(MaximumValues, 55_000)

export const syncTemplates = HttpApiEndpoint.post("syncTemplates", "/admin/v1/sessions/:id/templates/sync")
  .setPath(id)
  .addSuccess(Schemas.SyncedTemplates)

/** Texts are judged item by item: a wrong one refuses its record, not the request. */
export const ConsentRecord = Schema.Struct({
  phone: Schema.String.annotations({
    description: "Digits including a country calling code that exists, no separators."
  }),
  status: optional(
    Schema.Literal("granted", "revoked").annotations({ description: "`granted` when absent." })
  ),
  purpose: optional(Schema.Literal(...Consent.scopes).annotations({ description: "`all` when absent." })),
  source: Schema.String.annotations({ description: "Where it was given: 1 to 255 characters, not blank." }),
  proof: optional(Schema.String.annotations({ description: "1 to 2,000 characters, not blank." })),
  occurred_at: optional(
    Schema.String.annotations({
      description: "An RFC 3339 date-time that is not in the future; now when absent."
    })
  )
}).annotations({ identifier: "NewConsent" })

export const recordConsents = HttpApiEndpoint.post("recordConsents", "/admin/v1/accounts/:id/consents")
  .setPath(id)
  .setPayload(
    Schema.Struct({
      consents: Schema.Array(ConsentRecord).pipe(Schema.minItems(1), Schema.maxItems(10_000))
    })
  )
  .addSuccess(Schemas.ConsentResults)
  // 10,000 of five members, which 1 MiB has room for, have 60,000.
  .annotate(MaximumValues, 61_000)
export const consents = HttpApiEndpoint.get("consents", "/admin/v1/accounts/:id/consents")
  .setPath(id)
  .setUrlParams(
    Schema.Struct({
      phone: optional(
        Schema.String.annotations({
          description: "Either this or `user_id`.",
          jsonSchema: { pattern: Phone.form.source }
        })
      ),
      user_id: optional(
        Schema.String.annotations({
          description: "As the platform writes it.",
          jsonSchema: { pattern: Person.userIdForm.source }
        })
      )
    })
  )
  .addSuccess(Schemas.ConsentState)
export const unattributed = HttpApiEndpoint.get("unattributed", "/admin/v1/accounts/:id/unattributed")
  .setPath(id)
  .setUrlParams(Paging)
  .addSuccess(Schemas.UnattributedList)

const maximumEvents = 100
const WebhookUrl = Schema.String.annotations({
  description:
    "An absolute http or https URL without credentials whose host is not private, unless the operator allows its network.",
  jsonSchema: { format: "uri", pattern: "^[Hh][Tt][Tt][Pp][Ss]?:", maxLength: Webhook.maximumUrl }
})
const endpointFields = {
  events: optional(
    Schema.Array(Schema.String.annotations({ jsonSchema: { enum: Event.patterns } }))
      .pipe(Schema.maxItems(maximumEvents))
      .annotations({
        description: `Types of events, families and \`*\`; ${Event.defaultSubscription.join(", ")} when absent.`,
        // A rule that is written here takes the place of that of `maxItems`.
        jsonSchema: { minItems: 1, maxItems: maximumEvents }
      })
  ),
  description: optional(
    Schema.String.annotations({
      description: "Text on one line that is not blank; an empty one removes it.",
      jsonSchema: { maxLength: Webhook.maximumDescription }
    })
  ),
  deliveries_per_second: optional(
    Schema.NullOr(
      Schema.Number.annotations({ jsonSchema: { exclusiveMinimum: 0, maximum: Webhook.maximumPace } })
    ).annotations({ description: "null = as fast as it answers." })
  ),
  batch_recipients: optional(
    Schema.Boolean.annotations({
      description: "Whether changes of recipients come up to a hundred to an event, `recipient.batch`."
    })
  )
}

export const createWebhook = HttpApiEndpoint.post("createWebhook", "/admin/v1/accounts/:id/webhooks")
  .setPath(id)
  .setPayload(Schema.Struct({ url: WebhookUrl, ...endpointFields }))
  .addSuccess(Schemas.RegisteredWebhook, created)
export const webhooks = HttpApiEndpoint.get("webhooks", "/admin/v1/accounts/:id/webhooks")
  .setPath(id)
  .setUrlParams(Paging)
  .addSuccess(Schemas.Webhooks)
export const changeWebhook = HttpApiEndpoint.patch("changeWebhook", "/admin/v1/webhooks/:id")
  .setPath(id)
  .setPayload(
    Schema.Struct({ url: optional(WebhookUrl), ...endpointFields, enabled: optional(Schema.Boolean) })
  )
  .addSuccess(Schemas.WebhookDetail)
export const removeWebhook = HttpApiEndpoint.del("removeWebhook", "/admin/v1/webhooks/:id")
  .setPath(id)
  .addSuccess(Schemas.Done)
export const rotateWebhook = HttpApiEndpoint.post("rotateWebhook", "/admin/v1/webhooks/:id/rotate")
  .setPath(id)
  .setPayload(Schema.Struct({ overlap_seconds: Overlap }))
  .addSuccess(Schemas.RegisteredWebhook)
export const testWebhook = HttpApiEndpoint.post("testWebhook", "/admin/v1/webhooks/:id/test")
  .setPath(id)
  .addSuccess(Schemas.TestDelivery)
export const deliveries = HttpApiEndpoint.get("deliveries", "/admin/v1/webhooks/:id/deliveries")
  .setPath(id)
  .setUrlParams(Paging)
  .addSuccess(Schemas.Deliveries)
export const replayWebhook = HttpApiEndpoint.post("replayWebhook", "/admin/v1/webhooks/:id/replay")
  .setPath(id)
  .setPayload(Schema.Struct({ since: TimeText, which: optional(Schema.Literal("failed", "missing")) }))
  .addSuccess(Schemas.Replayed)
export const replayDelivery = HttpApiEndpoint.post("replayDelivery", "/admin/v1/deliveries/:id/replay")
  .setPath(id)
  .addSuccess(Schemas.Delivery)

const Price = Schema.String.pipe(
  Schema.filter(Money.isAmount, {
    description: 'a plain decimal such as "0.0250"',
    jsonSchema: { pattern: Money.plain.source }
  })
)

/** More than a market has. */
const maximumPrefixes = 1000

export const addRateCard = HttpApiEndpoint.put("addRateCard", "/admin/v1/rate-cards")
  .setPayload(
    Schema.Struct({
      currency: Currency,
      effective_from: TimeText,
      prices: Schema.Array(
        Schema.Struct({
          market: Schema.String.annotations({
            description: "A name with `prefixes`; else itself the prefix, or `*` for the rest of the world.",
            jsonSchema: { minLength: 1 }
          }),
          prefixes: optional(
            Schema.Array(
              Schema.String.annotations({
                description: "A calling code and the first digits of its numbers.",
                jsonSchema: { pattern: RateCard.prefixForm.source }
              })
            ).pipe(Schema.minItems(1), Schema.maxItems(maximumPrefixes))
          ),
          category: Schema.Literal(...RateCard.categories),
          price: Price
        })
      ).pipe(Schema.minItems(1), Schema.maxItems(RateCard.maximumPrefixes))
    })
  )
  .addSuccess(Schemas.RateCard)
export const importRateCard = HttpApiEndpoint.post("importRateCard", "/admin/v1/rate-cards/import")
  .setPayload(
    Schema.Struct({
      currency: Currency,
      effective_from: TimeText,
      csv: Schema.NonEmptyString
    })
  )
  .addSuccess(Schemas.RateCard)
export const rateCards = HttpApiEndpoint.get("rateCards", "/admin/v1/rate-cards")
  .setUrlParams(Paging)
  .addSuccess(Schemas.RateCards)

const byAccount = { account_id: Uuid }

export const messages = HttpApiEndpoint.get("messages", "/admin/v1/messages")
  .setUrlParams(Schema.Struct({ ...paging, ...byAccount }))
  .addSuccess(Schemas.Messages)
export const adminJobs = HttpApiEndpoint.get("adminJobs", "/admin/v1/jobs")
  .setUrlParams(Schema.Struct({ ...JobFilter.fields, ...byAccount }))
  .addSuccess(Schemas.Jobs)
export const adminJob = HttpApiEndpoint.get("adminJob", "/admin/v1/jobs/:id")
  .setPath(id)
  .setUrlParams(Schema.Struct(resultFilter))
  .addSuccess(Schemas.JobDetail)
export const cancelJob = HttpApiEndpoint.post("cancelJob", "/admin/v1/jobs/:id/cancel")
  .setPath(id)
  .addSuccess(Schemas.CanceledJob)
const FailureCode = Schema.String.annotations({
  jsonSchema: { minLength: 1, maxLength: RetrySelection.maximumCodeLength }
})
const PhoneNumber = Schema.String.annotations({ jsonSchema: { pattern: Phone.form.source } })

export const retryJob = HttpApiEndpoint.post("retryJob", "/admin/v1/jobs/:id/retry")
  .setPath(id)
  .setPayload(
    Schema.Struct({
      statuses: optional(
        Schema.Array(Schema.Literal(...RetrySelection.statuses)).pipe(Schema.minItems(1), Schema.maxItems(2))
      ),
      codes: optional(Schema.Array(FailureCode).pipe(Schema.minItems(1), Schema.maxItems(50))),
      phones: optional(Schema.Array(PhoneNumber).pipe(Schema.minItems(1), Schema.maxItems(250))),
      dry_run: optional(Schema.Boolean)
    })
  )
  .addSuccess(Schemas.RetriedJob)

export const resealSecrets = HttpApiEndpoint.post("resealSecrets", "/admin/v1/secrets/reseal")
  .setUrlParams(
    Schema.Struct({
      list: optional(
        Schema.Literal("true").annotations({ description: "Lists the API keys that need an older key." })
      )
    })
  )
  .addSuccess(Schemas.Resealed)

const operatorName = Schema.Struct({
  name: Schema.String.annotations({ description: "The operator's name." })
})

export const createOperator = HttpApiEndpoint.post("createOperator", "/admin/v1/operators")
  .setPayload(Schema.Struct({ name: OperatorName, role: Schema.Literal(...Operator.roles) }))
  .addSuccess(Schemas.AppointedOperator, created)
export const operators = HttpApiEndpoint.get("operators", "/admin/v1/operators")
  .setUrlParams(Paging)
  .addSuccess(Schemas.Operators)
export const rotateOperator = HttpApiEndpoint.post("rotateOperator", "/admin/v1/operators/:name/rotate")
  .setPath(operatorName)
  .setPayload(Schema.Struct({ overlap_seconds: Overlap }))
  .addSuccess(Schemas.AppointedOperator)
export const revokeOperator = HttpApiEndpoint.post("revokeOperator", "/admin/v1/operators/:name/revoke")
  .setPath(operatorName)
  .addSuccess(Schemas.OperatorDetail)

export const audit = HttpApiEndpoint.get("audit", "/admin/v1/audit")
  .setUrlParams(
    Schema.Struct({
      ...paging,
      operator: optional(
        Text.line(255).annotations({ jsonSchema: { description: "Only acts of this operator." } })
      ),
      operation: optional(
        Text.line(255).annotations({
          jsonSchema: { description: "Only acts of this kind, such as `accounts.change`." }
        })
      ),
      target: optional(
        Text.line(255).annotations({ jsonSchema: { description: "Only acts on what has this id." } })
      ),
      from: optional(
        TimeText.annotations({
          jsonSchema: { format: "date-time", description: "Only acts at this time or later." }
        })
      ),
      to: optional(
        TimeText.annotations({
          jsonSchema: { format: "date-time", description: "Only acts before this time." }
        })
      )
    })
  )
  .addSuccess(Schemas.AuditEntries)

export const group = HttpApiGroup.make("admin")
  .annotateContext(OpenApi.annotations({ description: "Administration, with the operator's token." }))
  .add(createAccount)
  .add(accounts)
  .add(account)
  .add(changeAccount)
  .add(usage)
  .add(createSession)
  .add(sessions)
  .add(session)
  .add(changeSession)
  .add(connect)
  .add(disconnect)
  .add(issueKey)
  .add(keys)
  .add(rotateKey)
  .add(revokeKey)
  .add(changeKey)
  .add(importTemplates)
  .add(syncTemplates)
  .add(recordConsents)
  .add(consents)
  .add(unattributed)
  .add(createWebhook)
  .add(webhooks)
  .add(changeWebhook)
  .add(removeWebhook)
  .add(rotateWebhook)
  .add(testWebhook)
  .add(deliveries)
  .add(replayWebhook)
  .add(replayDelivery)
  .add(addRateCard)
  .add(importRateCard)
  .add(rateCards)
  .add(messages)
  .add(adminJobs)
  .add(adminJob)
  .add(cancelJob)
  .add(retryJob)
  .add(resealSecrets)
  .add(createOperator)
  .add(operators)
  .add(rotateOperator)
  .add(revokeOperator)
  .add(audit)
