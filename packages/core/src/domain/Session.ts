/** One connection of an account to a messaging platform; owns the templates mirrored from it. */
import type { Instant } from "./Instant.ts"
import type { Pacing } from "./Pacing.ts"

export type Provider = "sandbox" | "http" | "whatsapp_cloud"
export const providers: ReadonlyArray<Provider> = ["sandbox", "http", "whatsapp_cloud"]

export type State = "connected" | "connecting" | "disconnected"

export interface Session {
  readonly id: string
  readonly accountId: string
  readonly name: string
  readonly provider: Provider
  /** The provider's configuration as encrypted JSON; plain text never reaches a store. */
  readonly config: string
  readonly pacing: Pacing
  readonly state: State
  /** Why it is not connected; null while it is. */
  readonly reason: string | null
  /** When it last became connected; null while it is not. */
  readonly connectedSince: Instant | null
  readonly createdAt: Instant
  readonly updatedAt: Instant
}
