/** Facts of a store in which all is well, for tests that change one of them. */
import * as Time from "../../../src/domain/Instant.ts"
import type { Group } from "../../../src/domain/job/Waiting.ts"
import type { StoreReadings } from "../../../src/domain/overview/StoreReadings.ts"
import type { Session } from "../../../src/domain/session/Session.ts"
import * as Fixtures from "../../../src/testing/Fixtures.ts"

export const { now } = Fixtures

export const account = Fixtures.account({ name: "Acme" })
export const session = Fixtures.session(account.id, { name: "News", updatedAt: Time.before(now, 1000) })

/** So many recipients that wait over a session. */
export const group = (waiting: number, some: Partial<Group> = {}): Group => ({
  session,
  status: "queued",
  priority: "normal",
  pauseReason: null,
  templateId: null,
  waiting,
  perMinute: null,
  longest: waiting,
  retrying: 0,
  oldestAt: Time.before(now, 5000),
  notDue: null,
  nextAt: null,
  ...some
})

export const waits = (...groups: ReadonlyArray<Group>): Pick<StoreReadings, "backlog"> => ({
  backlog: { groups, oldestAt: groups[0]?.oldestAt ?? null, isExact: true }
})

export const over = (some: Partial<Session>): Pick<StoreReadings, "sessions"> => ({
  sessions: [{ session: { ...session, ...some }, account }]
})

export const well: StoreReadings = {
  now,
  quarantine: null,
  isDispatched: true,
  ...waits(),
  deliveriesWaiting: 0,
  tallies: [],
  ...over({}),
  templates: [],
  synced: new Set([session.provider]),
  processes: [
    {
      id: "p1",
      role: "all",
      version: "1",
      since: Time.before(now, 9000),
      seenAt: Time.before(now, 1000),
      inFlight: 0,
      slots: 64
    }
  ],
  leaseMs: 15_000,
  webhooks: { healthy: 1, failing: 0, disabled: 0, durations: [], troubled: [] },
  storage: {
    kind: "sqlite",
    bytes: 1000,
    freeBytes: 900_000_000,
    bytesPerDay: 10_000_000,
    fullAt: Time.after(now, 90 * 24 * 3_600_000),
    oldest: { events: null, results: null }
  },
  unknowns: { recipients: 0, jobs: 0, since: null },
  unread: null,
  doubts: null,
  happenings: [],
  stuckErasures: [],
  usage: [{ account, template: 10, direct: 0 }],
  clock: { differenceMs: 3, uncertain: false }
}
