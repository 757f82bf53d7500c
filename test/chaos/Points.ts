/** The named points between the steps of a send, at which a process can be made to die. */
import type { Sender } from "@sendwright/core"
import { JobStore } from "@sendwright/core/storage"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"

export const points = [
  "before the claim's commit",
  "after the claim's commit",
  "before a send",
  "after a send",
  "before the outcomes' commit",
  "after the outcomes' commit",
  "before the accept's commit",
  "after the accept's commit"
] as const
export type Point = (typeof points)[number]

export interface Death {
  readonly at: Point
  /** The how manieth time that it comes there. */
  readonly after: number
}

/** Kills this process the moment it has come to the point so often. */
const reaper = (dies: Death | null) => {
  let times = 0
  const at = (point: Point) =>
    Effect.sync(() => {
      if (dies === null || dies.at !== point) return
      times += 1
      if (times >= dies.after) process.kill(process.pid, "SIGKILL")
    })
  const around = <A, E>(before: Point, effect: Effect.Effect<A, E>, after: Point) =>
    Effect.zipRight(at(before), Effect.zipLeft(effect, at(after)))
  return { at, around }
}

/** Dies at the points of the store. */
export const layerDie = (dies: Death | null) =>
  Layer.effect(
    JobStore.JobStore,
    Effect.map(JobStore.JobStore, (jobs) => {
      const { around, at } = reaper(dies)
      const { accept, settleAndClaim } = jobs
      const watched: typeof jobs = {
        ...jobs,
        accept: (command) =>
          around("before the accept's commit", accept(command), "after the accept's commit"),
        settleAndClaim: (command) => {
          const made = settleAndClaim(command)
          if (command.settlements.length > 0) {
            return around("before the outcomes' commit", made, "after the outcomes' commit")
          }
          return Effect.zipRight(
            at("before the claim's commit"),
            Effect.tap(made, ({ claimed }) =>
              claimed.length > 0 ? at("after the claim's commit") : Effect.void
            )
          )
        }
      }
      return watched
    })
  )

/** Dies at the points of a send, while others of the same window are under way. */
export const dying = (sender: Sender.Sender, dies: Death | null): Sender.Sender => {
  const { around } = reaper(dies)
  return { ...sender, send: (message) => around("before a send", sender.send(message), "after a send") }
}
