/** The client's own name for a send or a direct message (contract.md §10): kept with it, and in every event of it. */
import * as Schema from "effect/Schema"
import * as Text from "../Text.ts"

/** In code points. */
export const maximumLength = 255

export const Reference = Schema.String.pipe(
  Schema.filter((text) => !Text.isLonger(text, maximumLength), {
    description: `at most ${maximumLength} characters`,
    jsonSchema: { minLength: 1, maxLength: maximumLength }
  }),
  Schema.filter((text) => !Text.isBlank(text) && Text.isStorable(text), {
    description: "well-formed text that is not blank and holds no NUL"
  })
)
