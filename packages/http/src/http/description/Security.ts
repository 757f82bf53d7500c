/** Who may call. */

import type { Route } from "@sendwright/core/contract"
import type { Json } from "../../api/Json.ts"

const signed = "The HMAC-SHA256 of what was posted."

const header = (name: string, description: string): Json => ({
  type: "apiKey",
  in: "header",
  name,
  description
})

/** The components that operations refer to. */
export const schemes = {
  publicKey: header("x-public-key", "The API key's public key."),
  secretKey: header(
    "x-secret-key",
    "Its secret. `x-permission` of an operation is the permission that the key must have."
  ),
  adminToken: { type: "http", scheme: "bearer", description: "The operator's token." },
  operatorCookie: {
    type: "apiKey",
    in: "cookie",
    name: "sendwright_operator",
    description:
      "Of a browser that signed in. A request that changes something needs an `Origin` of this host."
  },
  whatsAppToken: {
    type: "apiKey",
    in: "query",
    name: "hub.verify_token",
    description: "The session's `verify_token`."
  },
  whatsAppSignature: header("X-Hub-Signature-256", signed),
  gatewaySignature: header("X-Service-Signature", signed),
  gatewayTimestamp: header("X-Service-Timestamp", "When it was signed, in Unix seconds."),
  platformProof: {
    type: "http",
    scheme: "signature",
    description: "Whatever the sender of the provider asks for, such as a signature in a header of its own."
  }
} satisfies Readonly<Record<Route.Proof | "adminToken" | "operatorCookie" | "publicKey" | "secretKey", Json>>

/** How the caller of a route proves who it is. */
export const securityOf = ({ handler }: Route.Route): ReadonlyArray<Json> => {
  switch (handler.access) {
    case "anyone":
    case "browser":
      return []
    case "operator":
      return [{ adminToken: [] }, { operatorCookie: [] }]
    case "hook":
      return [Object.fromEntries(handler.proofs.map((proof) => [proof, []]))]
    case "key":
      return [{ publicKey: [], secretKey: [] }]
  }
}
