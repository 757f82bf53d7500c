/** Sessions: connections of an account to a platform (contract.md §8). */
import * as Schema from "effect/Schema"
import { ClosedMarkets, Session as Domain, Instant, Keywords, Retry, Template } from "../index.ts"
import * as Times from "../schema/Times.ts"
import { codec, computed, inProcess, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { forOperator, one, pageOf } from "./Operation.ts"
import { id, Name, Paging, Provider, paging, Uuid } from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

const ClosedMarket = Schema.Struct({
  category: Template.Category,
  prefixes: Schema.Array(Wire.Text)
}).annotations({ identifier: "ClosedMarket" })

const WordsShown = Schema.NullOr(Schema.Array(Wire.Text))

/** Without its configuration, which holds secrets. */
const session = struct(
  {
    id: Wire.Id,
    account_id: Wire.Id,
    name: Wire.Text,
    provider: Wire.Text,
    pacing: struct({
      messages_per_second: Schema.NullOr(Schema.Number),
      pair_interval_ms: Schema.NullOr(Wire.Count)
    }),
    /** Seconds; null = by what is sent. */
    retry_for: computed(Schema.NullOr(Wire.Count), Domain.retryFor),
    closed_markets: Schema.NullOr(Schema.Array(ClosedMarket)).annotations({
      description: "null: those of the provider."
    }),
    quiet_hours: codec(
      Times.QuietHoursShown.annotations({
        description: "The hours in which messages of a purpose go; null for all hours."
      }),
      Times.toldQuietHours
    ),
    /** null = the words that come with Sendwright. */
    keywords: struct({ opt_out: WordsShown, opt_in: WordsShown }),
    state: Wire.SessionState,
    reason: Wire.NullableText,
    blocked_until: Wire.describedTime(
      "Until when the platform takes no templates from it; the year 9999 where only the platform or an operator ends that. null: it takes them."
    ),
    block_reason: Schema.NullOr(Schema.Literal(...Domain.blockReasons)),
    block_code: Wire.NullableText,
    replies_blocked_until: Wire.describedTime(
      "Until when the platform takes no direct messages from it, as `blocked_until`."
    ),
    unavailable_since: Wire.unavailable,
    next_probe_at: computed(
      Wire.NullableTime.schema.annotations({
        description: "When a message asks the platform again that does not answer."
      }),
      ({ outage }: Domain.Session, prefix) => Wire.NullableTime.of(outage?.probeAt ?? null, prefix)
    ),
    connected_since: Wire.NullableTime,
    created_at: Wire.Time,
    updated_at: Wire.Time
  },
  "Session"
)

/** null = no limit. */
const PacingChange = Schema.Struct({
  messages_per_second: optional(Schema.NullOr(Schema.Number.pipe(Schema.between(0.001, 10_000)))),
  pair_interval_ms: optional(Schema.NullOr(Schema.Int.pipe(Schema.between(1, 86_400_000))))
})

/** Seconds; null = by what is sent. */
const RetryFor = Schema.NullOr(
  Schema.Int.pipe(
    Schema.between(Retry.shortestSendWindow / Instant.second, Retry.longestSendWindow / Instant.second)
  )
).annotations({
  description:
    "Seconds for which a transient error is tried again, from the first attempt of a message on. null: 600 for authentication templates, 86,400 for everything else."
})

/** null = those of the provider. */
const ClosedMarketsChange = Schema.NullOr(
  Schema.Array(
    Schema.Struct({
      category: Template.Category,
      prefixes: Schema.Array(
        Schema.String.annotations({
          description: "A calling code and the first digits of its numbers.",
          jsonSchema: { pattern: ClosedMarkets.prefixForm.source }
        })
      ).pipe(Schema.minItems(1), Schema.maxItems(ClosedMarkets.maximumPrefixes))
    })
  ).pipe(Schema.maxItems(ClosedMarkets.maximum))
).annotations({
  description:
    "Markets to which nothing of a category is sent: a recipient there ends as `country_restricted`, without an attempt. null: those of the provider, which for WhatsApp are marketing to area codes of the United States. `[]`: none."
})

/** null = the words that come with Sendwright. */
const WordList = Schema.NullOr(Schema.Array(Keywords.Word).pipe(Schema.maxItems(Keywords.maximumWords)))
const KeywordsChange = Schema.Struct({ opt_out: optional(WordList), opt_in: optional(WordList) })

/** The session's sender judges its members; the description has the words of each sender. */
const Configuration = Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
  identifier: "SessionConfiguration",
  jsonSchema: { type: "object", additionalProperties: true }
})

const settings = {
  config: optional(Configuration),
  pacing: optional(PacingChange),
  retry_for: optional(RetryFor),
  closed_markets: optional(ClosedMarketsChange),
  quiet_hours: optional(Times.QuietHoursChange),
  keywords: optional(KeywordsChange)
}

/** Of a new session and of a change alike; also of as much of it as can be read. */
const settingsOf = <Pacing extends object, Words extends object, Rest extends object>({
  keywords,
  pacing,
  ...rest
}: Rest & { readonly keywords?: Words | undefined; readonly pacing?: Pacing | undefined }) => ({
  ...inProcess(rest),
  keywords: keywords && inProcess(keywords),
  pacing: pacing && inProcess(pacing)
})

/** A block begins by the platform's word alone. */
const BlockEnd = Schema.Null.annotations({
  description:
    "null ends a block by hand, and what the platform restricts. A platform that still does so says so again."
})

const unreadHook = struct(
  {
    id: Wire.Id,
    field: Wire.Text.annotations({ description: "The platform's name for this kind of news." }),
    reason: Wire.Text,
    content: Wire.Text.annotations({
      description:
        "The JSON as it came, of at most 16 KiB; texts of the session's configuration are hidden in it."
    }),
    is_cut: Schema.Boolean.annotations({ description: "True when `content` is only the beginning." }),
    received_at: Wire.Time
  },
  "UnreadHook"
)

const { session: example } = Examples

const Session = one("session", session, example)

export const admin = [
  forOperator(
    Endpoint.post("createSession", "/admin/v1/accounts/:id/sessions")
      .setPath(id)
      .setPayload(Schema.Struct({ name: Name, provider: Provider, ...settings })),
    Session,
    {
      summary: "Create a session",
      description:
        "One connection of the account to a platform. A sandbox session starts connected; any other is to be connected.",
      status: 201,
      request: { name: example.name, provider: "sandbox", pacing: { messages_per_second: 80 } },
      command: { name: "sessions create", description: "Create a session." }
    },
    ({ admin }, { path, payload }) => admin.sessions.create(path.id, settingsOf(payload)),
    ({ admin }, { payload }) => admin.sessions.createFaults(settingsOf(payload))
  ),
  forOperator(
    Endpoint.get("sessions", "/admin/v1/accounts/:id/sessions").setPath(id).setUrlParams(Paging),
    pageOf("sessions", session, example),
    {
      summary: "List an account's sessions",
      description: "Without their configuration, which holds secrets.",
      command: {
        name: "sessions list",
        description: "List an account's sessions.",
        columns: ["id", "name", "state", "unavailable_since", "reason"]
      }
    },
    ({ admin }, { page, path }) => admin.sessions.list(path.id, page)
  ),
  forOperator(
    Endpoint.get("allSessions", "/admin/v1/sessions").setUrlParams(
      Schema.Struct({
        ...paging,
        account_id: optional(Uuid),
        down: optional(
          Schema.Literal("true").annotations({
            description:
              "Only sessions over which nothing can be sent now: not connected, blocked, or of a platform that does not answer."
          })
        )
      })
    ),
    pageOf("sessions", session, example),
    {
      summary: "List sessions of all accounts",
      description: "Newest first, without their configuration.",
      command: {
        name: "sessions all",
        description: "List sessions of all accounts, or of one, or those that are down.",
        columns: ["id", "name", "state", "unavailable_since", "reason"]
      }
    },
    ({ admin }, { page, query }) =>
      admin.sessions.all({ accountId: query.account_id, isDown: query.down === "true", page })
  ),
  forOperator(
    Endpoint.get("session", "/admin/v1/sessions/:id").setPath(id),
    Session,
    {
      summary: "Read a session",
      description: "Without its configuration, which holds secrets.",
      command: { name: "sessions show", description: "Show a session." }
    },
    ({ admin }, { path }) => admin.sessions.find(path.id)
  ),
  forOperator(
    Endpoint.patch("changeSession", "/admin/v1/sessions/:id")
      .setPath(id)
      .setPayload(Schema.Struct({ name: optional(Name), ...settings, blocked_until: optional(BlockEnd) })),
    Session,
    {
      summary: "Change a session",
      description: "What is absent stays as it was, in `config`, too, where null takes a member away.",
      request: { name: example.name, pacing: { messages_per_second: null }, retry_for: 3600 },
      command: {
        name: "sessions change",
        description: "Change a session, and what it names of its configuration."
      }
    },
    ({ admin }, { path, payload }) => admin.sessions.change(path.id, settingsOf(payload)),
    ({ admin }, { path, payload }) =>
      path === undefined ? [] : admin.sessions.changeFaults(path.id, settingsOf(payload))
  ),
  forOperator(
    Endpoint.post("connect", "/admin/v1/sessions/:id/connect").setPath(id),
    Session,
    {
      summary: "Connect a session",
      description:
        "Asks the platform first: where it does not know us the session stays disconnected, and `reason` says why. Ends an outage (`unavailable_since`). Where the platform does not answer, a connected session stays as it is.",
      command: { name: "sessions connect", description: "Connect a session to its platform." }
    },
    ({ admin }, { path }) => admin.sessions.connect(path.id)
  ),
  forOperator(
    Endpoint.post("disconnect", "/admin/v1/sessions/:id/disconnect").setPath(id),
    one("session", session, { ...example, state: "disconnected", reason: "operator", connected_since: null }),
    {
      summary: "Disconnect a session",
      description: "Its jobs pause, and its keys are refused with `session_disconnected`.",
      command: { name: "sessions disconnect", description: "Disconnect a session." }
    },
    ({ admin }, { path }) => admin.sessions.disconnect(path.id)
  ),
  forOperator(
    Endpoint.get("unreadHooks", "/admin/v1/sessions/:id/hooks/unread").setPath(id).setUrlParams(Paging),
    pageOf("unread", unreadHook, {
      id: Examples.ids.unattributed,
      field: "calls",
      reason: "this kind of news is not known",
      content: '{"field":"calls","value":{"calls":[]}}',
      is_cut: false,
      received_at: Examples.at
    }),
    {
      summary: "List what came to a session's hook and was not understood",
      description:
        "Newest first, as it came, for 30 days, and the newest 10,000 of a session. What came beside it was applied.",
      command: {
        name: "sessions unread",
        description: "List what came to a session's hook and was not understood."
      }
    },
    ({ admin }, { page, path }) => admin.sessions.unreadHooks(path.id, page)
  )
]
