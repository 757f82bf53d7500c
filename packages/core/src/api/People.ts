/** All that is known of a person, and their erasure (docs/adr/0040 of the repository). */
import * as Schema from "effect/Schema"
import { Text as TextRules } from "../adapter.ts"
import { Erasure, type People, Person } from "../index.ts"
import { computed, list, part, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { forOperator, one, pageOf } from "./Operation.ts"
import { about, Paging, Uuid } from "./Parameters.ts"
import * as PersonPage from "./PersonPage.ts"
import { Phone, UserId as UserIdText } from "./Texts.ts"
import * as Wire from "./Wire.ts"

const optional = Schema.optional

const inAccount = {
  account_id: optional(about(Uuid, "All accounts without it."))
}

const AnyPhone = Schema.String.pipe(
  Schema.filter((text) => Person.read(text, null) !== null, {
    description: "a number with its country calling code",
    jsonSchema: { description: "With its country calling code, in any spelling: `+34 600 …`, `0034600…`." }
  })
)

const UserId = Schema.String.pipe(
  Schema.filter((text) => Person.userIdForm.test(text), {
    description: "1 to 256 visible ASCII characters",
    jsonSchema: {
      description: "As the platform writes it. Give this or `phone`, or both.",
      pattern: Person.userIdForm.source
    }
  })
)

const EraseRequest = Schema.Struct({
  phone: optional(AnyPhone),
  user_id: optional(UserId),
  ...inAccount,
  reason: TextRules.line(255).annotations({ jsonSchema: { description: "For the audit log." } }),
  dry_run: optional(Schema.Boolean.annotations({ description: "Counts only." }))
})

type Named = Pick<People.Erased, "names">
type Names = ReadonlyArray<Erasure.Name>

const textsOf =
  (kind: Erasure.Name["kind"]) =>
  (names: Names): ReadonlyArray<string> =>
    names.flatMap((name) => (name.kind === kind ? [name.text] : []))

const ofNames = ({ ofAccounts }: Named["names"]) =>
  Object.entries(ofAccounts).map(([accountId, names]) => ({ accountId, names }))
type OfAccount = ReturnType<typeof ofNames>[number]

const ofAccount = struct({
  account_id: Wire.Id,
  phones: computed(Schema.Array(Phone), ({ names }: OfAccount) => textsOf("phone")(names)),
  user_ids: computed(Schema.Array(UserIdText), ({ names }: OfAccount) => textsOf("user")(names))
})

/** All names, and those of each account that ties more to the person than was given. */
const named = {
  phones: computed(Schema.Array(Phone), ({ names }: Named) => textsOf("phone")(Erasure.allNames(names))),
  user_ids: computed(Schema.Array(UserIdText), ({ names }: Named) =>
    textsOf("user")(Erasure.allNames(names))
  ),
  accounts: part(list(ofAccount), ({ names }: Named) => ofNames(names))
}

const counts = struct({
  recipients: Wire.Count,
  canceled: Wire.Count,
  in_flight: Wire.Count,
  jobs: Wire.Count,
  retries: Wire.Count,
  events: Wire.Count,
  delivery_answers: computed(Wire.Count, ({ attempts }: Erasure.Counts) => attempts),
  consents: Wire.Count,
  links: Wire.Count,
  windows: Wire.Count,
  doubtful_texts: computed(Wire.Count, ({ refusals }: Erasure.Counts) => refusals),
  unattributed_texts: computed(Wire.Count, ({ texts }: Erasure.Counts) => texts),
  unread_hooks: computed(Wire.Count, ({ unread }: Erasure.Counts) => unread),
  early_reports: computed(Wire.Count, ({ reports }: Erasure.Counts) => reports),
  audit_entries: computed(Wire.Count, ({ audit }: Erasure.Counts) => audit),
  happenings: Wire.Count
})

const exampleCounts: typeof counts.schema.Type = {
  recipients: 12,
  canceled: 1,
  in_flight: 0,
  jobs: 0,
  retries: 0,
  events: 31,
  delivery_answers: 2,
  consents: 3,
  links: 2,
  windows: 1,
  doubtful_texts: 0,
  unattributed_texts: 0,
  unread_hooks: 0,
  early_reports: 0,
  audit_entries: 0,
  happenings: 0
}

const stateOf = ({ nextAt }: Erasure.Erasure): "done" | "going_on" => (nextAt === null ? "done" : "going_on")
const State = Schema.Literal("done", "going_on")

const detailOf = ({ counts: { inFlight }, dryRun, erasure, remains }: People.Erased): string => {
  if (dryRun) return "Nothing was changed: the same goes without dry_run."
  const left = remains === null ? "" : ` ${remains}`
  if (erasure?.nextAt === null) return `It is done.${left}`
  const waits =
    inFlight === 0 ? "" : ` ${inFlight} message(s) are under way, and go once their outcome is known.`
  return `What there is has gone.${waits} It is looked through again for what was being written meanwhile; a process that sends does so by itself.${left}`
}

const erased = struct({
  id: computed(Schema.NullOr(Wire.Id), ({ erasure }: People.Erased) => erasure?.id ?? null),
  dry_run: Schema.Boolean,
  ...named,
  state: computed(Schema.NullOr(State), ({ erasure }: People.Erased) =>
    erasure === null ? null : stateOf(erasure)
  ),
  counts,
  detail: computed(Wire.Text, detailOf)
})

export const erasure = struct({
  id: Wire.Id,
  account_id: Schema.NullOr(Wire.Id),
  reason: Wire.Text,
  state: computed(State, stateOf),
  begun_at: Wire.Time,
  swept_at: Wire.Time,
  next_at: part(Wire.NullableTime, ({ nextAt }: Erasure.Erasure) => nextAt),
  counts
})

const Things = Schema.Array(
  Schema.Record({ key: Schema.String, value: Schema.Unknown }).annotations({
    jsonSchema: { type: "object", additionalProperties: true }
  })
)

/** The names that an export's lists have here. */
const lists = {
  consents: "consents",
  messages: "messages",
  events: "events",
  deliveryAnswers: "delivery_answers",
  links: "links",
  windows: "windows",
  doubtfulTexts: "doubtful_texts",
  unreadHooks: "unread_hooks",
  earlyReports: "early_reports"
} as const satisfies Readonly<Record<keyof People.Sections, string>>

const section = (name: keyof People.Sections) =>
  computed(Things, ({ sections }: People.Export) => sections[name])

const person = struct({
  ...named,
  consents: section("consents"),
  messages: section("messages"),
  events: section("events"),
  delivery_answers: section("deliveryAnswers"),
  links: section("links"),
  windows: section("windows"),
  doubtful_texts: section("doubtfulTexts"),
  unread_hooks: section("unreadHooks"),
  early_reports: section("earlyReports"),
  /** The lists that have more than is shown. */
  cut: computed(Schema.Array(Schema.Literal(...Object.values(lists))), ({ cut }: People.Export) =>
    cut.map((name) => lists[name])
  )
})

const { at, ids, phone } = Examples
const otherPhone = "34600000101"

export const admin = [
  forOperator(
    Endpoint.post("erasePerson", "/admin/v1/people/erase").setPayload(EraseRequest),
    one("erasure", erased, {
      id: ids.unattributed,
      dry_run: false,
      phones: [phone],
      user_ids: [],
      accounts: [],
      state: "going_on",
      counts: exampleCounts,
      detail:
        "What there is has gone. It is looked through again for what was being written meanwhile; a process that sends does so by itself."
    }),
    {
      summary: "Erase a person",
      description:
        "Forgets a person by a phone, a user id, or both, with all names that surely are theirs: numbers, ids, variables, texts, what you said of them for yourself, and their copies in events, deliveries, receipts and hooks. The names that are given count in every account; those that an account ties to them, by what its platforms told, in that account alone (`accounts`). What waits for them is canceled first. Keyed hashes stay in place of the names, with the counts, the prices, and when consent was given and withdrawn. Nothing goes to them again until they, or you, consent anew. A repetition does no harm. In the platform's own contact book the entry stays: it is deleted there.",
      request: { phone, reason: "asked by letter of 3 March", dry_run: true },
      command: {
        name: "people erase",
        description:
          "Erase a person by --phone, --user-id or both, in all accounts or in that of --account-id. --dry-run true only counts."
      }
    },
    ({ admin }, { payload: { account_id: accountId, dry_run: dryRun, phone, reason, user_id: userId } }) =>
      admin.people.erase({ accountId, dryRun, phone, reason, userId })
  ),
  forOperator(
    Endpoint.get("erasures", "/admin/v1/people/erasures").setUrlParams(Paging),
    pageOf("erasures", erasure, {
      id: ids.unattributed,
      account_id: null,
      reason: "asked by letter of 3 March",
      state: "done",
      begun_at: at,
      swept_at: at,
      next_at: null,
      counts: exampleCounts
    }),
    {
      summary: "List erasures",
      description: "Newest first: what went, and whether it goes on. Nobody is named.",
      command: { name: "people erased", description: "List the erasures of people." }
    },
    ({ admin }, { page }) => admin.people.erasures(page)
  ),
  forOperator(
    Endpoint.get("exportPerson", "/admin/v1/people/:who/export")
      .setPath(
        Schema.Struct({
          who: Schema.String.annotations({ description: "A phone in any spelling, or a platform's user id." })
        })
      )
      .setUrlParams(Schema.Struct(inAccount)),
    {
      ...one("person", person, {
        phones: [phone, otherPhone],
        user_ids: [],
        accounts: [{ account_id: ids.account, phones: [phone, otherPhone], user_ids: [] }],
        consents: [
          { phone, status: "granted", purpose: "utility", source: "checkout form", occurred_at: at }
        ],
        messages: [],
        events: [],
        delivery_answers: [],
        links: [],
        windows: [],
        doubtful_texts: [],
        unread_hooks: [],
        early_reports: [],
        cut: []
      }),
      page: { type: "text/html", make: PersonPage.make }
    },
    {
      summary: "Export what is known of a person",
      description:
        "All of it as one JSON, or as a page to read for `Accept: text/html`: consents, messages with their variables and texts, events, hooks, and by which names they are known, in which account (`accounts`). 10,000 of each at most; `cut` names the lists that have more. It is in the audit log, without the number.",
      command: {
        name: "people export",
        description: "Print all that is known of a person, by a phone or a user id."
      }
    },
    ({ admin }, { path: { who }, query: { account_id: accountId } }) =>
      admin.people.export({
        accountId,
        ...(Person.read(who, null) === null ? { userId: who } : { phone: who })
      })
  )
]
