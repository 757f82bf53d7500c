/** The memory that bodies may take while they are still coming: in all, and for one client address. */
export interface BodyMemory {
  /** Takes so many bytes for an address; false when there is no room, and then nothing is taken. */
  readonly reserve: (address: string | undefined, bytes: number) => boolean
  readonly release: (address: string | undefined, bytes: number) => void
  /** The bytes that are taken. */
  readonly used: () => number
}

export const make = (limits: { readonly bodies: number; readonly bodiesPerAddress: number }): BodyMemory => {
  /** Of the addresses that have any. */
  const byAddress = new Map<string, number>()
  let used = 0
  return {
    used: () => used,
    reserve: (address = "", bytes) => {
      const own = (byAddress.get(address) ?? 0) + bytes
      if (used + bytes > limits.bodies || own > limits.bodiesPerAddress) return false
      used += bytes
      byAddress.set(address, own)
      return true
    },
    release: (address = "", bytes) => {
      const own = (byAddress.get(address) ?? 0) - bytes
      used -= bytes
      if (own > 0) byAddress.set(address, own)
      else byAddress.delete(address)
    }
  }
}
