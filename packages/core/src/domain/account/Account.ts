/** The tenant: owns a plan, sessions, consents and webhook endpoints. */
import type { Instant } from "../Instant.ts"
import type { Retention } from "../Retention.ts"
import type { Caps } from "./Caps.ts"
import type { Plan } from "./Plan.ts"

export interface Account {
  readonly id: string
  readonly name: string
  /** ISO 4217. */
  readonly currency: string
  readonly plan: Plan
  readonly retention: Retention
  /** How many messages a person may have. */
  readonly caps: Caps
  readonly createdAt: Instant
  readonly updatedAt: Instant
}
