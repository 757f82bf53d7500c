/** Starts the processes of {@link ./hostile.ts}, and ends only those. */
import { spawn } from "node:child_process"
import { fileURLToPath } from "node:url"
import { mortal } from "../support/mortal.ts"
import { sleep } from "./Figures.ts"
import type { Crowd, Order } from "./hostile.ts"

const program = fileURLToPath(new URL("./hostile.ts", import.meta.url))

/** Returns once all sockets were opened, or some time has passed; `end` kills the process. */
export const attack = async (base: string, crowds: ReadonlyArray<Crowd>): Promise<{ end: () => void }> => {
  const order: Order = { port: Number(new URL(base).port), crowds }
  const child = mortal(
    spawn(process.execPath, ["--import", "tsx", program], {
      env: { ...process.env, ATTACK: JSON.stringify(order) },
      stdio: ["ignore", "pipe", "inherit"]
    })
  )
  const up = new Promise((resolve) => child.stdout?.once("data", resolve))
  await Promise.race([up, sleep(15_000)])
  return {
    end: () => {
      child.kill("SIGKILL")
    }
  }
}
