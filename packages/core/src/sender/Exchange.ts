/** How a sender asks its platform over HTTP, and what it means for the message that there is no answer. */

import type { Failure } from "../domain/Recipient.ts"
import * as HttpClient from "../http/HttpClient.ts"
import { SendResult } from "./Sender.ts"

export interface Options {
  /** To one platform at the most, as many as messages are under way at once; more than are needed cost time. */
  readonly connections?: number
}

/** Of a platform: many are asked by few. */
export const make = ({ connections = 64 }: Options = {}) =>
  HttpClient.make({ connections, connect: { timeout: 10_000 } })

/** A platform that was not reached: trying again does no harm. */
export const unreachable = (reason: string): Failure => ({
  code: "provider_unreachable",
  provider_code: null,
  message: `The platform could not be reached (${reason}).`,
  permanent: false
})

/** A platform that may have the message. */
export const unanswered = (reason: string): Failure => ({
  code: "outcome_unknown",
  provider_code: null,
  message: `The platform did not answer (${reason}); it may have the message.`,
  permanent: false
})

/** What may pass: the platform answered, and surely did not take it (RFC 9110 §15.5.9, §15.6; RFC 6585 §4). */
export const mayPass = (status: number): boolean => status === 408 || status === 429 || status >= 500

/** What became of an attempt; what an answer says is the sender's to tell. */
export const meaning = (
  exchanged: HttpClient.Exchanged,
  answered: (answer: Extract<HttpClient.Exchanged, { readonly _tag: "Answered" }>) => SendResult
): SendResult => {
  switch (exchanged._tag) {
    case "Unsent":
      return SendResult.Transient({ failure: unreachable(exchanged.reason), retryAfterMs: null })
    case "Lost":
      return SendResult.Ambiguous({ failure: unanswered(exchanged.reason) })
    case "Answered":
      return answered(exchanged)
  }
}
