/** API keys of a session, and their secrets (contract.md §8). */
import * as Schema from "effect/Schema"
import { ApiKey as Domain } from "../index.ts"
import { list, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { answer, forOperator, one, pageOf } from "./Operation.ts"
import { id, Name, overlap, Paging, Rotation } from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

const key = struct(
  {
    public_key: Wire.Text,
    session_id: Wire.Id,
    name: Wire.NullableText,
    permissions: Schema.Array(Wire.Permission),
    status: Wire.KeyStatus,
    secrets: list(Wire.Secret),
    created_at: Wire.Time,
    last_used_at: Wire.NullableTime
  },
  "ApiKey"
)

const publicKey = Schema.Struct({
  publicKey: Schema.String.annotations({ description: "The public key, `pk_` and 22 letters and digits." })
})

const Permissions = Schema.Array(Schema.Literal(...Domain.permissions)).pipe(
  Schema.maxItems(Domain.permissions.length)
)

const example: typeof key.schema.Type = {
  public_key: Examples.publicKey,
  session_id: Examples.ids.session,
  name: "Web shop",
  permissions: ["messages:send", "jobs:read"],
  status: "active",
  secrets: [{ created_at: Examples.at, expires_at: null }],
  created_at: Examples.at,
  last_used_at: null
}

/** The secret is shown once. */
const issued = answer(struct({ ok: Wire.isOk, key, secret_key: Wire.Text }), {
  ...Wire.ok,
  key: example,
  secret_key: "sk_WmZq4cX1tB8nJ0vLr5KyPd2HfGs7QaEu9TiOw3YxMbN_0kQ3zT"
})

const allKeys = Endpoint.get("allKeys", "/admin/v1/keys").setUrlParams(Paging)

export const admin = [
  forOperator(
    Endpoint.post("issueKey", "/admin/v1/sessions/:id/keys")
      .setPath(id)
      .setPayload(Schema.Struct({ name: optional(Name), permissions: optional(Permissions) })),
    issued,
    {
      summary: "Issue an API key",
      description:
        "`secret_key` is shown now and never again. Without `permissions` the key has all of them.",
      status: 201,
      request: { name: "Web shop", permissions: example.permissions },
      command: { name: "keys issue", description: "Issue a key; its secret is shown once." }
    },
    ({ admin }, { path, payload }) => admin.keys.issue(path.id, payload)
  ),
  forOperator(
    Endpoint.get("keys", "/admin/v1/sessions/:id/keys").setPath(id).setUrlParams(Paging),
    pageOf("keys", key, example),
    {
      summary: "List a session's API keys",
      description: "Without their secrets.",
      command: { name: "keys list", description: "List a session's keys." }
    },
    ({ admin }, { page, path }) => admin.keys.list(path.id, page)
  ),
  forOperator(
    allKeys,
    pageOf("keys", key, example),
    {
      summary: "List API keys of all sessions",
      description: "Newest first, without their secrets.",
      command: { name: "keys all", description: "List keys of all sessions." }
    },
    ({ admin }, { page }) => admin.keys.all(page)
  ),
  forOperator(
    Endpoint.post("rotateKey", "/admin/v1/keys/:publicKey/rotate").setPath(publicKey).setPayload(Rotation),
    issued,
    {
      summary: "Give an API key a new secret",
      description:
        "The old one lives on for `overlap_seconds`: a day unless said otherwise, 0 ends it at once.",
      request: { overlap_seconds: 3600 },
      command: { name: "keys rotate", description: "Give a key a new secret, shown once." }
    },
    ({ admin }, { path, payload }) => admin.keys.rotate(path.publicKey, overlap(payload))
  ),
  forOperator(
    Endpoint.post("revokeKey", "/admin/v1/keys/:publicKey/revoke").setPath(publicKey),
    one("key", key, { ...example, status: "revoked" }),
    {
      summary: "Revoke an API key",
      description: "At once, and for good.",
      command: { name: "keys revoke", description: "Revoke a key for good." }
    },
    ({ admin }, { path }) => admin.keys.revoke(path.publicKey)
  ),
  forOperator(
    Endpoint.patch("changeKey", "/admin/v1/keys/:publicKey")
      .setPath(publicKey)
      .setPayload(
        Schema.Struct({
          status: optional(Schema.Literal("active", "inactive")),
          permissions: optional(Permissions),
          name: optional(Name)
        })
      ),
    one("key", key, { ...example, permissions: ["jobs:read"] }),
    {
      summary: "Change an API key",
      description: "What is absent stays as it was. A revoked key stays revoked.",
      request: { permissions: ["jobs:read"] },
      command: { name: "keys change", description: "Change a key." }
    },
    ({ admin }, { path, payload }) => admin.keys.change(path.publicKey, payload)
  )
]
