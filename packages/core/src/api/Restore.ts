/** A store that was restored from a backup, and what becomes of what was open before (contract.md §11). */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Restore as Domain, Errors, Fault, type RestoreDecision } from "../index.ts"
import { computed, part, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { forOperator, one } from "./Operation.ts"
import * as Wire from "./Wire.ts"

const Decision = Schema.Struct({
  open: Schema.optional(
    Schema.Literal(...Domain.ways).annotations({
      description:
        "What becomes of what was open before the restore. Without it nothing is changed, and what would be sent is counted."
    })
  ),
  dry_run: Schema.optional(Schema.Boolean),
  hold: Schema.optional(
    Schema.Literal(true).annotations({
      description: "Holds the store, for a copy that cannot be told. Not with `open` or `dry_run`."
    })
  )
})

const detailOf = ({ dryRun, isQuarantined, quarantine }: RestoreDecision.Answer): string => {
  if (quarantine === null) return "The store is not held: nothing was done."
  if (dryRun) return "Nothing was changed: the store is held until the same is asked without dry_run."
  return isQuarantined ? Domain.describe(quarantine) : "The store is held no more: what is due is sent."
}

const decided = struct({
  held: computed(Schema.Boolean, ({ isQuarantined }: RestoreDecision.Answer) => isQuarantined),
  reason: computed(
    Schema.NullOr(Schema.Literal(...Domain.reasons)),
    ({ quarantine }: RestoreDecision.Answer) => quarantine?.reason ?? null
  ),
  since: part(Wire.NullableTime, ({ quarantine }: RestoreDecision.Answer) => quarantine?.since ?? null),
  dry_run: Schema.Boolean,
  counts: Schema.Struct({
    jobs: Wire.Count,
    unknown: Wire.Count,
    canceled: Wire.Count,
    sent: Wire.Count
  }),
  detail: computed(Wire.Text, detailOf)
})

/** Without `open` nothing is opened: it is counted what would be sent. */
const commandOf = ({
  dry_run: dryRun,
  hold,
  open
}: typeof Decision.Type): Effect.Effect<RestoreDecision.Command, Errors.InvalidRequest> => {
  if (hold === undefined)
    return Effect.succeed({ open: open ?? "send", dryRun: open === undefined || dryRun })
  const message = "`hold` goes with neither `open` nor `dry_run`: give one of them."
  return open === undefined && dryRun === undefined
    ? Effect.succeed({ quarantine: hold })
    : Effect.fail(new Errors.InvalidRequest({ faults: [Fault.make(["hold"], "invalid_value", message)] }))
}

const example: typeof decided.schema.Type = {
  held: true,
  reason: "older",
  since: Examples.at,
  dry_run: true,
  counts: { jobs: 2, unknown: 370, canceled: 0, sent: 0 },
  detail: "Nothing was changed: the store is held until the same is asked without dry_run."
}

export const admin = [
  forOperator(
    Endpoint.post("restore", "/admin/v1/restore").setPayload(Decision),
    one("restore", decided, example, "RestoreDecided"),
    {
      summary: "Let a restored store send again, or hold it",
      description:
        "A store that was restored from a backup, or is elsewhere than it was, is held: it accepts template sends, hooks and consents, and sends nothing. `open` ends that, for all that was open before: with `unknown` it ends so, by the code `restored`; with `cancel` it is canceled, but for what was under way when the backup was made, which is `unknown`; with `send` it is sent, and those who got it since the backup get it twice, unless their platform deduplicates. What was accepted while the store was held is sent in any case. Record the opt-outs that came since the backup first. What is interrupted goes on when it is repeated, in the way that it began: another one is refused; a store that is not held stays as it is.",
      request: { open: "unknown", dry_run: true },
      command: {
        name: "restore",
        description:
          "Let a restored store send again: what was open before becomes --open unknown or cancel (canceled), or is sent (--open send). --dry-run true only counts. --hold holds a store that cannot tell that it was restored."
      }
    },
    ({ admin }, { payload }) => Effect.flatMap(commandOf(payload), admin.restore.decide)
  )
]
