/** Secrets that are encrypted at rest, and the master keys that they need (contract.md §8). */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import type { Secrets } from "../index.ts"
import { codec, computed, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import { answer, forOperator } from "./Operation.ts"
import * as Wire from "./Wire.ts"

/** The operator's next step. */
const afterReseal = ({ apiKeys, olderKeys, operators, unreadable }: Secrets.Resealed): string => {
  const lost = unreadable.session + unreadable.webhook + unreadable.erasure
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

const counts = struct({
  sessions: computed(Wire.Count, ({ session }: Secrets.Resealed["resealed"]) => session),
  webhooks: computed(Wire.Count, ({ webhook }: Secrets.Resealed["resealed"]) => webhook),
  erasures: computed(Wire.Count, ({ erasure }: Secrets.Resealed["resealed"]) => erasure)
})

const secrets = struct({
  key: Wire.Text,
  resealed: counts,
  unreadable: counts,
  retired: Schema.Array(Wire.Text),
  older_keys: Schema.Array(Wire.Text),
  api_keys_left: computed(Wire.Count, ({ apiKeys }: Secrets.Resealed) => apiKeys),
  operators_left: computed(Wire.Count, ({ operators }: Secrets.Resealed) => operators),
  detail: computed(Wire.Text, afterReseal)
})

const dependent = struct({
  public_key: Wire.Text,
  session_id: Wire.Id,
  name: Wire.NullableText,
  status: Wire.KeyStatus,
  last_used_at: Wire.NullableTime,
  /** Ids of master keys; null for a hash that does not name its key. */
  older_keys: Schema.Array(Wire.NullableText)
})

const resealed = codec(
  Schema.Struct({
    ok: Wire.Ok,
    secrets: secrets.schema,
    /** With `list=true`. */
    api_keys: Schema.optional(Schema.Array(dependent.schema))
  }).annotations({ identifier: "Resealed" }),
  ({ found, isListed }: { readonly found: Secrets.Resealed; readonly isListed: boolean }, prefix) => ({
    ...Wire.ok,
    secrets: secrets.of(found, prefix),
    ...(isListed
      ? {
          api_keys: found.dependents.map(({ apiKey, keys }) =>
            dependent.of({ ...apiKey, olderKeys: keys }, prefix)
          )
        }
      : {})
  })
)

export const admin = [
  forOperator(
    Endpoint.post("resealSecrets", "/admin/v1/secrets/reseal").setUrlParams(
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
        resealed: { sessions: 0, webhooks: 0, erasures: 0 },
        unreadable: { sessions: 0, webhooks: 0, erasures: 0 },
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
