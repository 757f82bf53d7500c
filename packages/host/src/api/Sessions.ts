/** Sessions: connections of an account to a platform (decisions.md §8). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as ClosedMarkets from "@sendwright/core/ClosedMarkets"
import * as Instant from "@sendwright/core/Instant"
import * as Keywords from "@sendwright/core/Keywords"
import * as Retry from "@sendwright/core/Retry"
import * as Domain from "@sendwright/core/Session"
import * as Template from "@sendwright/core/Template"
import type * as UnreadHook from "@sendwright/core/UnreadHook"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { forOperator } from "./Operation.ts"
import { id, Name, Paging, Provider, page } from "./Parameters.ts"
import {
  Count,
  Id,
  NextCursor,
  NullableText,
  NullableTime,
  Ok,
  ok,
  SessionState,
  Text,
  Time,
  time,
  timeOrNull,
  Unavailable,
  type View
} from "./Wire.ts"

const optional = Schema.optional

const ClosedMarket = Schema.Struct({
  category: Template.Category,
  prefixes: Schema.Array(Text)
}).annotations({ identifier: "ClosedMarket" })

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
  closed_markets: Schema.NullOr(Schema.Array(ClosedMarket)).annotations({
    description: "null: those of the provider."
  }),
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

/** Without its configuration, which holds secrets. */
const session = (found: Domain.Session): View<typeof SessionBody> => ({
  id: found.id,
  account_id: found.accountId,
  name: found.name,
  provider: found.provider,
  pacing: found.pacing,
  retry_for: Domain.retryFor(found),
  closed_markets: found.closedMarkets,
  keywords: found.keywords,
  state: found.state,
  reason: found.reason,
  blocked_until: timeOrNull(found.blockedUntil),
  unavailable_since: timeOrNull(found.outage?.since ?? null),
  next_probe_at: timeOrNull(found.outage?.probeAt ?? null),
  connected_since: timeOrNull(found.connectedSince),
  created_at: time(found.createdAt),
  updated_at: time(found.updatedAt)
})

const Session = Schema.Struct({ ok: Ok, session: SessionBody })
const Sessions = Schema.Struct({ ok: Ok, sessions: Schema.Array(SessionBody), next_cursor: NextCursor })

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

const NewSession = Schema.Struct({
  name: Name,
  provider: Provider,
  config: optional(Configuration),
  pacing: optional(PacingChange),
  retry_for: optional(RetryFor),
  closed_markets: optional(ClosedMarketsChange),
  keywords: optional(KeywordsChange)
})

const SessionChange = Schema.Struct({
  name: optional(Name),
  pacing: optional(PacingChange),
  retry_for: optional(RetryFor),
  closed_markets: optional(ClosedMarketsChange),
  keywords: optional(KeywordsChange),
  config: optional(Configuration)
})

const UnreadHookBody = Schema.Struct({
  id: Id,
  field: Text.annotations({ description: "The platform's name for this kind of news." }),
  reason: Text,
  content: Text.annotations({
    description:
      "The JSON as it came, of at most 16 KiB; texts of the session's configuration are hidden in it."
  }),
  is_cut: Schema.Boolean.annotations({ description: "True when `content` is only the beginning." }),
  received_at: Time
}).annotations({ identifier: "UnreadHook" })

const unreadHook = (found: UnreadHook.UnreadHook): View<typeof UnreadHookBody> => ({
  id: found.id,
  field: found.field,
  reason: found.reason,
  content: found.content,
  is_cut: found.isCut,
  received_at: time(found.receivedAt)
})

const UnreadHooks = Schema.Struct({
  ok: Ok,
  unread: Schema.Array(UnreadHookBody),
  next_cursor: NextCursor
})

const { at, ids, session: example } = Examples

export const admin = [
  forOperator(
    HttpApiEndpoint.post("createSession", "/admin/v1/accounts/:id/sessions")
      .setPath(id)
      .setPayload(NewSession)
      .addSuccess(Session, { status: 201 }),
    {
      summary: "Create a session",
      description:
        "One connection of the account to a platform. A sandbox session starts connected; any other is to be connected.",
      request: { name: example.name, provider: "sandbox", pacing: { messages_per_second: 80 } },
      answer: { ...ok, session: example },
      refusals: ["not_found"],
      command: { name: "sessions create", description: "Create a session." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.sessions.create(path.id, payload), (found) =>
          reply({ ...ok, session: session(found) })
        ),
    ({ admin }) =>
      ({ payload }) =>
        Effect.succeed(admin.sessions.createFaults(payload))
  ),
  forOperator(
    HttpApiEndpoint.get("sessions", "/admin/v1/accounts/:id/sessions")
      .setPath(id)
      .setUrlParams(Paging)
      .addSuccess(Sessions),
    {
      summary: "List an account's sessions",
      description: "Without their configuration, which holds secrets.",
      answer: { ...ok, sessions: [example], next_cursor: null },
      refusals: ["not_found"],
      command: { name: "sessions list", description: "List an account's sessions." }
    },
    ({ admin }) =>
      ({ after, cursor, path, query }) =>
        Effect.map(admin.sessions.list(path.id, page(query, after)), ({ items, next }) =>
          reply({ ...ok, sessions: items.map(session), next_cursor: cursor(next) })
        )
  ),
  forOperator(
    HttpApiEndpoint.get("session", "/admin/v1/sessions/:id").setPath(id).addSuccess(Session),
    {
      summary: "Read a session",
      description: "Without its configuration, which holds secrets.",
      answer: { ...ok, session: example },
      refusals: ["not_found"],
      command: { name: "sessions show", description: "Show a session." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.sessions.find(path.id), (found) => reply({ ...ok, session: session(found) }))
  ),
  forOperator(
    HttpApiEndpoint.patch("changeSession", "/admin/v1/sessions/:id")
      .setPath(id)
      .setPayload(SessionChange)
      .addSuccess(Session),
    {
      summary: "Change a session",
      description: "What is absent stays as it was; a `config` replaces all of the old one.",
      request: { name: example.name, pacing: { messages_per_second: null }, retry_for: 3600 },
      answer: { ...ok, session: example },
      refusals: ["not_found"],
      command: { name: "sessions change", description: "Change a session; its configuration as a whole." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.sessions.change(path.id, payload), (found) =>
          reply({ ...ok, session: session(found) })
        ),
    ({ admin }) =>
      ({ path, payload }) =>
        path === undefined ? Effect.succeed([]) : admin.sessions.changeFaults(path.id, payload)
  ),
  forOperator(
    HttpApiEndpoint.post("connect", "/admin/v1/sessions/:id/connect").setPath(id).addSuccess(Session),
    {
      summary: "Connect a session",
      description:
        "Asks the platform first: where it does not know us the session stays disconnected, and `reason` says why. Ends an outage (`unavailable_since`). Where the platform does not answer, a connected session stays as it is.",
      answer: { ...ok, session: example },
      refusals: ["not_found"],
      command: { name: "sessions connect", description: "Connect a session to its platform." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.sessions.connect(path.id), (found) => reply({ ...ok, session: session(found) }))
  ),
  forOperator(
    HttpApiEndpoint.post("disconnect", "/admin/v1/sessions/:id/disconnect").setPath(id).addSuccess(Session),
    {
      summary: "Disconnect a session",
      description: "Its jobs pause, and its keys are refused with `session_disconnected`.",
      answer: {
        ...ok,
        session: { ...example, state: "disconnected", reason: "operator", connected_since: null }
      },
      refusals: ["not_found"],
      command: { name: "sessions disconnect", description: "Disconnect a session." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.sessions.disconnect(path.id), (found) => reply({ ...ok, session: session(found) }))
  ),
  forOperator(
    HttpApiEndpoint.get("unreadHooks", "/admin/v1/sessions/:id/hooks/unread")
      .setPath(id)
      .setUrlParams(Paging)
      .addSuccess(UnreadHooks),
    {
      summary: "List what came to a session's hook and was not understood",
      description:
        "Newest first, as it came, for 30 days, and the newest 10,000 of a session. What came beside it was applied.",
      answer: {
        ...ok,
        unread: [
          {
            id: ids.unattributed,
            field: "calls",
            reason: "this kind of news is not known",
            content: '{"field":"calls","value":{"calls":[]}}',
            is_cut: false,
            received_at: at
          }
        ],
        next_cursor: null
      },
      refusals: ["not_found"],
      command: {
        name: "sessions unread",
        description: "List what came to a session's hook and was not understood."
      }
    },
    ({ admin }) =>
      ({ after, cursor, path, query }) =>
        Effect.map(admin.sessions.unreadHooks(path.id, page(query, after)), ({ items, next }) =>
          reply({ ...ok, unread: items.map(unreadHook), next_cursor: cursor(next) })
        )
  )
]
