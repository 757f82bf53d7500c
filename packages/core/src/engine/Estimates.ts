/** The cost of a send, and with `explain` why: for every recipient which value won, its text, price and consent. */

import type * as Rates from "../domain/billing/RateCard.ts"
import type { ConsentRecord, Verdict } from "../domain/consent/Consent.ts"
import * as Rendering from "../domain/template/Rendering.ts"
import * as Variables from "../domain/template/Variables.ts"
import type { ResolvedRequest } from "./Checks.ts"

/** Explanation of one recipient. */
export interface Explanation {
  readonly phone: string
  readonly externalId: string | null
  /** By variable name: the value, and whose it was. */
  readonly variables: ReadonlyArray<{
    readonly key: string
    readonly value: string
    readonly origin: "common" | "recipient"
  }>
  readonly rendered: Rendering.Rendered
  readonly market: string | null
  readonly unitPrice: string | null
  readonly consent: Verdict<ConsentRecord>
}

export interface Estimate {
  readonly currency: string
  /** Null when no card is in force for the currency. */
  readonly rateCard: Pick<Rates.RateCard, "id" | "effectiveFrom"> | null
  readonly recipients: number
  readonly cost: Rates.Estimate
  readonly withoutConsent: number
  /** Only when it was asked for. */
  readonly explanations: ReadonlyArray<Explanation> | null
}

export const make = (options: {
  readonly request: ResolvedRequest
  readonly card: Rates.RateCard | null
  readonly cost: Rates.Estimate
  readonly withoutConsent: number
  /** For each recipient, when it is to be explained. */
  readonly evidence: ReadonlyArray<Verdict<ConsentRecord>> | null
}): Estimate => {
  const { card, cost, evidence, request, withoutConsent } = options
  const { recipients, template } = request
  const explain = (evidence: ReadonlyArray<Verdict<ConsentRecord>>): ReadonlyArray<Explanation> =>
    recipients.map(({ external_id, phone, variables }, place) => {
      const values = request.values[place] ?? []
      const origins = Variables.originsOf(template, variables, request.variables)
      return {
        phone,
        externalId: external_id ?? null,
        variables: template.variables.map(({ key }, at) => ({
          key,
          value: values[at] ?? "",
          origin: origins[at] ?? "recipient"
        })),
        rendered: Rendering.render(template, values),
        market: cost.prices[place]?.market ?? null,
        unitPrice: cost.prices[place]?.unitPrice ?? null,
        consent: evidence[place] ?? { _tag: "Missing" }
      }
    })
  return {
    currency: request.currency,
    rateCard: card,
    recipients: recipients.length,
    cost,
    withoutConsent,
    explanations: evidence === null ? null : explain(evidence)
  }
}
