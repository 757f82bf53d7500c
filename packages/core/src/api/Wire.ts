/** Parts of bodies that several aggregates share. Times on the wire are text. */
import * as Schema from "effect/Schema"
import type { Session } from "../index.ts"
import { ApiKey as ApiKeys, EventData, Fault as Faults, Instant, Recipient } from "../index.ts"
import { codec, computed, nullOr, struct } from "./Codec.ts"
import { plainly } from "./Texts.ts"

/** As the description says it. */
export const apiVersion = "1.0.0"

export const ok = { ok: true } as const
export const Ok = Schema.Literal(true)
/** The member `ok` of an answer that is made as a whole. */
export const isOk = computed(Ok, () => true as const)

export const Text = Schema.String
export const NullableText = Schema.NullOr(Schema.String)
export const Count = Schema.Int.annotations({ jsonSchema: { type: "integer", minimum: 0 } })
export const Id = Schema.String.annotations({ jsonSchema: { format: "uuid" } })
/** A sum may have more digits than a price. */
export const Amount = plainly(Schema.String.annotations({ jsonSchema: { pattern: "^[0-9]+([.][0-9]+)?$" } }))
export const NullableAmount = Schema.NullOr(Amount)
/** Of a machine. */
export const NullableAddress = Schema.NullOr(plainly(Schema.String))
export const NextCursor = Schema.NullOr(plainly(Schema.String))

/** RFC 3339, UTC, milliseconds. */
const TimeText = Schema.String.annotations({ jsonSchema: { format: "date-time" } }).pipe(
  Schema.brand("InstantText")
)
export const Time = codec(TimeText, Instant.format)
export const NullableTime = nullOr(Time)
export const describedTime = (description: string): typeof NullableTime => ({
  ...NullableTime,
  schema: NullableTime.schema.annotations({ description })
})

/** A time that is judged with its item: a wrong one is told in the item's result, so that no form of it is described. */
export const TimeOfItem = Schema.String.annotations({
  description: "An RFC 3339 date-time that is not in the future; now when absent."
})

/** How many a list has. */
export const Counted = struct(
  {
    ok: isOk,
    count: Count.annotations({ description: "1,000 at most." }),
    is_exact: Schema.Boolean.annotations({ description: "false where there may be more." })
  },
  "Counted"
)

export const Links = Schema.Struct({
  status: Text.annotations({
    description:
      "Where to read it: the path that the server is asked, with the prefix below which the API is mounted. A path that a proxy removes comes before it."
  })
})

export const SessionState = Schema.Literal("connected", "connecting", "disconnected")
export const unavailable = computed(
  NullableTime.schema.annotations({
    description: "Since when the platform does not answer; its jobs wait. null while it does."
  }),
  ({ outage }: Session.Session, prefix) => NullableTime.of(outage?.since ?? null, prefix)
)

export const Permission = Schema.Literal(...ApiKeys.permissions)
export const KeyStatus = Schema.Literal("active", "inactive", "revoked")

/** When a secret was made and until when it is accepted; null while it is the newest. Without its hash. */
export const Secret = struct({ created_at: Time, expires_at: NullableTime })

export const RecipientStatus = Schema.Literal(...Recipient.statuses)
export const Failure = Schema.NullOr(EventData.Failure)

export const Fault = codec(
  Schema.Struct({
    pointer: Text.annotations({ description: "An RFC 6901 pointer to the field." }),
    code: Schema.Literal(...Faults.codes),
    message: Text.annotations({ description: "Says what would be right." })
  }).annotations({ identifier: "Fault" }),
  (found: Faults.Fault) => ({ pointer: Faults.pointer(found), code: found.code, message: found.message })
)

/** Faults as answers tell them, without links. */
export const faults = (found: ReadonlyArray<Faults.Fault>): ReadonlyArray<typeof Fault.schema.Type> =>
  found.map((fault) => Fault.of(fault, ""))
