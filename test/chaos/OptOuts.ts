/**
 * Hosts are killed and clients hang up while a platform's hook brings opt-outs; the platform repeats each until it is
 * answered 200. Every person it was answered for has no consent any more, and nothing is sent to one.
 */
import { createHmac } from "node:crypto"
import { request } from "node:http"
import { at, consent, items, sendBody, tenant } from "../support/TestHost.ts"
import * as Fleet from "./Fleet.ts"
import type { Account } from "./Ledger.ts"
import { sleep } from "./Processes.ts"
import type { Setting } from "./Scenario.ts"

const secret = "a-secret-of-the-gateway"
const peoplePerHook = 25
const words = ["STOP", "stop!", "BAJA", "Arrêt", "إيقاف", "रोकें", "Parar", "unsubscribe"]

/** Posts a signed hook; answers its status, or undefined where none came. A hang-up closes the socket soon after the body. */
const post = (
  base: string,
  sessionId: string,
  body: string,
  hangUpAfterMs: number | null
): Promise<number | undefined> =>
  new Promise((resolve) => {
    const timestamp = String(Math.floor(Date.now() / 1000))
    const signature = createHmac("sha256", secret).update(`${timestamp}.${body}`).digest("hex")
    const sent = request(`${base}/hooks/http/${sessionId}`, {
      method: "POST",
      agent: false,
      headers: {
        "content-type": "application/json",
        "x-service-timestamp": timestamp,
        "x-service-signature": signature
      }
    })
    sent.on("response", (response) => {
      response.resume()
      response.on("error", () => resolve(undefined))
      response.on("end", () => resolve(response.statusCode))
    })
    sent.on("error", () => resolve(undefined))
    sent.end(body)
    if (hangUpAfterMs !== null) setTimeout(() => sent.destroy(), hangUpAfterMs)
  })

export const killed = async (setting: Setting, kills: number): Promise<Account> => {
  const { random } = setting
  const store = await setting.freshStore()
  const fleet = await Fleet.start(store, setting.nodes, random)
  const config = { url: "http://127.0.0.1:9/", secret }
  const session = { provider: "http", config }
  const { accountId, credentials, sessionId, templateId } = await tenant(fleet.first, { session })
  await fleet.first.admin(`/sessions/${sessionId}/connect`, undefined, "POST")

  /** Everybody whose opt-out was answered 200. */
  const gone: Array<string> = []
  let hooks = 0
  let repeats = 0
  let over = false
  const consenting = async (phones: ReadonlyArray<string>): Promise<void> => {
    for (;;) {
      const answer = await consent(fleet.any(), accountId, ...phones).catch(() => undefined)
      if (answer?.status === 200) return
      await sleep(50)
    }
  }
  const platform = async (): Promise<void> => {
    while (!over) {
      const hook = hooks++
      const phones = Array.from(
        { length: peoplePerHook },
        (_, n) => `3462${String(hook * peoplePerHook + n).padStart(7, "0")}`
      )
      await consenting(phones)
      // At once: a grant that was answered is recorded before the opt-out, whichever host's clock is ahead.
      const messages = phones.map((from, n) => ({
        id: `in-${hook}-${n}`,
        from,
        text: words[(hook + n) % words.length],
        at: new Date().toISOString()
      }))
      const body = JSON.stringify({ messages })
      for (let tries = 0; ; tries++) {
        const hangUp = random() < 0.5 && tries < 4 ? 30 * random() : null
        if ((await post(fleet.any().base, sessionId, body, hangUp)) === 200) break
        repeats += 1
        await sleep(30 * random())
      }
      gone.push(...phones)
    }
  }
  const running = Promise.all(Array.from({ length: 4 }, platform))
  const breaking = (async () => {
    for (let kill = 0; kill < kills; kill++) {
      await sleep(800 * random())
      await fleet.kill()
    }
    over = true
  })()
  try {
    await Promise.all([running, breaking])
  } finally {
    over = true
    await Promise.allSettled([running, breaking])
  }

  // One that may still get a message was lost, however it came about.
  const host = fleet.any()
  let lost = 0
  for (let from = 0; from < gone.length; from += 250) {
    const phones = gone.slice(from, from + 250)
    const answer = await host.request("/api/v1/template-messages/send", {
      headers: { ...credentials, "idempotency-key": `after-${from}` },
      body: sendBody(templateId, ...phones)
    })
    if (answer.status !== 202 && answer.status !== 403) {
      throw new Error(`A send after the opt-outs was answered with ${answer.status}: ${answer.text}`)
    }
    const refused = answer.status === 403 ? items(answer.json, "errors").length : 0
    if (refused < phones.length) {
      const told = new Set(items(answer.json, "errors").map((error) => at(error, "pointer")))
      const place = phones.findIndex((_, index) => !told.has(`/recipients/${index}/phone`))
      const history = await host.admin(`/accounts/${accountId}/consents?phone=${phones[place]}`)
      setting.say(`${phones.length - refused} may still be sent to, the first of them: ${history.text}`)
    }
    lost += phones.length - refused
  }
  await fleet.stop()
  setting.say(`${gone.length} opt-outs in ${hooks} hooks, ${repeats} repeated`)
  return {
    fault: "kill -9 of hosts and hang-ups while opt-outs come in",
    faults: kills + repeats,
    sends: gone.length,
    lost,
    repeated: 0,
    unexplained: 0,
    unknown: 0,
    inFlight: 0,
    parked: 0
  }
}
