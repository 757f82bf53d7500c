/**
 * One recipient whose claim a store refuses for its content costs its session a while, and no other a claim (contract.md §10).
 * A claim is one commit: of a refused one each session that it asked is claimed apart, the last first, since where it was
 * refused it mostly stopped. Whose claim is refused alone is put off.
 */
import type { Moment } from "../runtime/Moment.ts"

/** So long a session is put off, in milliseconds: its content may be mended, or somebody else's turn be over. */
const putOffMs = 30_000

export class RefusedClaims {
  readonly #putOff: Map<string, Moment>
  #apart: ReadonlyArray<string> = []
  /** The sessions that were to get something of the claim under way, in their order. */
  #asked: Array<string> = []

  /** @param putOff until when sessions are put off, which the dispatchers of a process share */
  constructor(putOff: Map<string, Moment>) {
    this.#putOff = putOff
  }

  /** True while the next claim is of one session. */
  get isApart(): boolean {
    return this.#apart.length > 0
  }

  get hasAsked(): boolean {
    return this.#asked.length > 0
  }

  /** A claim begins. */
  begin(): void {
    this.#asked = []
  }

  /** The room that a session gets of a claim, out of so much. */
  grant(sessionId: string, room: number, now: Moment): number {
    if (room <= 0 || !this.admits(sessionId, now)) return 0
    this.#asked.push(sessionId)
    return room
  }

  /** True of a session that the next claim may ask. */
  admits(sessionId: string, now: Moment): boolean {
    const until = this.#putOff.get(sessionId)
    if (until !== undefined && until > now) return false
    if (until !== undefined) this.#putOff.delete(sessionId)
    return !this.isApart || this.#apart[0] === sessionId
  }

  /** After a claim that was taken, whatever it brought. */
  taken(): void {
    this.#apart = this.#apart.slice(1)
  }

  /** After a claim that was refused; the session that is put off, if it was the only one. */
  refused(now: Moment): string | null {
    const [last, ...others] = this.#asked.toReversed()
    if (last === undefined || others.length > 0) {
      this.#apart = last === undefined ? [] : [last, ...others]
      return null
    }
    this.#apart = []
    // Another dispatcher may have asked at the same time.
    const isKnown = (this.#putOff.get(last) ?? 0) > now
    this.#putOff.set(last, now + putOffMs)
    return isKnown ? null : last
  }
}
