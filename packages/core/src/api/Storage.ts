/** The store's size, how it grows, and the purge of what accounts keep no longer. */
import * as Schema from "effect/Schema"
import type { StorageAdmin } from "../index.ts"
import { Instant, Retention } from "../index.ts"
import { codec, computed, list, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { forOperator, one } from "./Operation.ts"
import * as Wire from "./Wire.ts"

const Rate = Schema.NullOr(Schema.Int)

export const storage = struct(
  {
    kind: Schema.Literal("memory", "sqlite", "postgres"),
    bytes: Wire.Count,
    bytes_per_day: Rate,
    free_bytes: Schema.NullOr(Wire.Count),
    full_at: Wire.NullableTime,
    oldest: struct({ events: Wire.NullableTime, results: Wire.NullableTime })
  },
  "Storage"
)

const kinds = {
  deliveries: "deliveries",
  contents: "contents",
  results: "results",
  unreadHooks: "unread_hooks",
  consents: "consents"
} as const satisfies Readonly<Record<Retention.Kind, string>>

const kind = codec(
  Schema.Literal(...Object.values(kinds)),
  (found: Retention.Kind): (typeof kinds)[Retention.Kind] => kinds[found]
)

/** Accounts that are told singly. */
const maximumListed = 100

const sumOf = (shares: ReadonlyArray<Retention.Share>, of: "bytes" | "rows"): number =>
  shares.reduce((sum, share) => sum + share[of], 0)

const byKind = ({ shares }: StorageAdmin.PurgeAnswer) =>
  Retention.kinds.map((kind) => {
    const some = shares.filter((share) => share.kind === kind)
    return { kind: kinds[kind], rows: sumOf(some, "rows"), bytes: sumOf(some, "bytes") }
  })

const share = struct({ account_id: Wire.Id, kind, days: Wire.Count, rows: Wire.Count, bytes: Wire.Count })

const detailOf = ({ dryRun, heldAt, isComplete }: StorageAdmin.PurgeAnswer): string => {
  if (heldAt !== undefined)
    return `Nothing younger than ${Instant.format(heldAt)} counts as old: the clock is ahead of every time that the store has from before this process. If the clock is wrong, set it. If it is right, have the service open for a day and start it again: then everything goes that is due.`
  if (dryRun)
    return "Nothing was changed. The host deletes it by itself, within the hour unless its log says later; the same without dry_run does now."
  return isComplete
    ? "Nothing more is due."
    : "Something is left, or another process purges. The host goes on by itself; the same once more goes on now."
}

const purged = struct(
  {
    dry_run: Schema.Boolean,
    is_complete: Schema.Boolean,
    kinds: computed(
      Schema.Array(Schema.Struct({ kind: kind.schema, rows: Wire.Count, bytes: Wire.Count })),
      byKind
    ),
    accounts: computed(list(share).schema, ({ shares }: StorageAdmin.PurgeAnswer, prefix) =>
      list(share).of(shares.slice(0, maximumListed), prefix)
    ),
    detail: computed(Wire.Text, detailOf)
  },
  "Purged"
)

const example: typeof purged.schema.Type = {
  dry_run: true,
  is_complete: true,
  kinds: Retention.kinds.map((kind) => ({
    kind: kinds[kind],
    rows: kind === "contents" ? 250 : 0,
    bytes: kind === "contents" ? 9400 : 0
  })),
  accounts: [{ account_id: Examples.ids.account, kind: "contents", days: 90, rows: 250, bytes: 9400 }],
  detail: detailOf({ dryRun: true, isComplete: true, shares: [] })
}

export const sizeExample: typeof storage.schema.Type = {
  kind: "sqlite",
  bytes: 734_003_200,
  bytes_per_day: 24_117_248,
  free_bytes: 21_474_836_480,
  full_at: Instant.format(Instant.at(Date.UTC(2029, 3, 11, 8, 30))),
  oldest: { events: Examples.at, results: Examples.at }
}

export const admin = [
  forOperator(
    Endpoint.get("storage", "/admin/v1/storage").setUrlParams(Schema.Struct({})),
    one("storage", storage, sizeExample),
    {
      summary: "Read the store's size",
      description:
        "`bytes_per_day` is the mean of the last 30 days, null before it is known for a day and negative while the store shrinks. `free_bytes` is of the disk with the SQLite file, and null on PostgreSQL. `full_at` is when the disk is full at this pace. `oldest` tells when the oldest event and the oldest job that are kept were made.",
      command: {
        name: "storage",
        description: "Show the store's size, how it grows, and when the disk is full at this pace."
      }
    },
    ({ admin }) => admin.storage.size
  ),
  forOperator(
    Endpoint.post("purge", "/admin/v1/purge").setPayload(
      Schema.Struct({ dry_run: Schema.optional(Schema.Boolean) })
    ),
    one("purge", purged, example, "PurgeDone"),
    {
      summary: "Delete what accounts keep no longer",
      description:
        "As each account's `retention` says, in slices of some milliseconds, for ten seconds at most: with `is_complete: false` something is left. The host does the same every hour. `kinds` has the rows and about how many bytes went of each kind, or with `dry_run` would go; `accounts` has whose, the 100 largest.",
      request: { dry_run: true },
      command: {
        name: "purge",
        description:
          "Delete what accounts keep no longer, as the host does by itself every hour. --dry-run true only counts it."
      }
    },
    ({ admin }, { payload }) => admin.storage.purge({ dryRun: payload.dry_run })
  )
]
