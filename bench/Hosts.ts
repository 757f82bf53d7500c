/** The real host, as an operator starts it, with a tenant without limits. */
import { readFileSync } from "node:fs"
import { spawned } from "./Bench.ts"
import * as Sends from "./Sends.ts"
import type { Running } from "./Servers.ts"

const host = import.meta.resolve("@sendwright/host")
const manifest: { readonly bin: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync(new URL("../package.json", host), "utf8")
)

/** What its package starts. */
export const program = new URL(manifest.bin["sendwright-host"] ?? "", new URL("../", host)).pathname

const adminToken = "bench-admin-token-0123456789abcdef"

const settings = {
  PORT: "0",
  HOST: "127.0.0.1",
  ADMIN_TOKEN: adminToken,
  SECRET_KEY: Buffer.alloc(32, 1).toString("base64"),
  WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
  LOG_FORMAT: "json"
}

export type Admin = (method: string, path: string, body?: unknown) => Promise<Answer>

/** What the admin API answers, as far as it is needed here. */
interface Answer {
  readonly account: { readonly id: string }
  readonly session: { readonly id: string }
  readonly key: { readonly public_key: string }
  readonly secret_key: string
  readonly templates: ReadonlyArray<{ readonly template_id: number }>
}

export const start = async (environment: Readonly<Record<string, string>>) => {
  const child = await spawned([program], { ...settings, ...environment }, /Sendwright is on (http:[^\s"]+)/)
  const base = child.found?.[1] ?? ""
  const admin: Admin = async (method, path, body) => {
    const response = await fetch(`${base}/admin/v1${path}`, {
      method,
      headers: {
        authorization: `Bearer ${adminToken}`,
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    const text = await response.text()
    if (!response.ok) throw new Error(`${method} ${path}: ${text}`)
    return JSON.parse(text)
  }
  return { ...child, base, port: Number(new URL(base).port), admin }
}

export type Host = Awaited<ReturnType<typeof start>>

const perRequest = 1000

/** A tenant of a host, and as many consents as a service has that has been there for a while. */
export const tenant = async (
  { admin, pid, port }: Host,
  options: { readonly provider: string; readonly config?: unknown; readonly consents: number }
): Promise<Running & { readonly accountId: string; readonly sessionId: string }> => {
  const plan = { minimum_wait_ms: 0, daily_template_recipients: null, requests_per_minute: 1_000_000 }
  const { account } = await admin("POST", "/accounts", { name: "bench", plan })
  const { provider, config } = options
  const { session } = await admin("POST", `/accounts/${account.id}/sessions`, {
    name: "bench",
    provider,
    ...(config === undefined ? {} : { config })
  })
  if (config !== undefined) await admin("POST", `/sessions/${session.id}/connect`)
  const { key, secret_key } = await admin("POST", `/sessions/${session.id}/keys`, {})
  const { templates } = await admin("PUT", `/sessions/${session.id}/templates`, {
    templates: [Sends.template]
  })
  for (let from = 0; from < options.consents; from += perRequest) {
    const consents = Array.from({ length: Math.min(perRequest, options.consents - from) }, (_, n) => ({
      phone: Sends.phone(from + n),
      source: "bench"
    }))
    await admin("POST", `/accounts/${account.id}/consents`, { consents })
  }
  return {
    pid,
    port,
    headers: { "x-public-key": key.public_key, "x-secret-key": secret_key },
    templateId: templates[0]?.template_id ?? 0,
    accountId: account.id,
    sessionId: session.id
  }
}

/** Whether nothing of a tenant waits to be sent any more. */
export const isDrained = async ({ headers, port }: Running): Promise<boolean> => {
  for (const status of ["queued", "processing"]) {
    const response = await fetch(
      `http://127.0.0.1:${port}/api/v1/template-messages?status=${status}&limit=1`,
      {
        headers
      }
    )
    const { jobs }: { readonly jobs: ReadonlyArray<unknown> } = JSON.parse(await response.text())
    if (jobs.length > 0) return false
  }
  return true
}
