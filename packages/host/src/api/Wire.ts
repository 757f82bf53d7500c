/** Parts of bodies that several aggregates share: the schema of each, and its codec. Times on the wire are text. */
import * as ApiKeys from "@sendwright/core/ApiKey"
import * as EventData from "@sendwright/core/EventData"
import * as Faults from "@sendwright/core/Fault"
import * as Instant from "@sendwright/core/Instant"
import * as Recipient from "@sendwright/core/Recipient"
import * as Schema from "effect/Schema"

/** What a codec makes for a schema. */
export type View<S extends { readonly Type: unknown }> = S["Type"]

/** The cursor of a list's next page, from its position. */
export type Cursor = (next: number | null) => string | null

export const ok = { ok: true } as const
export const Ok = Schema.Literal(true)
export const Done = Schema.Struct({ ok: Ok })

export const Text = Schema.String
export const Links = Schema.Struct({
  status: Text.annotations({
    description:
      "Where to read it: a path to be put behind the address of this server, whatever path that has."
  })
})
export const NullableText = Schema.NullOr(Schema.String)
export const Count = Schema.Int.annotations({ jsonSchema: { type: "integer", minimum: 0 } })
export const Id = Schema.String.annotations({ jsonSchema: { format: "uuid" } })
/** A sum may have more digits than a price. */
export const Amount = Schema.String.annotations({ jsonSchema: { pattern: "^[0-9]+([.][0-9]+)?$" } })
export const NextCursor = Schema.NullOr(Schema.String)

/** RFC 3339, UTC, milliseconds. */
export const Time = Schema.String.annotations({ jsonSchema: { format: "date-time" } })
export const NullableTime = Schema.NullOr(Time)
export const time = Instant.format
export const timeOrNull = Instant.formatOrNull

export const SessionState = Schema.Literal("connected", "connecting", "disconnected")
export const Unavailable = NullableTime.annotations({
  description: "Since when the platform does not answer; its jobs wait. null while it does."
})

export const Permission = Schema.Literal(...ApiKeys.permissions)
export const KeyStatus = Schema.Literal("active", "inactive", "revoked")

/** When a secret was made and until when it is accepted; null while it is the newest. */
export const Secret = Schema.Struct({ created_at: Time, expires_at: NullableTime })

/** Without the secret's hash. */
export const secret = ({
  createdAt,
  expiresAt
}: Pick<ApiKeys.Secret, "createdAt" | "expiresAt">): View<typeof Secret> => ({
  created_at: time(createdAt),
  expires_at: timeOrNull(expiresAt)
})

export const RecipientStatus = Schema.Literal(...Recipient.statuses)
export const Failure = Schema.NullOr(EventData.Failure)

export const Fault = Schema.Struct({
  pointer: Text.annotations({ description: "An RFC 6901 pointer to the field." }),
  code: Schema.Literal(...Faults.codes),
  message: Text.annotations({ description: "Says what would be right." })
}).annotations({ identifier: "Fault" })

export const fault = (found: Faults.Fault): View<typeof Fault> => ({
  pointer: Faults.pointer(found),
  code: found.code,
  message: found.message
})
