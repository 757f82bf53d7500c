/** A platform and a receiver of webhooks in one process, on sockets, so that it costs little beside what is measured. */
export interface Gateway {
  readonly port: () => Promise<number>
  /** How many messages came, and how many webhooks. */
  readonly counts: () => Promise<{ readonly messages: number; readonly webhooks: number }>
  /** Messages are reported as delivered to this hook, in batches: those that came already, and what comes. */
  readonly report: (hook: Hook) => Promise<void>
  /** Waits until all messages that came are reported. */
  readonly reported: () => Promise<void>
}

export interface Hook {
  readonly url: string
  readonly secret: string
}

export const messagesPath = "/messages"
export const webhooksPath = "/webhooks"
