/** An ISO 4217 code of accounts and rate cards. */
import * as Schema from "effect/Schema"
import * as Fault from "../Fault.ts"

const form = /^[A-Z]{3}$/
const example = 'an ISO 4217 code such as "EUR"'

export const Currency = Schema.String.pipe(
  Schema.filter((text) => form.test(text), {
    description: example,
    jsonSchema: { pattern: form.source }
  })
)

/** For those who do not come by the schema. */
export const faults = (currency: string | undefined): ReadonlyArray<Fault.Fault> =>
  currency === undefined || form.test(currency)
    ? []
    : [Fault.make(["currency"], "invalid_value", `\`currency\` must be ${example}.`)]
