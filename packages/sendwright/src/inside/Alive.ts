/**
 * Keeps the process from ending while something is due or under way, and no longer: a script that forgets `stop` ends once all is
 * done. Timers that only wait keep nothing.
 */
import { Timers } from "@sendwright/core/adapter"

/** Between two looks whether something is due. */
const lookMs = 250

/** Ends what it began. */
export type Release = () => void

export class Alive {
  #held = 0
  #timer: NodeJS.Timeout | undefined
  #dueIn: (() => Promise<number | null>) | undefined
  /** True after a look that found nothing. */
  #foundNothing = false

  hold(): Release {
    this.#held += 1
    if (this.#held === 1) this.#set(Timers.setInterval(() => {}, Timers.longestMs))
    return () => {
      this.#held -= 1
      if (this.#held > 0) return
      this.#set(undefined)
      this.#foundNothing = false
      this.#lookIn(lookMs)
    }
  }

  /**
   * From here on the process stays for what is due, too.
   *
   * @param dueIn answers in how many milliseconds that is; null when nothing is
   */
  stayFor(dueIn: () => Promise<number | null>): Release {
    this.#dueIn = dueIn
    this.hold()()
    return () => {
      this.#dueIn = undefined
    }
  }

  #set(timer: NodeJS.Timeout | undefined): void {
    Timers.clearTimeout(this.#timer)
    this.#timer = timer
  }

  #lookIn(ms: number): void {
    if (this.#dueIn === undefined) return
    this.#set(Timers.after(Math.max(ms, lookMs), () => void this.#look()))
  }

  async #look(): Promise<void> {
    const timer = this.#timer
    // A store that does not answer may have something.
    const ms = await this.#dueIn?.().catch(() => lookMs)
    if (this.#timer !== timer) return
    // What ends while it is looked for leaves what follows from it, which the next look finds.
    const isOver = ms === null && this.#foundNothing
    this.#foundNothing = ms === null
    if (ms !== undefined && !isOver) this.#lookIn(ms ?? lookMs)
  }
}
