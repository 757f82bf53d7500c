/** Operators of the admin API, and the audit log of their acts (docs/operators.md). */
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { Text as TextRules } from "../adapter.ts"
import { Operator as Domain } from "../index.ts"
import { computed, list, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { answer, forOperator, one, pageOf } from "./Operation.ts"
import { about, checkPeriods, overlap, Paging, paging, Rotation, TimeText, timeOf } from "./Parameters.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

const operator = struct(
  {
    name: Wire.Text,
    role: Schema.Literal(...Domain.roles),
    mask_phones: computed(Schema.Boolean, ({ masksPhones }: Domain.Operator) => masksPhones),
    status: Schema.Literal(...Domain.statuses),
    secrets: list(Wire.Secret),
    created_at: Wire.Time,
    last_used_at: Wire.NullableTime
  },
  "Operator"
)

const name = Schema.Struct({ name: Schema.String.annotations({ description: "The operator's name." }) })

/** The fields of a thing that are shown, by the names that they have elsewhere in the API; never a secret. */
const Shown = Schema.NullOr(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const auditEntry = struct(
  {
    id: Wire.Text,
    at: Wire.Time,
    operator: Wire.Text,
    operation: Wire.Text,
    target: Wire.NullableText,
    address: Wire.NullableAddress,
    request_id: Wire.NullableText,
    before: Shown,
    after: Shown
  },
  "AuditEntry"
)

const line = (description: string) =>
  optional(TextRules.line(255).annotations({ jsonSchema: { description } }))
const time = (description: string) => optional(about(TimeText, description))

const AuditFilter = Schema.Struct({
  ...paging,
  operator: line("Only acts of this operator."),
  operation: line("Only acts of this kind, such as `accounts.change`."),
  target: line("Only acts on what has this id."),
  from: time("Only acts at this time or later."),
  to: time("Only acts before this time.")
})

const example: typeof operator.schema.Type = {
  name: "ana",
  role: "read",
  mask_phones: false,
  status: "active",
  secrets: [{ created_at: Examples.at, expires_at: null }],
  created_at: Examples.at,
  last_used_at: null
}

/** The token is shown once. */
const appointed = answer(struct({ ok: Wire.isOk, operator, token: Wire.Text }), {
  ...Wire.ok,
  operator: example,
  token: "op_ana_WmZq4cX1tB8nJ0vLr5KyPd2HfGs7QaEu9TiOw3YxMbN_0kQ3zT"
})

export const admin = [
  forOperator(
    Endpoint.post("createOperator", "/admin/v1/operators").setPayload(
      Schema.Struct({
        name: Schema.String.pipe(Schema.filter(Domain.isName, { description: Domain.nameRule })),
        role: Schema.Literal(...Domain.roles),
        mask_phones: optional(
          Schema.Boolean.annotations({
            description: "true: it sees people's numbers as `+34 600 ··· 234`. Only of the role `read`."
          })
        )
      })
    ),
    appointed,
    {
      summary: "Make an operator",
      description:
        "The token is shown once. The role `metrics` reads the metrics, `read` also everything that the admin API tells; `support` also records refusals, dismisses doubtful texts, sends again, replays, pauses, resumes and cancels; `admin` does everything. Names are unique for good.",
      status: 201,
      request: { name: "ana", role: "read" },
      command: { name: "operators create", description: "Make an operator; its token is shown once." }
    },
    ({ admin }, { payload: { mask_phones: masksPhones, name, role } }) =>
      admin.operators.create({ name, role, masksPhones })
  ),
  forOperator(
    Endpoint.get("operators", "/admin/v1/operators").setUrlParams(Paging),
    pageOf("operators", operator, example),
    {
      summary: "List the operators, newest first",
      description: "Without their tokens: `secrets` tells when each was made and until when it is accepted.",
      command: { name: "operators list", description: "List the operators." }
    },
    ({ admin }, { page }) => admin.operators.list(page)
  ),
  forOperator(
    Endpoint.post("rotateOperator", "/admin/v1/operators/:name/rotate").setPath(name).setPayload(Rotation),
    appointed,
    {
      summary: "Give an operator a new token",
      description:
        "The new token is shown once. Old ones are accepted for `overlap_seconds`, a day unless said otherwise; two at most, so that a further rotation ends the oldest.",
      request: { overlap_seconds: 3600 },
      command: { name: "operators rotate", description: "Give an operator a new token, shown once." }
    },
    ({ admin }, { path, payload }) => admin.operators.rotate(path.name, overlap(payload))
  ),
  forOperator(
    Endpoint.post("revokeOperator", "/admin/v1/operators/:name/revoke").setPath(name),
    one("operator", operator, { ...example, status: "revoked" }),
    {
      summary: "Revoke an operator for good",
      description: "Its tokens open nothing from then on, and its name is given to nobody else.",
      command: { name: "operators revoke", description: "Revoke an operator for good." }
    },
    ({ admin }, { path }) => admin.operators.revoke(path.name)
  ),
  forOperator(
    Endpoint.get("audit", "/admin/v1/audit").setUrlParams(AuditFilter),
    pageOf("entries", auditEntry, {
      id: Examples.ids.auditEntry,
      at: Examples.at,
      operator: "ADMIN_TOKEN",
      operation: "accounts.change",
      target: Examples.ids.account,
      address: "203.0.113.7",
      request_id: Examples.ids.request,
      before: { name: "My shop" },
      after: { name: "Our shop" }
    }),
    {
      summary: "List what operators did, newest first",
      description:
        "An entry is written in the commit of its act: `operation` such as `accounts.change`, `target` the id of what it was done to, and what that was before and after, without secrets. `from` is inclusive, `to` is not.",
      command: {
        name: "audit",
        description: "List what operators did, newest first.",
        columns: ["at", "operator", "operation", "target", "address"]
      }
    },
    ({ admin }, { page, query }) => {
      const { from, operation, operator, target, to } = query
      return Effect.zipRight(
        checkPeriods(query, ["from", "to"]),
        admin.audit.list({ page, operation, operator, target, from: timeOf(from), to: timeOf(to) })
      )
    }
  )
]
