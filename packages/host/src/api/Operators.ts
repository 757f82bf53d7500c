/** Operators of the admin API, and the audit log of their acts (docs/operators.md). */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import type * as Audit from "@sendwright/core/Audit"
import * as Instant from "@sendwright/core/Instant"
import { Text as TextRules } from "@sendwright/core/internal"
import * as Domain from "@sendwright/core/Operator"
import * as Effect from "effect/Effect"
import * as Schema from "effect/Schema"
import { reply } from "../http/Route.ts"
import * as Examples from "./Examples.ts"
import { forOperator } from "./Operation.ts"
import { overlap, Paging, page, paging, Rotation, TimeText } from "./Parameters.ts"
import {
  NextCursor,
  NullableText,
  NullableTime,
  Ok,
  ok,
  Secret,
  secret,
  Text,
  Time,
  time,
  timeOrNull,
  type View
} from "./Wire.ts"

const optional = Schema.optional

const OperatorBody = Schema.Struct({
  name: Text,
  role: Schema.Literal(...Domain.roles),
  status: Schema.Literal(...Domain.statuses),
  secrets: Schema.Array(Secret),
  created_at: Time,
  last_used_at: NullableTime
}).annotations({ identifier: "Operator" })

const operator = (found: Domain.Operator): View<typeof OperatorBody> => ({
  name: found.name,
  role: found.role,
  status: found.status,
  secrets: found.secrets.map(secret),
  created_at: time(found.createdAt),
  last_used_at: timeOrNull(found.lastUsedAt)
})

const Operator = Schema.Struct({ ok: Ok, operator: OperatorBody })
/** The token is shown once. */
const AppointedOperator = Schema.Struct({ ok: Ok, operator: OperatorBody, token: Text })
const Operators = Schema.Struct({ ok: Ok, operators: Schema.Array(OperatorBody), next_cursor: NextCursor })

const NewOperator = Schema.Struct({
  name: Schema.String.pipe(Schema.filter(Domain.isName, { description: Domain.nameRule })),
  role: Schema.Literal(...Domain.roles)
})

const name = Schema.Struct({ name: Schema.String.annotations({ description: "The operator's name." }) })

/** What is shown of a thing, by the names that it has elsewhere; never a secret. */
const Shown = Schema.NullOr(Schema.Record({ key: Schema.String, value: Schema.Unknown }))

const AuditEntry = Schema.Struct({
  id: Text,
  at: Time,
  operator: Text,
  operation: Text,
  target: NullableText,
  address: NullableText,
  request_id: NullableText,
  before: Shown,
  after: Shown
}).annotations({ identifier: "AuditEntry" })

const auditEntry = (found: Audit.Entry): View<typeof AuditEntry> => ({
  id: found.id,
  at: time(found.at),
  operator: found.operator,
  operation: found.operation,
  target: found.target,
  address: found.address,
  request_id: found.requestId,
  before: found.before,
  after: found.after
})

const AuditEntries = Schema.Struct({
  ok: Ok,
  entries: Schema.Array(AuditEntry),
  next_cursor: NextCursor
})

const line = (description: string) =>
  optional(TextRules.line(255).annotations({ jsonSchema: { description } }))
const timeOf = (description: string) =>
  optional(TimeText.annotations({ jsonSchema: { format: "date-time", description } }))

const AuditFilter = Schema.Struct({
  ...paging,
  operator: line("Only acts of this operator."),
  operation: line("Only acts of this kind, such as `accounts.change`."),
  target: line("Only acts on what has this id."),
  from: timeOf("Only acts at this time or later."),
  to: timeOf("Only acts before this time.")
})

const auditFilter = (
  { from, operation, operator, target, to, ...query }: typeof AuditFilter.Type,
  after: number | null
) => ({
  operation,
  operator,
  target,
  from: from === undefined ? undefined : Instant.parse(from),
  to: to === undefined ? undefined : Instant.parse(to),
  page: page(query, after)
})

const example: View<typeof OperatorBody> = {
  name: "ana",
  role: "read",
  status: "active",
  secrets: [{ created_at: Examples.at, expires_at: null }],
  created_at: Examples.at,
  last_used_at: null
}
const exampleToken = "op_ana_WmZq4cX1tB8nJ0vLr5KyPd2HfGs7QaEu9TiOw3YxMbN_0kQ3zT"

export const admin = [
  forOperator(
    HttpApiEndpoint.post("createOperator", "/admin/v1/operators")
      .setPayload(NewOperator)
      .addSuccess(AppointedOperator, { status: 201 }),
    {
      summary: "Make an operator",
      description:
        "The token is shown once. The role `metrics` reads the metrics, `read` also everything that the admin API tells, `admin` does everything. Names are unique for good.",
      request: { name: "ana", role: "read" },
      answer: { ...ok, operator: example, token: exampleToken },
      command: { name: "operators create", description: "Make an operator; its token is shown once." }
    },
    ({ admin }) =>
      ({ payload }) =>
        Effect.map(admin.operators.create(payload), (made) =>
          reply({ ...ok, operator: operator(made.operator), token: made.token })
        )
  ),
  forOperator(
    HttpApiEndpoint.get("operators", "/admin/v1/operators").setUrlParams(Paging).addSuccess(Operators),
    {
      summary: "List the operators, newest first",
      description: "Without their tokens: `secrets` tells when each was made and until when it is accepted.",
      answer: { ...ok, operators: [example], next_cursor: null },
      command: { name: "operators list", description: "List the operators." }
    },
    ({ admin }) =>
      ({ after, cursor, query }) =>
        Effect.map(admin.operators.list(page(query, after)), ({ items, next }) =>
          reply({ ...ok, operators: items.map(operator), next_cursor: cursor(next) })
        )
  ),
  forOperator(
    HttpApiEndpoint.post("rotateOperator", "/admin/v1/operators/:name/rotate")
      .setPath(name)
      .setPayload(Rotation)
      .addSuccess(AppointedOperator),
    {
      summary: "Give an operator a new token",
      description:
        "The new token is shown once. Old ones are accepted for `overlap_seconds`, a day unless said otherwise; two at most, so that a further rotation ends the oldest.",
      request: { overlap_seconds: 3600 },
      answer: { ...ok, operator: example, token: exampleToken },
      refusals: ["not_found"],
      command: { name: "operators rotate", description: "Give an operator a new token, shown once." }
    },
    ({ admin }) =>
      ({ path, payload }) =>
        Effect.map(admin.operators.rotate(path.name, overlap(payload)), (made) =>
          reply({ ...ok, operator: operator(made.operator), token: made.token })
        )
  ),
  forOperator(
    HttpApiEndpoint.post("revokeOperator", "/admin/v1/operators/:name/revoke")
      .setPath(name)
      .addSuccess(Operator),
    {
      summary: "Revoke an operator for good",
      description: "Its tokens open nothing from then on, and its name is given to nobody else.",
      answer: { ...ok, operator: { ...example, status: "revoked" } },
      refusals: ["not_found"],
      command: { name: "operators revoke", description: "Revoke an operator for good." }
    },
    ({ admin }) =>
      ({ path }) =>
        Effect.map(admin.operators.revoke(path.name), (found) => reply({ ...ok, operator: operator(found) }))
  ),
  forOperator(
    HttpApiEndpoint.get("audit", "/admin/v1/audit").setUrlParams(AuditFilter).addSuccess(AuditEntries),
    {
      summary: "List what operators did, newest first",
      description:
        "An entry is written in the commit of its act: `operation` such as `accounts.change`, `target` the id of what it was done to, and what that was before and after, without secrets. `from` is inclusive, `to` is not.",
      answer: {
        ...ok,
        entries: [
          {
            id: Examples.ids.auditEntry,
            at: Examples.at,
            operator: "ADMIN_TOKEN",
            operation: "accounts.change",
            target: Examples.ids.account,
            address: "203.0.113.7",
            request_id: Examples.ids.request,
            before: { name: "My shop" },
            after: { name: "Our shop" }
          }
        ],
        next_cursor: null
      },
      command: { name: "audit", description: "List what operators did, newest first." }
    },
    ({ admin }) =>
      ({ after, cursor, query }) =>
        Effect.map(admin.audit.list(auditFilter(query, after)), ({ items, next }) =>
          reply({ ...ok, entries: items.map(auditEntry), next_cursor: cursor(next) })
        )
  )
]
