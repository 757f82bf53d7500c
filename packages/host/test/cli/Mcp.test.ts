/** contract.md §12: the reads of the admin API as tools, asked for by the protocol's own client. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { Client } from "@modelcontextprotocol/sdk/client/index.js"
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js"
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js"
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js"
import { AdminApi } from "@sendwright/core/contract"
import { afterAll, describe, expect, it } from "vitest"
import { at, items, start } from "../../../../test/support/TestHost.ts"

const main = fileURLToPath(new URL("../../dist/cli/main.js", import.meta.url))
const folder = mkdtempSync(join(tmpdir(), "sendwright-mcp-"))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** A client, for as long as it is used. */
const using = async <A>(transport: Transport, use: (client: Client) => Promise<A>): Promise<A> => {
  const client = new Client({ name: "test", version: "1" })
  await client.connect(transport)
  try {
    return await use(client)
  } finally {
    await client.close()
  }
}

/** A client of `sendwright mcp`. */
const connected = <A>(
  environment: Readonly<Record<string, string>>,
  args: ReadonlyArray<string>,
  use: (client: Client) => Promise<A>
): Promise<A> => {
  const env = { PATH: process.env["PATH"] ?? "", ...environment }
  return using(
    new StdioClientTransport({
      command: process.execPath,
      args: [main, "mcp", ...args],
      env,
      stderr: "ignore"
    }),
    use
  )
}

/** The names of what the admin API reads, as tools. */
const reads = [
  ...AdminApi.operations
    .filter(({ endpoint, isExport }) => endpoint.method === "GET" && !isExport)
    .map(({ command }) => command.name.replaceAll(/[ -]/g, "_")),
  "explain"
].sort()

const called = async (client: Client, name: string, given: Readonly<Record<string, unknown>> = {}) => {
  const { content, isError } = await client.callTool({ name, arguments: given })
  const text = String(at(content, 0, "text"))
  return { isError, text, json: text.startsWith("{") ? JSON.parse(text) : undefined }
}

describe("tools for an agent", () => {
  it("are the reads of the admin API, on the database, with the parameters of the description", async () => {
    const DATABASE_URL = `sqlite:${join(folder, "1.db")}`
    await connected({ DATABASE_URL }, [], async (client) => {
      const { tools } = await client.listTools()
      const names = tools.map(({ name }) => name).sort()
      expect(names).toEqual(reads)
      for (const wanted of ["search", "overview", "health", "jobs_list", "jobs_show", "messages_story"])
        expect(names).toContain(wanted)
      const search = tools.find(({ name }) => name === "search")
      expect(search).toMatchObject({
        annotations: { readOnlyHint: true },
        inputSchema: { required: ["q"], properties: { q: { minLength: 3 }, limit: { maximum: 100 } } }
      })
      expect(JSON.stringify(tools)).not.toContain("$ref")
      // A tool has no exit code.
      expect(tools.find(({ name }) => name === "health")?.description).toMatch(
        /its cause and the next step\.$/
      )
      expect(await called(client, "search", { q: "34600001234" })).toMatchObject({
        json: { ok: true, results: [], next_cursor: null }
      })
      expect(await called(client, "search", { q: "ab" })).toMatchObject({ isError: true })
      expect(await called(client, "explain", { code: "job_ended" })).toMatchObject({ json: { status: 409 } })
      expect(await called(client, "explain", { code: "odd" })).toMatchObject({
        isError: true,
        text: expect.stringContaining("docs/failures.md")
      })
      await expect(called(client, "accounts_create", { name: "Shop" })).rejects.toThrow(/no tool/)
    })
  }, 60_000)

  it("change something only with --write, and where the token may", async () => {
    const DATABASE_URL = `sqlite:${join(folder, "2.db")}`
    const host = await start({ DATABASE_URL })
    try {
      const made = await host.admin("/operators", { name: "ana", role: "read", mask_phones: true })
      const asAna = { SENDWRIGHT_URL: host.base, SENDWRIGHT_TOKEN: String(at(made.json, "token")) }
      const asAdmin = { ...asAna, SENDWRIGHT_TOKEN: host.adminToken }
      const account = await connected(asAdmin, ["--write"], async (client) => {
        const { json } = await called(client, "accounts_create", { name: "Call 34600001234" })
        return String(at(json, "account", "id"))
      })
      await connected(asAna, ["--write"], async (client) => {
        const { json } = await called(client, "accounts_show", { id: account })
        expect(at(json, "account", "name")).toBe("Call +34 600 ··· 234")
        expect(await called(client, "accounts_change", { id: account, name: "Shop" })).toMatchObject({
          isError: true,
          text: expect.stringContaining("role")
        })
        expect(items((await called(client, "accounts_list", { limit: 1 })).json, "accounts")).toHaveLength(1)
      })
      await connected({ ...asAna, SENDWRIGHT_TOKEN: "op_none" }, [], async (client) => {
        expect(await called(client, "overview")).toMatchObject({ isError: true })
      })
    } finally {
      await host.stop()
    }
  }, 60_000)

  it("are asked for over HTTP, too, with a token that may read: reads alone, whatever the role", async () => {
    const DATABASE_URL = `sqlite:${join(folder, "3.db")}`
    const host = await start({ DATABASE_URL })
    const over = <A>(token: string | undefined, use: (client: Client) => Promise<A>): Promise<A> =>
      using(
        new StreamableHTTPClientTransport(new URL(`${host.base}/admin/v1/mcp`), {
          requestInit: { headers: token === undefined ? {} : { authorization: `Bearer ${token}` } }
        }),
        use
      )
    try {
      const made = await host.admin("/operators", { name: "ana", role: "read" })
      for (const token of [String(at(made.json, "token")), host.adminToken])
        await over(token, async (client) => {
          expect(client.getServerVersion()).toMatchObject({ name: "sendwright" })
          const { tools } = await client.listTools()
          expect(tools.map(({ name }) => name).sort()).toEqual(reads)
          expect(await called(client, "search", { q: "34600001234" })).toEqual({
            isError: false,
            text: expect.any(String),
            json: { ok: true, results: [], next_cursor: null }
          })
          expect(await called(client, "search", { q: "ab" })).toMatchObject({ isError: true })
          await expect(called(client, "accounts_create", { name: "Shop" })).rejects.toThrow(/no tool/)
        })
      for (const token of [undefined, "op_none"])
        await expect(over(token, (client) => client.ping())).rejects.toMatchObject({ code: 401 })
    } finally {
      await host.stop()
    }
  }, 60_000)
})
