/** The configuration of a `whatsapp_cloud` session. */
import * as Schema from "effect/Schema"
import * as Text from "../../domain/Text.ts"
import * as Configuration from "../Configuration.ts"

const digits = Schema.String.pipe(Schema.pattern(/^[0-9]{1,32}$/, { message: () => "digits" }))

const secret = Text.between(1, 512)

const Config = Schema.Struct({
  phone_number_id: digits,
  waba_id: digits,
  access_token: Text.between(1, 2048),
  app_secret: secret,
  /** Others that sign the hooks, too: the one before or after a change, or those of other apps. */
  app_secrets: Schema.optional(Schema.Array(secret).pipe(Schema.maxItems(5))),
  verify_token: Text.between(1, 512),
  api_version: Schema.optionalWith(Schema.String.pipe(Schema.pattern(/^v[0-9]{1,3}\.[0-9]{1,3}$/)), {
    default: () => "v23.0"
  }),
  base_url: Schema.optionalWith(Schema.String, { default: () => "https://graph.facebook.com" }),
  messages_per_second: Schema.optionalWith(Schema.Number.pipe(Schema.between(1, 1000)), {
    default: () => 80
  }),
  /** Within which user ids mean somebody: accounts of one portfolio share theirs. Without it, those of one account do. */
  portfolio_id: Schema.optional(digits)
})
export type Config = typeof Config.Type

export const { decode, read } = Configuration.make(Config)

export const urlOf = ({ api_version, base_url }: Config, path: string): string =>
  `${base_url.replace(/\/+$/, "")}/${api_version}/${path}`
