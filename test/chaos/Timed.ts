/** Processes are killed while sends wait for their time, for their session's hours, and for their client. */
import { Ids } from "@sendwright/core"
import { killing } from "./Kills.ts"
import type * as Ledger from "./Ledger.ts"
import { sleep, startNode } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"
import * as Scenario from "./Scenario.ts"

const minute = 60_000

/** By which the clock of the processes is wrong: on SQLite the hours begin when they should, on PostgreSQL they are waited for. */
const skewTo = async (nodes: number, hoursInMs: number): Promise<number> => {
  const ahead = (minute - hoursInMs - (Date.now() % minute) + minute) % minute
  if (nodes === 1) return ahead
  await sleep(ahead)
  return 0
}

/**
 * Of three jobs one is scheduled, one is held by its client until half of the kills are over, and all are put off to hours that
 * begin after a third of them. What goes before its time is unexplained.
 */
export const killed = async (setting: Setting): Promise<Ledger.Account> => {
  const { kills, nodes: count } = setting
  const lifeMs = 500
  const hoursInMs = Math.min(8000 + (kills * lifeMs) / 3, 50_000)
  const skewMs = await skewTo(count, hoursInMs)
  const hoursAt = Math.ceil((Date.now() + skewMs) / minute) * minute
  const sendAt = hoursAt + 2 * lifeMs
  const messagesPerSecond = Math.max(5, (setting.jobs * setting.recipients * 1000) / (kills * lifeMs))
  const scenario = await Scenario.begin(
    setting,
    "deduplicating",
    { latencyMs: [20, 200], resets: 0.005 },
    {
      messagesPerSecond,
      skew: skewMs === 0 ? null : { ms: skewMs, laterMs: skewMs, afterMs: 0 },
      times: { sendAt, hoursAt, resumes: [] }
    }
  )
  const { accepted, gateway, ledger, order } = scenario
  const jobs = [...accepted]
  const held = jobs.filter((_, place) => place % 3 === 1)
  let resumedAt = Number.POSITIVE_INFINITY
  const resume = async (kill: number): Promise<void> => {
    if (kill !== Math.ceil(kills / 2)) return
    resumedAt = Date.now() + skewMs
    const resumes = startNode({ ...order, task: "resume", times: { sendAt, hoursAt, resumes: held } })
    if ((await resumes.ended) !== 0) throw new Error(`Nothing was resumed:\n${resumes.output()}`)
  }
  const { inFlight, nodes } = await killing(setting, ledger, lifeMs, () => startNode(order), resume)
  await scenario.drain(nodes, 120_000)
  const earliest = (place: number): number =>
    Math.max(hoursAt, place % 3 === 0 ? sendAt : place % 3 === 1 ? resumedAt : 0)
  const early = jobs.flatMap((jobId, place) =>
    Array.from({ length: setting.recipients }, (_, index) => Ids.messageId(jobId, index)).filter(
      (messageId) => (gateway.firstAt.get(messageId) ?? Number.POSITIVE_INFINITY) + skewMs < earliest(place)
    )
  )
  const account = await scenario.account({
    fault: "kill -9 amid scheduled, held and put-off sends",
    faults: kills,
    inFlight
  })
  return { ...account, unexplained: account.unexplained + early.length }
}
