/**
 * Makes the text of senders' answers well-formed and cuts it (`domain/ExternalText`). Applied once where it enters the
 * engine, so that it holds for every sender, those of embedders included. What is in order is returned as it is.
 */
import * as ExternalText from "../domain/ExternalText.ts"
import type { Report } from "../storage/JobStore.ts"
import type { TemplateNews } from "./Sender.ts"
import { accepted, SendResult } from "./Sender.ts"

export const sendResult = (result: SendResult): SendResult => {
  switch (result._tag) {
    case "Accepted": {
      const providerId = ExternalText.idOrNull(result.providerId)
      // A sender without types may pass on a word of its platform's: a recipient would have no status of ours.
      const status = result.status === "sent" ? "sent" : "accepted"
      return providerId === result.providerId && status === result.status
        ? result
        : accepted(providerId, status)
    }
    case "Held": {
      const providerId = ExternalText.idOrNull(result.providerId)
      return SendResult.Held({ providerId, failure: ExternalText.failure(result.failure) })
    }
    case "Rejected":
      return SendResult.Rejected({ failure: ExternalText.failure(result.failure) })
    case "Transient": {
      const { failure, retryAfterMs } = result
      return SendResult.Transient({ failure: ExternalText.failure(failure), retryAfterMs })
    }
    case "Ambiguous":
      return SendResult.Ambiguous({ failure: ExternalText.failure(result.failure) })
  }
}

export const report = (given: Report): Report => {
  const messageId = ExternalText.idOrNull(given.messageId)
  const providerId = ExternalText.idOrNull(given.providerId)
  const { at, failure, pricing, status } = given
  if (
    failure === null &&
    pricing === undefined &&
    messageId === given.messageId &&
    providerId === given.providerId
  ) {
    return given
  }
  const told = {
    messageId,
    providerId,
    status,
    at,
    failure: failure === null ? null : ExternalText.failure(failure)
  }
  if (pricing === undefined) return told
  const { category, free } = pricing
  return { ...told, pricing: { category: ExternalText.code(category), free } }
}

export const templateNews = ({ language, name, quality, status }: TemplateNews): TemplateNews => ({
  name: ExternalText.id(name),
  language: ExternalText.code(language),
  ...(status === undefined ? {} : { status: ExternalText.code(status) }),
  ...(quality === undefined ? {} : { quality: ExternalText.code(quality) })
})
