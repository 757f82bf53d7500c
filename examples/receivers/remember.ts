/** Where a receiver keeps which events it has handled: yours is a table, in the transaction that handles the event. */
export interface Inbox {
  /** Handles each id once, however often it comes. */
  readonly once: (id: string, handle: () => void) => void
}

export const remember = (): Inbox => {
  const handled = new Set<string>()
  return {
    once: (id, handle) => {
      if (handled.has(id)) return
      handle()
      handled.add(id)
    }
  }
}
