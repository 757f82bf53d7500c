/**
 * Decides which addresses webhooks may reach (contract.md §7): only public ones, unless the operator allows named
 * networks. `check` decides on a URL's text at registration; `allows` decides at connection time, on the address that
 * the socket is connected to. The rules are those of `domain/PublicUrl`.
 */
import * as Context from "effect/Context"
import * as Layer from "effect/Layer"
import type { Network } from "../domain/PublicUrl.ts"
import * as PublicUrl from "../domain/PublicUrl.ts"
import * as Webhook from "../domain/webhook/Webhook.ts"

export type { Network } from "../domain/PublicUrl.ts"
export { isWithin, parseNetwork } from "../domain/PublicUrl.ts"

export class AddressPolicy extends Context.Tag("@sendwright/core/webhook/AddressPolicy")<
  AddressPolicy,
  {
    /** What is wrong with a URL; `undefined` when it may be registered. */
    readonly check: (url: string) => string | undefined
    /** True when an IP address may be connected to. */
    readonly allows: (address: string) => boolean
  }
>() {}

/**
 * @param allowed inside networks that may be reached all the same, for development
 * @param setting its name, which a refusal tells
 */
export const layer = (
  allowed: ReadonlyArray<Network>,
  setting = "WEBHOOK_ALLOWED_NETWORKS"
): Layer.Layer<AddressPolicy> => {
  const policy = PublicUrl.make({
    protocols: ["http", "https"],
    maximum: Webhook.maximumUrl,
    networks: allowed,
    setting
  })
  const check = (url: string): string | undefined => {
    const fault = policy.fault(url)
    return fault === undefined ? undefined : `\`url\` ${fault}.`
  }
  return Layer.succeed(AddressPolicy, { check, allows: policy.allows })
}
