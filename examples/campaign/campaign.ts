/**
 * A weekly newsletter from a list: to who agreed, at ten where each of them is, at a pace, and no further once 5 % of the
 * first 200 fail.
 */
import { parse } from "csv-parse/sync"
import { type Recipient, type Send, type Sendwright, SendwrightError, type Session } from "sendwright"

/** A line of the list. */
interface Reader {
  readonly phone: string
  readonly name: string
  /** Empty where it is not known: the country of the number decides. */
  readonly time_zone: string
  /** When they ticked the box; empty where they never did. */
  readonly agreed_at: string
}

export interface Newsletter {
  /** Its name, such as `2026-03`: it goes to nobody twice, however often this is run. */
  readonly name: string
  readonly template: string
  /** Local times of each reader, such as `2026-01-13T10:00`. */
  readonly from: string
  readonly until: string
}

/** A send has at most so many recipients. */
const mostOfPart = 250

const perMinute = 60

const readersOf = (csv: string): ReadonlyArray<Reader> =>
  parse(csv, { columns: true, trim: true, skip_empty_lines: true })

const chunks = <A>(items: ReadonlyArray<A>, size: number): ReadonlyArray<ReadonlyArray<A>> =>
  Array.from({ length: Math.ceil(items.length / size) }, (_, at) => items.slice(at * size, (at + 1) * size))

const recipientOf = ({ name, phone, time_zone }: Reader): Recipient => ({
  phone,
  variables: { "body.1": name },
  ...(time_zone === "" ? {} : { timeZone: time_zone })
})

const partOf = (
  { from, name, template, until }: Newsletter,
  part: number,
  to: ReadonlyArray<Recipient>
): Send => ({
  template,
  to,
  idempotencyKey: `newsletter-${name}-${part}`,
  reference: `newsletter-${name}`,
  sendAt: { local: from, timeZone: "recipient" },
  expiresAt: { local: until, timeZone: "recipient" },
  // The platform may be slow, and the night comes.
  hours: { from: "09:00", to: "20:00", days: [1, 2, 3, 4, 5] },
  pace: { perMinute },
  // Failures of one part would come in the others.
  stopWhen: { failedPercent: 5, ofFirst: 200, over: "reference" }
})

/** The places in `to` that an error is about. */
const placesOf = ({ issues }: SendwrightError): ReadonlySet<number> =>
  new Set(issues.flatMap(({ path }) => /^\/to\/(\d+)\//.exec(path)?.[1] ?? []).map(Number))

export const makeCampaign = (sw: Sendwright, accountId: string, session: Session) => {
  /** A grant has its own time, so that an old list brings nobody back who said STOP since. */
  const recordConsents = async (readers: ReadonlyArray<Reader>): Promise<void> => {
    const consents = readers.flatMap(({ agreed_at, phone }) =>
      agreed_at === ""
        ? []
        : [{ phone, purpose: "marketing" as const, source: "form", occurredAt: new Date(agreed_at) }]
    )
    for (const some of chunks(consents, 1000)) await sw.admin.consents.record({ accountId, consents: some })
  }

  /** Sends a part to all whom nothing stands against. Null where it was sent before, or nobody is left. */
  const sendPart = async (newsletter: Newsletter, part: number, readers: ReadonlyArray<Reader>) => {
    if (readers.length === 0) return null
    try {
      return await session.send(partOf(newsletter, part, readers.map(recipientOf)))
    } catch (error) {
      if (!SendwrightError.is(error)) throw error
      // An earlier run sent this part: who has agreed since waits for the next newsletter.
      if (error.code === "idempotency_conflict") return null
      const refused = placesOf(error)
      if (refused.size === 0) throw error
      return sendPart(
        newsletter,
        part,
        readers.filter((_, at) => !refused.has(at))
      )
    }
  }

  /** Sends a newsletter to a list; a repetition sends what is missing of it. */
  const publish = async (newsletter: Newsletter, csv: string): Promise<void> => {
    const readers = readersOf(csv)
    await recordConsents(readers)
    let part = 0
    for (const some of chunks(readers, mostOfPart)) await sendPart(newsletter, part++, some)
  }

  return { publish }
}
