import type { AddressInfo } from "node:net"

/** A process that serves the contract, and what the load generator needs to know of it. */
export interface Server {
  readonly address: () => Promise<{
    readonly port: number
    readonly headers: Readonly<Record<string, string>>
    readonly templateId: number
  }>
}

/** Of a server that listens on TCP. */
export const portOf = (server: { readonly address: () => AddressInfo | string | null }): number => {
  const address = server.address()
  if (address === null || typeof address === "string") throw new Error("The server has no port.")
  return address.port
}
