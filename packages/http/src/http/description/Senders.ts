/** The senders of the engine as the description tells them: a host may have others than those of Sendwright. */
import type { Engine } from "@sendwright/core"
import type * as Context from "effect/Context"
import type { Json } from "../../api/Json.ts"

export type Senders = Context.Tag.Service<Engine.Engine>["senders"]

/** "`http`: `url` and `secret`." for each sender that describes its configuration. */
const configurations = (senders: Senders): ReadonlyArray<string> =>
  senders.flatMap(({ configDescription, provider }) =>
    configDescription === undefined ? [] : [`\`${provider}\`: ${configDescription}.`]
  )

/** The component schemas whose content the engine decides, in the place of those that `api/` names. */
export const schemas = (senders: Senders): Json => ({
  Provider: { type: "string", enum: senders.map(({ provider }) => provider) },
  SessionConfiguration: {
    type: "object",
    additionalProperties: true,
    description: ["What the provider asks for.", ...configurations(senders)].join(" ")
  }
})
