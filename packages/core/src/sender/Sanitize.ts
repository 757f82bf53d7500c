/**
 * Makes senders' texts well-formed, cuts them (`domain/ExternalText`), and removes the session's secrets
 * (`Redaction`). Applied once, where they enter the engine, so that it covers every sender, those of embedders
 * included. A value that needs no change is returned unchanged.
 */
import * as Cause from "effect/Cause"
import * as ExternalText from "../domain/ExternalText.ts"
import type { Failure } from "../domain/job/Recipient.ts"
import type { Why } from "../domain/template/Template.ts"
import type { Report } from "../storage/JobStore.ts"
import * as Redaction from "./Redaction.ts"
import type { HookContent, InboundMessage, Named, SessionNews, TemplateNews, UnreadPart } from "./Sender.ts"
import { SendResult } from "./Sender.ts"

export const failure = (given: Failure, config: unknown): Failure =>
  ExternalText.failure(Redaction.failure(given, config))

export const sendResult = (result: SendResult, config: unknown): SendResult => {
  switch (result._tag) {
    case "Accepted": {
      const providerId = ExternalText.idOrNull(result.providerId)
      // A sender without types may pass on its platform's own word, which is not a status of ours.
      const status = result.status === "sent" ? "sent" : "accepted"
      return providerId === result.providerId && status === result.status
        ? result
        : { ...result, providerId, status }
    }
    case "Held": {
      const providerId = ExternalText.idOrNull(result.providerId)
      return SendResult.Held({ ...result, providerId, failure: failure(result.failure, config) })
    }
    case "Rejected":
      return SendResult.Rejected({ failure: failure(result.failure, config) })
    case "Transient":
      return SendResult.Transient({ ...result, failure: failure(result.failure, config) })
    case "Ambiguous":
      return SendResult.Ambiguous({ ...result, failure: failure(result.failure, config) })
  }
}

const named = ({ phone, userId }: Named): Named => ({
  phone: ExternalText.idOrNull(phone),
  userId: ExternalText.idOrNull(userId)
})

export const report = (given: Report): Report => {
  const messageId = ExternalText.idOrNull(given.messageId)
  const providerId = ExternalText.idOrNull(given.providerId)
  const { failure: reason, named: who, pricing } = given
  if (
    reason === null &&
    pricing === undefined &&
    who === undefined &&
    messageId === given.messageId &&
    providerId === given.providerId
  ) {
    return given
  }
  return {
    ...given,
    messageId,
    providerId,
    failure: reason === null ? null : ExternalText.failure(reason),
    ...(who === undefined ? {} : { named: named(who) }),
    ...(pricing === undefined
      ? {}
      : { pricing: { category: ExternalText.code(pricing.category), free: pricing.free } })
  }
}

const codeOrNull = (code: string | null): string | null => (code === null ? null : ExternalText.code(code))

/** The platform's news of a template, and the part of the hook that tells them. */
export interface TemplateNewsOf {
  readonly news: Omit<TemplateNews, "origin">
  readonly origin: Unread
}

/** Why a template has its status, without the session's secrets. */
const clean = (why: Why, config: unknown): Why => {
  const object = (given: object | null): object | null => {
    if (given === null) return null
    const [text, safe] = [JSON.stringify(given), Redaction.text(JSON.stringify(given), config)]
    return safe === text ? (ExternalText.jsonObject(given) ?? null) : null
  }
  return {
    reason: why.reason === null ? null : ExternalText.code(Redaction.text(why.reason, config)),
    rejectionInfo: object(why.rejectionInfo),
    otherInfo: object(why.otherInfo),
    disableInfo: object(why.disableInfo)
  }
}

const templateNews = (given: TemplateNews, config: unknown): TemplateNewsOf => {
  const { at, category, correctCategory, isChanged, language, name, origin, platformId, quality } = given
  const { status, why } = given
  const { content, field } = origin ?? { field: "templates", content: given }
  const reason = "the session has no such template"
  return {
    news: {
      platformId: ExternalText.idOrNull(platformId ?? null),
      name: ExternalText.id(name),
      language: ExternalText.code(language),
      ...(status === undefined ? {} : { status: ExternalText.code(status) }),
      ...(quality === undefined ? {} : { quality: ExternalText.code(quality) }),
      ...(category === undefined ? {} : { category: ExternalText.code(category) }),
      ...(correctCategory === undefined ? {} : { correctCategory: codeOrNull(correctCategory) }),
      ...(isChanged === undefined ? {} : { isChanged }),
      ...(at === undefined ? {} : { at }),
      ...(why === undefined ? {} : { why: why === null ? null : clean(why, config) })
    },
    origin: unreadPart({ field, reason, content }, config)
  }
}

const textOrNull = (text: string | null | undefined): string | null =>
  typeof text === "string" ? ExternalText.lines(text, ExternalText.longest.words) : null

/** A person's message, but for what is still looked at: its text, and who sent it. */
export const message = <M extends Omit<InboundMessage, "sessionId">>(given: M): M => {
  const { content = null, contextId = null, groupId = null, payload = null, type = null } = given
  return {
    ...given,
    type: type === null ? null : ExternalText.code(type),
    payload: textOrNull(payload),
    content: ExternalText.jsonObject(content) ?? null,
    contextId: ExternalText.idOrNull(contextId),
    groupId: ExternalText.idOrNull(groupId)
  }
}

/** A part that was not understood, with its JSON as text. */
export interface Unread {
  readonly field: string
  readonly reason: string
  readonly text: string
  /** True when the text is only the beginning. */
  readonly isCut: boolean
}

const unreadPart = ({ content, field, reason }: UnreadPart, config: unknown): Unread => {
  const json = JSON.stringify(content) ?? ""
  const { isCut, text } = ExternalText.head(Redaction.text(json, config), ExternalText.longestJson)
  return {
    field: ExternalText.code(field),
    reason: ExternalText.message(Redaction.text(reason, config)),
    text,
    isCut: isCut || json.length > ExternalText.longestJson
  }
}

/** The content of a hook as the engine applies it. */
export interface Content extends Omit<HookContent, "addressed" | "templates" | "unread"> {
  readonly templates: ReadonlyArray<TemplateNewsOf>
  readonly session: ReadonlyArray<SessionNews>
  readonly unread: ReadonlyArray<Unread>
}

/** A hook's content without the session's secrets. Piece by piece, for a hook may bring thousands of long texts. */
export function* hookContent(given: HookContent, config: unknown): Generator<void, Content> {
  const reports: Array<Report> = []
  for (const report of given.reports) {
    const { failure } = report
    reports.push(failure === null ? report : { ...report, failure: Redaction.failure(failure, config) })
    yield
  }
  const preferences: Array<HookContent["preferences"][number]> = []
  for (const preference of given.preferences) {
    preferences.push({ ...preference, proof: Redaction.text(preference.proof, config) })
    yield
  }
  const unread: Array<Unread> = []
  const messages: Array<HookContent["messages"][number]> = []
  for (const each of given.messages) {
    messages.push(message(each))
    if (ExternalText.jsonObject(each.content) === undefined)
      unread.push(
        unreadPart({ field: "messages", reason: "an object that is too long", content: each.content }, config)
      )
    yield
  }
  const session: Array<SessionNews> = []
  for (const each of given.session ?? []) {
    const { kind, news } = each
    const object = ExternalText.jsonObject(news)
    const failures = each.failures?.map((given) => failure(given, config)) ?? []
    session.push({ ...each, kind: ExternalText.code(kind), news: object ?? null, failures })
    if (object === undefined)
      unread.push(unreadPart({ field: kind, reason: "an object that is too long", content: news }, config))
    yield
  }
  for (const part of given.unread) {
    unread.push(unreadPart(part, config))
    yield
  }
  const templates = given.templates.map((each) => templateNews(each, config))
  return { ...given, reports, preferences, messages, templates, session, unread }
}

/** Why a sender broke, for the log: with the stack, and without the session's secrets, which an error may quote. */
export const defect = (given: unknown, config: unknown): string =>
  Redaction.text(Cause.pretty(Cause.die(given), { renderErrorCause: true }), config)
