/** Search (contract.md §12): by operators over all accounts, and of a key's own. */
import * as Schema from "effect/Schema"
import { ClientTexts } from "../adapter.ts"
import { Search as Domain, Phone } from "../index.ts"
import { computed, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { forKey, forOperator, pageOf } from "./Operation.ts"
import { paging } from "./Parameters.ts"
import { Link } from "./Texts.ts"
import * as Wire from "./Wire.ts"

/** As a request names them. */
const searched = ClientTexts.recipient.searched.map((name) => `\`${name}\``).join(", ")

const Query = Schema.Struct({
  ...paging,
  q: Domain.Query.annotations({
    jsonSchema: {
      minLength: Domain.shortest,
      maxLength: Domain.longest,
      description: `A phone in any spelling, or the whole of a platform's user id, a recipient's ${searched}, a \`reference\`, an Idempotency-Key, a request id, the id of a job, message, delivery, webhook, session, key or template, or a platform's id of a message.`
    }
  })
})

type Leads = (result: Domain.Result) => string

/** The paths that an operator is asked to read on at. */
const ofOperator: Readonly<Record<Domain.Kind, Leads>> = {
  message: ({ id }) => `/admin/v1/messages/${id}/timeline`,
  job: ({ id }) => `/admin/v1/jobs/${id}`,
  person: ({ accountId, id }) =>
    `/admin/v1/accounts/${accountId}/consents?${Phone.form.test(id) ? "phone" : "user_id"}=${encodeURIComponent(id)}`,
  delivery: ({ id }) => `/admin/v1/deliveries/${id}`,
  webhook: ({ id }) => `/admin/v1/webhooks/${id}`,
  session: ({ id }) => `/admin/v1/sessions/${id}`,
  key: ({ parentId }) => `/admin/v1/sessions/${parentId}/keys`,
  template: ({ id }) => `/admin/v1/templates/${id}/preview`
}

/** The same of a key, which finds messages and jobs alone. */
const ofKey: Leads = ({ id, kind }) =>
  kind === "message" ? `/api/v1/messages/${id}/timeline` : `/api/v1/template-messages/${id}`

const result = (link: Leads) =>
  struct({
    kind: Schema.Literal(...Domain.kinds),
    id: Wire.Text.annotations({ description: "Of a person the phone, or a platform's user id." }),
    title: Wire.Text,
    status: Wire.NullableText.annotations({
      description: "By the words of what it is: of a message, a job, a session. null of a person."
    }),
    account_id: Wire.Id,
    at: Wire.Time,
    link: computed(
      Link.annotations({ description: "The path where there is more of it." }),
      (found: Domain.Result, prefix) => `${prefix}${link(found)}`
    )
  })

const example = {
  kind: "message",
  id: Examples.ids.message,
  title: `${Examples.template.name} to +${Examples.phone}`,
  status: "delivered",
  account_id: Examples.ids.account,
  at: Examples.at,
  link: `/admin/v1/messages/${Examples.ids.message}/timeline`
} as const

export const versioned = [
  forKey(
    Endpoint.get("search", "/api/v1/search").setUrlParams(Query),
    "jobs:read",
    pageOf("results", result(ofKey), { ...example, link: `/api/v1/messages/${example.id}/timeline` }),
    {
      summary: "Find this key's jobs and messages",
      description:
        "Newest first: by a phone in any spelling, by what the platform or you call a person, by a reference, an Idempotency-Key, a request id, or an id. Direct messages are found by keys that may read them (`direct:read`). Nothing of others is told."
    },
    (engine, caller, { page, query }) => engine.search(caller, { text: query.q, page })
  )
]

export const admin = [
  forOperator(
    Endpoint.get("adminSearch", "/admin/v1/search").setUrlParams(Query),
    pageOf(
      "results",
      result((found) => ofOperator[found.kind](found)),
      example
    ),
    {
      summary: "Find anything by what names it",
      description:
        "Newest first, over all accounts. `limit` is of messages and jobs; people, and what has the very id, stand beside them on the first page: of a name, the accounts that know it, 20 at most. A reference is looked for in 100 accounts; `GET /admin/v1/jobs?reference=` lists all. What was erased or is kept no longer is not found.",
      command: {
        name: "search",
        description:
          "Find messages, jobs, people, deliveries, webhooks, sessions, keys or templates by a phone in any spelling, a reference or any id."
      }
    },
    ({ admin }, { page, query }) => admin.search.find({ text: query.q, page })
  )
]
