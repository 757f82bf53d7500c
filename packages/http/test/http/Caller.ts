/** The caller of each request, whom the engine of a test knows. */

import type { Engine } from "@sendwright/core"
import { Instant } from "@sendwright/core"
import { Fixtures } from "@sendwright/core/testing"

const account = Fixtures.account()
const session = Fixtures.session(account.id)

export const caller: Engine.Caller = {
  account,
  session,
  key: Fixtures.apiKey(session.id),
  rate: { allowed: true, limit: 120, remaining: 119, retryAfterMs: 0, resetAfterMs: 500 },
  knownAt: Instant.at(0)
}
