/** Secrets that are encrypted at rest, and the master keys that they need (decisions.md §8). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type { Secrets } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { codec } from "./Codec.ts"
import { answer, forOperator } from "./Operation.ts"
import * as Wire from "./Wire.ts"

const SealedCounts = Schema.Struct({ sessions: Wire.Count, webhooks: Wire.Count })

const Resealed = Schema.Struct({
  ok: Wire.Ok,
  secrets: Schema.Struct({
    key: Wire.Text,
    resealed: SealedCounts,
    unreadable: SealedCounts,
    retired: Schema.Array(Wire.Text),
    older_keys: Schema.Array(Wire.Text),
    api_keys_left: Wire.Count,
    operators_left: Wire.Count,
    detail: Wire.Text
  }),
  /** With `list=true`. */
  api_keys: Schema.optional(
    Schema.Array(
      Schema.Struct({
        public_key: Wire.Text,
        session_id: Wire.Id,
        name: Wire.NullableText,
        status: Wire.KeyStatus,
        last_used_at: Wire.NullableTime.schema,
        /** Ids of master keys; null for a hash that does not name its key. */
        older_keys: Schema.Array(Wire.NullableText)
      })
    )
  )
}).annotations({ identifier: "Resealed" })

/** The operator's next step. */
const afterReseal = ({ apiKeys, olderKeys, operators, unreadable }: Secrets.Resealed): string => {
  const lost = unreadable.session + unreadable.webhook
  const first =
    lost === 0
      ? ""
      : `${lost} secret(s) are under no key that was given: give their key, too, or set them anew. `
  if (apiKeys > 0) {
    return `${first}${apiKeys} API key(s) still need an older master key; each moves when it is next used. Rotate or revoke those that are not used (--list names them), and repeat this.`
  }
  if (operators > 0) {
    return `${first}${operators} operator(s) still need an older master key; each moves when it is next used. Rotate or revoke those that are not used, and repeat this.`
  }
  return olderKeys.length > 0
    ? `${first}The current master key is too new to give up an older one: repeat this in half a minute.`
    : `${first}Nothing needs an older master key: leave it out of SECRET_KEY.`
}

interface Found {
  readonly found: Secrets.Resealed
  readonly isListed: boolean
}

const resealed = codec(Resealed, ({ found, isListed }: Found) => ({
  ...Wire.ok,
  secrets: {
    key: found.key,
    resealed: { sessions: found.resealed.session, webhooks: found.resealed.webhook },
    unreadable: { sessions: found.unreadable.session, webhooks: found.unreadable.webhook },
    retired: found.retired,
    older_keys: found.olderKeys,
    api_keys_left: found.apiKeys,
    operators_left: found.operators,
    detail: afterReseal(found)
  },
  ...(isListed
    ? {
        api_keys: found.dependents.map(({ apiKey, keys }) => ({
          public_key: apiKey.publicKey,
          session_id: apiKey.sessionId,
          name: apiKey.name,
          status: apiKey.status,
          last_used_at: Wire.NullableTime.of(apiKey.lastUsedAt),
          older_keys: keys
        }))
      }
    : {})
}))

export const admin = [
  forOperator(
    HttpApiEndpoint.post("resealSecrets", "/admin/v1/secrets/reseal").setUrlParams(
      Schema.Struct({
        list: Schema.optional(
          Schema.Literal("true").annotations({ description: "Lists the API keys that need an older key." })
        )
      })
    ),
    answer(resealed, {
      ...Wire.ok,
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
    }),
    {
      summary: "Encrypt every secret with the first master key",
      description: "Tells what still needs an older one. With `list=true` it lists the API keys that do.",
      command: {
        name: "secrets reseal",
        description:
          "Encrypt everything anew under the first key of SECRET_KEY, and tell what still needs another (--list: which API keys)."
      }
    },
    ({ admin }, { query }) =>
      Effect.map(admin.secrets.reseal, (found) => ({ found, isListed: query.list === "true" }))
  )
]
