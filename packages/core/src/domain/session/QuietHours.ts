/**
 * The hours of the day in which a session's messages go, by their purpose (contract.md §14 "Time"). As a send's own `hours` they are
 * those that are allowed; together they allow what each of them does.
 */
import type { Purpose } from "../consent/Consent.ts"
import type * as When from "../job/When.ts"
import * as Template from "../template/Template.ts"

export type QuietHours = { readonly [Purpose in Template.Category]: When.Hours | null }

export const none: QuietHours = Template.ofEach(() => null)

/** Direct messages go at any hour. */
export const of = (hours: QuietHours, purpose: Purpose): When.Hours | null =>
  purpose === "direct" ? null : hours[purpose]
