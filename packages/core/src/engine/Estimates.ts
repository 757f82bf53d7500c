/** The cost of a send, and with `explain` why: for every recipient which value won, its text, price and consent. */

import * as Address from "../domain/Address.ts"
import type * as Rates from "../domain/billing/RateCard.ts"
import type { ConsentRecord, Refusal, Verdict } from "../domain/consent/Consent.ts"
import type { Instant } from "../domain/Instant.ts"
import type { RecipientTexts } from "../domain/job/ClientTexts.ts"
import * as ClientTexts from "../domain/job/ClientTexts.ts"
import * as End from "../domain/job/End.ts"
import type { Priority } from "../domain/job/Priority.ts"
import * as Rendering from "../domain/template/Rendering.ts"
import * as Variables from "../domain/template/Variables.ts"
import type { ResolvedRequest } from "./Checks.ts"

/** Explanation of one recipient. */
export interface Explanation extends RecipientTexts {
  readonly phone: string | null
  readonly userId: string | null
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

export interface Estimate extends End.End {
  readonly currency: string
  /** Null when no card is in force for the currency. */
  readonly rateCard: Pick<Rates.RateCard, "id" | "effectiveFrom"> | null
  readonly recipients: number
  /** The send's priority within its session: a higher one goes first. */
  readonly priority: Priority
  /** When the first of them is due. */
  readonly startsAt: Instant
  readonly cost: Rates.Estimate
  readonly withoutConsent: number
  /** Only when it was asked for. */
  readonly explanations: ReadonlyArray<Explanation> | null
}

const missing: Verdict<ConsentRecord> = { _tag: "Missing" }

/** When the first of a send's recipients is due, and when the last of them goes. */
const timesOf = (
  { addresses, times: { quiet, recipients, timing } }: ResolvedRequest,
  perSecond: number | null,
  now: Instant
): End.End & { readonly startsAt: Instant } => {
  const isTimed = timing !== null || quiet !== null
  const waiting = recipients.map(({ dueAt, timing: own }, place): End.Waiting => {
    const rules = { timing, own, address: addresses[place] ?? "", quiet }
    return { dueAt, rules: isTimed ? rules : null, isFirst: true }
  })
  return { startsAt: timing?.startsAt ?? now, ...End.endOf(waiting, perSecond, now) }
}

export const make = (options: {
  readonly request: ResolvedRequest
  readonly priority: Priority
  readonly cost: Rates.Estimate
  /** The refusals of recipients who may not have it, by their places. */
  readonly refusals: ReadonlyMap<number, Refusal>
  /** The consents on record for each recipient; null unless the estimate is to explain its verdicts. */
  readonly evidence: ReadonlyArray<Verdict<ConsentRecord>> | null
  /** The pace of the session and the send together; null for none. */
  readonly perSecond: number | null
  readonly now: Instant
}): Estimate => {
  const { cost, evidence, now, perSecond, priority, refusals, request } = options
  /** A refusal that no record explains is of an embedder's own source, which has no record to show. */
  const consentOf = (place: number, recorded: Verdict<ConsentRecord> = missing): Verdict<ConsentRecord> => {
    const refusal = refusals.get(place)
    return refusal === undefined || refusal._tag === recorded._tag ? recorded : missing
  }
  const { recipients, template } = request
  const explain = (evidence: ReadonlyArray<Verdict<ConsentRecord>>): ReadonlyArray<Explanation> =>
    recipients.map(({ variables, ...given }, place) => {
      const values = request.values[place] ?? []
      const origins = Variables.originsOf(template, variables, request.variables)
      return {
        ...Address.personOf(request.addresses[place] ?? ""),
        ...ClientTexts.recipient.ofBody(given),
        variables: template.variables.map(({ key }, at) => ({
          key,
          value: values[at] ?? "",
          origin: origins[at] ?? "recipient"
        })),
        rendered: Rendering.render(template, values),
        market: cost.prices[place]?.market ?? null,
        unitPrice: cost.prices[place]?.unitPrice ?? null,
        consent: consentOf(place, evidence[place])
      }
    })
  return {
    currency: request.currency,
    rateCard: request.card,
    recipients: recipients.length,
    priority,
    ...timesOf(request, perSecond, now),
    cost,
    withoutConsent: refusals.size,
    explanations: evidence === null ? null : explain(evidence)
  }
}
