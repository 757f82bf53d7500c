/**
 * The suite that every backend passes, by the promises of the store tags. A caller is three lines: a name, and a
 * layer that builds an empty database each time. Needs `@effect/vitest`.
 */
import { describe } from "@effect/vitest"
import * as accept from "./accept.ts"
import * as audit from "./audit.ts"
import * as backlog from "./backlog.ts"
import * as caps from "./caps.ts"
import * as causes from "./causes.ts"
import * as clocks from "./clocks.ts"
import * as deliveries from "./deliveries.ts"
import * as dispatch from "./dispatch.ts"
import * as endpoints from "./endpoints.ts"
import * as erasure from "./erasure.ts"
import * as fairness from "./fairness.ts"
import * as glance from "./glance.ts"
import * as happenings from "./happenings.ts"
import * as history from "./history.ts"
import * as holds from "./holds.ts"
import * as inbound from "./inbound.ts"
import * as leases from "./leases.ts"
import * as limits from "./limits.ts"
import * as liveness from "./liveness.ts"
import * as looking from "./looking.ts"
import * as outages from "./outages.ts"
import * as pace from "./pace.ts"
import * as paging from "./paging.ts"
import * as people from "./people.ts"
import * as platforms from "./platforms.ts"
import * as priorities from "./priorities.ts"
import * as read from "./read.ts"
import * as receive from "./receive.ts"
import * as registry from "./registry.ts"
import * as restore from "./restore.ts"
import * as retention from "./retention.ts"
import * as retries from "./retries.ts"
import type { Stored } from "./Setup.ts"
import * as search from "./search.ts"
import * as timeline from "./timeline.ts"
import * as times from "./times.ts"
import * as traces from "./traces.ts"
import * as turns from "./turns.ts"
import * as waiting from "./waiting.ts"
import * as webhooks from "./webhooks.ts"

export const suite = (name: string, layer: Stored): void => {
  describe(name, () => {
    accept.suite(layer)
    limits.suite(layer)
    dispatch.suite(layer)
    backlog.suite(layer)
    waiting.suite(layer)
    leases.suite(layer)
    liveness.suite(layer)
    clocks.suite(layer)
    turns.suite(layer)
    pace.suite(layer)
    caps.suite(layer)
    fairness.suite(layer)
    priorities.suite(layer)
    causes.suite(layer)
    receive.suite(layer)
    platforms.suite(layer)
    outages.suite(layer)
    inbound.suite(layer)
    people.suite(layer)
    history.suite(layer)
    holds.suite(layer)
    times.suite(layer)
    erasure.suite(layer)
    happenings.suite(layer)
    glance.suite(layer)
    restore.suite(layer)
    retention.suite(layer)
    retries.suite(layer)
    traces.suite(layer)
    timeline.suite(layer)
    search.suite(layer)
    read.suite(layer)
    paging.suite(layer)
    looking.suite(layer)
    registry.suite(layer)
    audit.suite(layer)
    webhooks.suite(layer)
    deliveries.suite(layer)
    endpoints.suite(layer)
  })
}
