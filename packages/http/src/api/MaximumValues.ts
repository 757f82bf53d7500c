/** How many members and items in all a body may have that is long, as an endpoint declares it. */
import * as Context from "effect/Context"

/** 1,000 templates of header, body, footer and button, or 250 recipients of a hundred variables. */
export const usual = 37_000

/** More where one request brings thousands of items: as many as the endpoint takes, of the fewest members each. */
export class MaximumValues extends Context.Reference<MaximumValues>()("@sendwright/http/api/MaximumValues", {
  defaultValue: () => usual
}) {}
