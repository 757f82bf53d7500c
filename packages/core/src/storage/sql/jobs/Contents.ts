/** The contents that jobs send, each kept once. */
import { createHash } from "node:crypto"
import * as Schema from "effect/Schema"
import type { Content, UnreadableContent } from "../../../domain/job/Job.ts"
import * as Memo from "../../../domain/Memo.ts"
import type { Program, Row } from "../../Program.ts"
import { get } from "../../Program.ts"
import { insertInto } from "../Insert.ts"
import { integer, integerOrNull, json, text } from "../RowReader.ts"

/** How many contents are kept read. */
const maximumCached = 256

const isContent = Schema.is(
  Schema.Union(
    Schema.Struct({ kind: Schema.Literal("direct"), text: Schema.String }),
    Schema.Struct({
      kind: Schema.Literal("template"),
      templateId: Schema.Number,
      template: Schema.Struct({ category: Schema.String, name: Schema.String, language: Schema.String })
    })
  )
)

/** Answers an error for a content that has not the form of one: its table was changed or damaged from outside. */
const parsed = (found: Row | undefined, snapshot: number): Content | Error => {
  const refused = (cause: unknown) => new Error(`Snapshot ${snapshot} cannot be read`, { cause })
  try {
    const content = json<Content>(found ?? {}, "body")
    return isContent(content) ? content : refused("It has not the form of a content.")
  } catch (cause) {
    return refused(cause)
  }
}

/** A damaged content, as the job's own row tells of it. No other content costs this statement. */
function* unreadable(seq: number, cause: Error): Program<UnreadableContent> {
  const row = (yield* get("SELECT kind, template FROM sendwright_job WHERE seq = ?", seq)) ?? {}
  return text(row, "kind") === "direct"
    ? { kind: "direct", cause }
    : { kind: "template", templateId: integerOrNull(row, "template") ?? 0, cause }
}

/** Reads contents, and keeps those that were read last. */
export const reader = () => {
  // By digest, never by row: a row that is rolled back leaves its number to another content.
  const contents = new Map<string, Content>()
  return function* (digest: string, snapshot: number, seq: number): Program<Content | UnreadableContent> {
    const known = contents.get(digest)
    if (known !== undefined) return known
    const found = yield* get("SELECT body FROM sendwright_snapshot WHERE seq = ?", snapshot)
    const content = parsed(found, snapshot)
    // A damaged content is not cached, so that it is read again once it is mended.
    if (content instanceof Error) return yield* unreadable(seq, content)
    const [oldest] = contents.keys()
    if (contents.size >= maximumCached && oldest !== undefined) contents.delete(oldest)
    contents.set(digest, content)
    return content
  }
}

interface Snapshot {
  readonly digest: string
  readonly body: string
}

// Contents are immutable, so one object is digested once.
const snapshotOf = Memo.ofObject((content: Content): Snapshot => {
  const body = JSON.stringify(content)
  return { digest: createHash("sha256").update(body).digest("base64url"), body }
})

/** The digest by which a content is found. */
export const digestOf = (content: Content): string => snapshotOf(content).digest

export const findSnapshot = "SELECT seq FROM sendwright_snapshot WHERE digest = ?"
const insertSnapshot = `${insertInto("sendwright_snapshot", ["digest", "body"])} ON CONFLICT (digest) DO NOTHING RETURNING seq`

/** The number of a content that is written already. */
export function* find(content: Content): Program<number | null> {
  const row = yield* get(findSnapshot, digestOf(content))
  return row === undefined ? null : integer(row, "seq")
}

/** Writes a content that is new, and answers its number. */
export function* freeze(content: Content): Program<number> {
  const { body, digest } = snapshotOf(content)
  const row =
    (yield* get(insertSnapshot, digest, body)) ??
    // Another writes the same at this moment, and its commit was waited for.
    (yield* get(findSnapshot, digest))
  return integer(row ?? {}, "seq")
}
