/** API keys of a session, and their secrets (decisions.md §8). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as Domain from "@sendwright/core/ApiKey"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { forOperator } from "./Operation.ts"
import { id, Name, overlap, Paging, page, Rotation } from "./Parameters.ts"
import {
  Id,
  KeyStatus,
  NextCursor,
  NullableText,
  NullableTime,
  Ok,
  ok,
  Permission,
  Secret,
  secret,
  Text,
  Time,
  time,
  timeOrNull,
  type View
} from "./Wire.ts"

const optional = Schema.optional

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

const key = (found: Domain.ApiKey): View<typeof KeyBody> => ({
  public_key: found.publicKey,
  session_id: found.sessionId,
  name: found.name,
  permissions: found.permissions,
  status: found.status,
  secrets: found.secrets.map(secret),
  created_at: time(found.createdAt),
  last_used_at: timeOrNull(found.lastUsedAt)
})

const Key = Schema.Struct({ ok: Ok, key: KeyBody })
const Keys = Schema.Struct({ ok: Ok, keys: Schema.Array(KeyBody), next_cursor: NextCursor })

/** The secret is shown once. */
const IssuedKey = Schema.Struct({ ok: Ok, key: KeyBody, secret_key: Text })

const issuedKey = (issued: {
  readonly key: Domain.ApiKey
  readonly secretKey: string
}): View<typeof IssuedKey> => ({ ...ok, key: key(issued.key), secret_key: issued.secretKey })

const publicKey = Schema.Struct({
  publicKey: Schema.String.annotations({ description: "The public key, `pk_` and 22 letters and digits." })
})

const Permissions = Schema.Array(Schema.Literal(...Domain.permissions)).pipe(
  Schema.maxItems(Domain.permissions.length)
)

const example: View<typeof KeyBody> = {
  public_key: "pk_4fT0aZqL9xYw2RkVb7NcHd",
  session_id: Examples.ids.session,
  name: "Web shop",
  permissions: ["messages:send", "jobs:read"],
  status: "active",
  secrets: [{ created_at: Examples.at, expires_at: null }],
  created_at: Examples.at,
  last_used_at: null
}
const exampleSecret = "sk_WmZq4cX1tB8nJ0vLr5KyPd2HfGs7QaEu9TiOw3YxMbN_0kQ3zT"

export const admin = [
  forOperator(
    HttpApiEndpoint.post("issueKey", "/admin/v1/sessions/:id/keys")
      .setPath(id)
      .setPayload(Schema.Struct({ name: optional(Name), permissions: optional(Permissions) }))
      .addSuccess(IssuedKey, { status: 201 }),
    {
      summary: "Issue an API key",
      description:
        "`secret_key` is shown now and never again. Without `permissions` the key has all of them.",
      request: { name: "Web shop", permissions: example.permissions },
      answer: { ...ok, key: example, secret_key: exampleSecret },
      refusals: ["not_found"],
      command: { name: "keys issue", description: "Issue a key; its secret is shown once." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.keys.issue(path.id, payload), (issued) => reply(issuedKey(issued)))
  ),
  forOperator(
    HttpApiEndpoint.get("keys", "/admin/v1/sessions/:id/keys")
      .setPath(id)
      .setUrlParams(Paging)
      .addSuccess(Keys),
    {
      summary: "List a session's API keys",
      description: "Without their secrets.",
      answer: { ...ok, keys: [example], next_cursor: null },
      refusals: ["not_found"],
      command: { name: "keys list", description: "List a session's keys." }
    },
    ({ admin }) =>
      ({ after, cursor, path, query }) =>
        Effect.map(admin.keys.list(path.id, page(query, after)), ({ items, next }) =>
          reply({ ...ok, keys: items.map(key), next_cursor: cursor(next) })
        )
  ),
  forOperator(
    HttpApiEndpoint.post("rotateKey", "/admin/v1/keys/:publicKey/rotate")
      .setPath(publicKey)
      .setPayload(Rotation)
      .addSuccess(IssuedKey),
    {
      summary: "Give an API key a new secret",
      description:
        "The old one lives on for `overlap_seconds`: a day unless said otherwise, 0 ends it at once.",
      request: { overlap_seconds: 3600 },
      answer: { ...ok, key: example, secret_key: exampleSecret },
      refusals: ["not_found"],
      command: { name: "keys rotate", description: "Give a key a new secret, shown once." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.keys.rotate(path.publicKey, overlap(payload)), (issued) => reply(issuedKey(issued)))
  ),
  forOperator(
    HttpApiEndpoint.post("revokeKey", "/admin/v1/keys/:publicKey/revoke").setPath(publicKey).addSuccess(Key),
    {
      summary: "Revoke an API key",
      description: "At once, and for good.",
      answer: { ...ok, key: { ...example, status: "revoked" } },
      refusals: ["not_found"],
      command: { name: "keys revoke", description: "Revoke a key for good." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.keys.revoke(path.publicKey), (found) => reply({ ...ok, key: key(found) }))
  ),
  forOperator(
    HttpApiEndpoint.patch("changeKey", "/admin/v1/keys/:publicKey")
      .setPath(publicKey)
      .setPayload(
        Schema.Struct({
          status: optional(Schema.Literal("active", "inactive")),
          permissions: optional(Permissions),
          name: optional(Name)
        })
      )
      .addSuccess(Key),
    {
      summary: "Change an API key",
      description: "What is absent stays as it was. A revoked key stays revoked.",
      request: { permissions: ["jobs:read"] },
      answer: { ...ok, key: { ...example, permissions: ["jobs:read"] } },
      refusals: ["not_found"],
      command: { name: "keys change", description: "Change a key." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.keys.change(path.publicKey, payload), (found) => reply({ ...ok, key: key(found) }))
  )
]
