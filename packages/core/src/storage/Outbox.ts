/**
 * The outbox: what one commit tells becomes events, and each event a delivery for every endpoint that it goes to. The one
 * place where this is decided; stores write what it answers in the commit of the change that is told.
 */

import type { Ids } from "../domain/Ids.ts"
import type { Instant } from "../domain/Instant.ts"
import type { Draft, Event } from "../domain/webhook/Event.ts"
import * as Events from "../domain/webhook/Event.ts"

/** An event, and the endpoints that it goes to. */
export interface Addressed<Key> {
  readonly draft: Draft
  readonly to: ReadonlyArray<Key>
}

/** One event on its way to one endpoint. */
export interface NewDelivery<Key, E> {
  readonly id: string
  readonly endpoint: Key
  readonly event: E
}

export interface Unfolded<Key> {
  readonly events: ReadonlyArray<Event>
  readonly deliveries: ReadonlyArray<NewDelivery<Key, Event>>
}

/** The body of an event is encoded here, once: its bytes are the same for all endpoints and all attempts. */
export const unfold = <Key>(
  ids: Ids,
  accountId: string,
  addressed: ReadonlyArray<Addressed<Key>>,
  now: Instant
): Unfolded<Key> => {
  const events: Array<Event> = []
  const deliveries: Array<NewDelivery<Key, Event>> = []
  for (const { draft, to } of addressed) {
    const id = ids.uuid(now)
    const { traceparent = null, type } = draft
    const event = {
      id,
      accountId,
      type,
      traceparent,
      createdAt: now,
      body: Events.encode(id, accountId, draft, now)
    }
    events.push(event)
    for (const endpoint of to) deliveries.push({ id: ids.uuid(now), endpoint, event })
  }
  return { events, deliveries }
}
