/** The WhatsApp session of a new user, who has docs/whatsapp.md and nothing else, against the stand-in of the Graph API. */
import { readFileSync } from "node:fs"
import { createServer } from "node:http"
import { memory, type Sendwright, SendwrightError, type SendwrightEvent, whatsapp } from "sendwright"
import { createHandler, toNodeHandler } from "sendwright/http"
import ts from "typescript"
import { expect, it, onTestFinished, vi } from "vitest"
import * as Graph from "../../../test/graph/Graph.ts"
import { listen, prefix } from "./Servers.ts"
import { ana, list, open, template } from "./Support.ts"

const page = readFileSync(new URL("../../../docs/whatsapp.md", import.meta.url), "utf8")

/** The page's function, as it stands there. */
const connectNumber = async (sw: Sendwright, accountId: string): Promise<string> => {
  const [snippet = ""] = page.split("```ts\n").flatMap((each) => {
    const [code = ""] = each.split("```")
    return code.includes("connectNumber") ? [code] : []
  })
  const { outputText } = ts.transpileModule(snippet, { compilerOptions: { module: ts.ModuleKind.ESNext } })
  const module = await import(`data:text/javascript,${encodeURIComponent(outputText)}`)
  return module.connectNumber(sw, accountId)
}

const access = {
  phoneNumberId: "106540352242922",
  wabaId: "102290129340398",
  accessToken: "token-of-the-first-hour",
  appSecret: "app-secret-of-this-app",
  verifyToken: "any text of mine"
}

const started = async () => {
  const graph = await Graph.start({ ...access, templates: [{ id: "1001", ...template() }] })
  onTestFinished(() => graph.close())
  const variables: ReadonlyArray<readonly [string, string]> = [
    ["PHONE_NUMBER_ID", access.phoneNumberId],
    ["WABA_ID", access.wabaId],
    ["ACCESS_TOKEN", access.accessToken],
    ["APP_SECRET", access.appSecret],
    ["VERIFY_TOKEN", access.verifyToken],
    ["GRAPH_URL", graph.url]
  ]
  for (const [name, value] of variables) vi.stubEnv(name, value)
  onTestFinished(() => {
    vi.unstubAllEnvs()
  })
  const sw = await open({ store: memory(), senders: [whatsapp()] })
  const { id: accountId } = await sw.admin.accounts.create({ name: "Shop" })
  return { accountId, graph, sw }
}

it("is made by the page alone, sends, and hears what became of it", async () => {
  const { accountId, graph, sw } = await started()
  const heard: Array<SendwrightEvent> = []
  sw.on("recipient.delivered", (event) => {
    heard.push(event)
  })
  const id = await connectNumber(sw, accountId)
  const base = await listen(createServer(toNodeHandler(createHandler(sw, { prefix }))))
  expect(await graph.subscribe(`${base}${prefix}/hooks/whatsapp/${id}`)).toBe(true)
  await sw.admin.consents.record({ accountId, consents: [{ phone: ana, source: "form" }] })
  const { jobId } = await sw
    .session(id)
    .send({ template: "hello", to: [{ phone: ana }], idempotencyKey: "1" })
  await sw.drain()
  await graph.settled()
  await sw.drain()
  expect((await sw.session(id).job(jobId)).results).toMatchObject([{ phone: ana, status: "delivered" }])
  expect(heard).toMatchObject([{ data: { jobId, sessionId: id, phone: ana } }])
  expect(graph.faults()).toEqual([])
})

it("has another token by a change of the token alone", async () => {
  const { accountId, sw } = await started()
  vi.stubEnv("ACCESS_TOKEN", "a token that is over")
  await expect(connectNumber(sw, accountId)).rejects.toThrow(/WhatsApp says: .*token/i)
  const [id = ""] = (await list(sw.admin.sessions.list({ accountId }))).map((each) => each.id)
  await sw.admin.sessions.change({ id, config: { accessToken: access.accessToken } })
  expect(await sw.admin.sessions.connect({ id })).toMatchObject({ state: "connected", reason: null })
})

it("names what is wrong as the app wrote it, and never suggests the name that was given", async () => {
  const { accountId, sw } = await started()
  const made = (config: Readonly<Record<string, unknown>>) =>
    sw.admin.sessions.create({ accountId, name: "x", provider: "whatsapp_cloud", config })
  const told = await made({
    phone_number_id: "1",
    wabbaId: "2",
    accessTokn: "x",
    appSecret: 1,
    verifyToken: "y"
  })
    .then(() => undefined)
    .catch((error: unknown) => (SendwrightError.is(error) ? error : undefined))
  expect(told?.issues.map(({ message, path }) => [path, message]).toSorted()).toEqual([
    ["/config/accessToken", "`accessToken` is required."],
    ["/config/accessTokn", "`accessTokn` is not known here. Did you mean `accessToken`?"],
    ["/config/appSecret", "`appSecret` must be a string."],
    ["/config/phoneNumberId", "`phoneNumberId` is required."],
    ["/config/phone_number_id", "`phone_number_id` is not known here. Did you mean `phoneNumberId`?"],
    ["/config/wabaId", "`wabaId` is required."],
    ["/config/wabbaId", "`wabbaId` is not known here. Did you mean `wabaId`?"]
  ])
  expect(told?.message).toBe(`${told?.issues[0]?.message} (and 6 more)`)
  await expect(made({ ...access, zzz: 1 })).rejects.toThrow(
    "`zzz` is not known here. Known here: phoneNumberId, wabaId, accessToken, appSecret, appSecrets, verifyToken, apiVersion, baseUrl, messagesPerSecond, portfolioId."
  )
})
