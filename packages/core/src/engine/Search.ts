/** Finds things of all accounts for the operator, and for a caller what is its own (`domain/Search`). */

import * as Effect from "effect/Effect"
import * as Address from "../domain/Address.ts"
import { isOfSession } from "../domain/account/ApiKey.ts"
import { InvalidRequest } from "../domain/Errors.ts"
import type * as Fault from "../domain/Fault.ts"
import * as Ids from "../domain/Ids.ts"
import * as Time from "../domain/Instant.ts"
import type { Job } from "../domain/job/Job.ts"
import { isReadable } from "../domain/job/Job.ts"
import type { Page, Paged } from "../domain/Page.ts"
import * as Person from "../domain/Person.ts"
import * as Phone from "../domain/Phone.ts"
import * as Search from "../domain/Search.ts"
import * as RequestDecoder from "../schema/RequestDecoder.ts"
import { Senders } from "../sender/Sender.ts"
import { ApiKeyStore } from "../storage/ApiKeyStore.ts"
import type { KnownPerson } from "../storage/ConsentStore.ts"
import { ConsentStore } from "../storage/ConsentStore.ts"
import { ErasureStore } from "../storage/ErasureStore.ts"
import type { FoundJob } from "../storage/JobStore.ts"
import { JobStore } from "../storage/JobStore.ts"
import { SessionStore } from "../storage/SessionStore.ts"
import type { StorageError } from "../storage/StorageError.ts"
import { TemplateStore } from "../storage/TemplateStore.ts"
import { WebhookStore } from "../storage/WebhookStore.ts"
import * as Addressing from "../worker/Addressing.ts"
import type { Caller } from "./Operations.ts"
import { spanIfTraced } from "./SpanIfTraced.ts"

export interface SearchQuery {
  readonly text: string
  readonly page: Page
}

export type Searching = Effect.Effect<Paged<Search.Result>, InvalidRequest | StorageError>

/**
 * The time that a key's search takes is a multiple of it: how long others' messages to the same number were passed over does
 * not show.
 */
const evenMs = 50

const evenly = <A, E>(search: Effect.Effect<A, E>): Effect.Effect<A, E> =>
  Effect.gen(function* () {
    const begun = yield* Time.now
    const found = yield* search
    const spent = Math.max(0, (yield* Time.now) - begun)
    yield* Effect.sleep(evenMs - (spent % evenMs))
    return found
  })

const checked = RequestDecoder.decoder(Search.Query, ["q"])

const meaningsOf = (text: string): Effect.Effect<Search.Meanings, InvalidRequest> =>
  Effect.mapBoth(checked(text), {
    onSuccess: Search.meaningsOf,
    onFailure: (faults: ReadonlyArray<Fault.Fault>) => new InvalidRequest({ faults })
  })

/** A phone as people write it, or else the user id; of somebody who was erased, what stands in their place. */
const written = ({ phone, userId }: Person.Person): string =>
  phone !== null && Phone.form.test(phone) ? `+${phone}` : (phone ?? userId ?? "")

const contentOf = ({ content }: Job): string => {
  if (content.kind === "direct") return "Direct message"
  return isReadable(content) ? content.template.name : `Template ${content.templateId}`
}

const ofJob = ({ job, recipient }: FoundJob): Search.Result => {
  const { accountId, createdAt: at, id, recipients, reference, sessionId: parentId } = job
  const common = { accountId, at, parentId }
  if (recipient !== null)
    return {
      ...common,
      kind: "message",
      id: Ids.messageId(id, recipient.index),
      title: `${contentOf(job)} to ${written(Address.personOf(recipient.address))}`,
      status: recipient.status
    }
  const named = reference === null ? "" : `: ${reference}`
  const title = `${contentOf(job)} to ${recipients} ${recipients === 1 ? "recipient" : "recipients"}${named}`
  return { ...common, kind: "job", id, title, status: job.status }
}

const ofPerson = ({ accountId, at, person }: KnownPerson): Search.Result => {
  const named = Person.ofKey(person)
  const id = named.phone ?? named.userId ?? person
  const title = written(named)
  return { kind: "person", id, title, status: null, accountId, at, parentId: null }
}

const newestFirst = (results: ReadonlyArray<Search.Result>): ReadonlyArray<Search.Result> =>
  results.toSorted((a, b) => b.at - a.at)

/** Finds things that have an id or a name of their own, in any account. */
const singles = Effect.gen(function* () {
  const keys = yield* ApiKeyStore
  const senders = yield* Senders
  const sessions = yield* SessionStore
  const templates = yield* TemplateStore
  const webhooks = yield* WebhookStore

  const sessionsOf = Effect.fnUntraced(function* ({ address, id }: Search.Meanings) {
    const addresses = [...senders.keys()].map((provider) => Addressing.stored(provider, address))
    const addressed = yield* sessions.addressed({ addresses })
    const found = id === null ? null : yield* sessions.find(id)
    return [...addressed, ...(found === null ? [] : [found])].map(
      ({ accountId, createdAt, id, name, state }): Search.Result => ({
        ...{ kind: "session", id, title: name, status: state, accountId, at: createdAt, parentId: null }
      })
    )
  })

  const webhookOf = Effect.fnUntraced(function* (id: string) {
    const found = yield* webhooks.find(id)
    if (found === null) return []
    const { accountId, createdAt: at, enabled, failingSince, url: title } = found
    const status = enabled ? (failingSince === null ? "enabled" : "failing") : "disabled"
    const result: Search.Result = { kind: "webhook", id, title, status, accountId, at, parentId: null }
    return [result]
  })

  const deliveryOf = Effect.fnUntraced(function* (id: string) {
    const found = yield* webhooks.findDelivery(id)
    const endpoint = found === null ? null : yield* webhooks.find(found.endpointId)
    if (found === null || endpoint === null) return []
    const { createdAt: at, endpointId: parentId, eventType, status } = found
    const title = `${eventType} to ${endpoint.url}`
    const { accountId } = endpoint
    const result: Search.Result = { kind: "delivery", id, title, status, accountId, at, parentId }
    return [result]
  })

  const keyOf = Effect.fnUntraced(function* (publicKey: string) {
    const found = yield* keys.identify(publicKey)
    if (found === null) return []
    const { account, key, session } = found
    const result: Search.Result = {
      kind: "key",
      id: publicKey,
      title: key.name ?? publicKey,
      status: key.status,
      accountId: account.id,
      at: key.createdAt,
      parentId: session.id
    }
    return [result]
  })

  const templateOf = Effect.fnUntraced(function* (templateId: number) {
    const found = yield* templates.find({ templateId })
    const session = found === null ? null : yield* sessions.find(found.sessionId)
    if (found === null || session === null) return []
    const result: Search.Result = {
      kind: "template",
      id: String(templateId),
      title: `${found.name} (${found.language})`,
      status: found.status,
      accountId: session.accountId,
      at: found.updatedAt,
      parentId: session.id
    }
    return [result]
  })

  return Effect.fnUntraced(function* (meanings: Search.Meanings) {
    const { id, publicKey, templateId } = meanings
    return [
      ...(yield* sessionsOf(meanings)),
      ...(id === null ? [] : yield* webhookOf(id)),
      ...(id === null ? [] : yield* deliveryOf(id)),
      ...(publicKey === null ? [] : yield* keyOf(publicKey)),
      ...(templateId === null ? [] : yield* templateOf(templateId))
    ]
  })
})

export const make = Effect.gen(function* () {
  const consents = yield* ConsentStore
  const erasures = yield* ErasureStore
  const jobs = yield* JobStore
  const singlesOf = yield* singles

  /** The person's names as these accounts know them. */
  const namesOf = Effect.fnUntraced(function* (
    { phones, userIds }: Search.Meanings,
    accounts: Iterable<string>
  ) {
    const found = new Set<string>()
    if (phones.length + userIds.length === 0) return []
    for (const accountId of accounts)
      for (const key of yield* erasures.keys({ accountId, phones, userIds })) {
        const { phone, userId } = Person.ofKey(key)
        found.add(phone ?? userId ?? key)
      }
    return [...found]
  })

  /** Any account's, newest first. What has an id of its own and people come with the first page. */
  const all = Effect.fnUntraced(function* ({ page, text }: SearchQuery) {
    const meanings = yield* meaningsOf(text)
    const known = yield* consents.known(meanings)
    const names = yield* namesOf(meanings, new Set(known.map(({ accountId }) => accountId)))
    const sought = Search.withNames(meanings.jobs, names)
    const { items, next } = yield* jobs.search({ sought, page })
    const first = page.after === null ? [...known.map(ofPerson), ...(yield* singlesOf(meanings))] : []
    return { items: newestFirst([...first, ...items.map(ofJob)]), next }
  })

  /** The jobs and messages of the caller's key; direct ones only where it may read these. */
  const ofCaller = Effect.fnUntraced(function* ({ account, key }: Caller, { page, text }: SearchQuery) {
    const { permissions, publicKey } = key
    const meanings = yield* meaningsOf(text)
    const sought = Search.withNames(meanings.jobs, yield* namesOf(meanings, [account.id]))
    const kind = permissions.includes("direct:read") ? undefined : "template"
    const { items, next } = yield* jobs.search({ sought, publicKey, kind, page })
    return { items: newestFirst(items.map(ofJob)), next }
  })

  const own = (caller: Caller, query: SearchQuery): Searching =>
    isOfSession(caller.key) ? ofCaller(caller, query) : evenly(ofCaller(caller, query))

  return { all, own: spanIfTraced("Engine.search", own) }
})
