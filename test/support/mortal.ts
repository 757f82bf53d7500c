/** A process that a script or test starts goes with it, however it ends; only a kill -9 leaves it behind. */
import type { ChildProcess } from "node:child_process"

const living = new Set<ChildProcess>()

process.once("exit", () => {
  for (const child of living) child.kill("SIGKILL")
})

export const mortal = <Child extends ChildProcess>(child: Child): Child => {
  living.add(child)
  child.once("close", () => living.delete(child))
  return child
}
