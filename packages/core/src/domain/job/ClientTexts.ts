/**
 * What a client says of its send or direct message for itself (decisions.md §10): it comes with the request, is kept with
 * the job, and is told in answers and in every event. One line for each.
 */
import * as Records from "effect/Record"
import * as Schema from "effect/Schema"
import { Reference } from "./Reference.ts"

/** As a request has them. */
export const requested = {
  reference: Schema.optional(
    Reference.annotations({
      description: "Your name for it, at most 255 characters: kept with it and told in every event of it."
    })
  )
}

/** Null where the client gave none. */
export type ClientTexts = { readonly [Name in keyof typeof requested]: string | null }

/** As answers and events tell them. */
export const told: { readonly [Name in keyof ClientTexts]: Schema.NullOr<typeof Schema.String> } =
  Records.map(requested, () => Schema.NullOr(Schema.String))

/** The texts of a request, or of whatever has them. */
export const of = (
  given: {
    readonly [Name in keyof ClientTexts]?: string | null | undefined
  }
): ClientTexts => Records.map(requested, (_, name) => given[name] ?? null)
