/** A host of its own process, on a free port of 127.0.0.1 and a fresh database, and the calls a test makes of it. */
import { spawn } from "node:child_process"
import { mkdtempSync, readdirSync, rmSync, statSync } from "node:fs"
import { createServer } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { mortal } from "./mortal.ts"

export interface Answer {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  /** The body read as JSON; tests look into it with `at`. */
  readonly json: unknown
}

/** How a process ended. */
export interface Ended {
  readonly code: number | null
  readonly signal: NodeJS.Signals | null
  /** Since the first signal that was sent. */
  readonly afterMs: number
}

export interface TestHost {
  readonly base: string
  /** Of its process. */
  readonly pid: number
  readonly adminToken: string
  readonly output: () => string
  readonly request: (path: string, options?: RequestOptions) => Promise<Answer>
  readonly admin: (path: string, body?: unknown, method?: string) => Promise<Answer>
  /** Waits for the end, and deletes the database that the host was given here. */
  readonly stop: () => Promise<void>
  /** Sends a signal and waits for nothing. */
  readonly signal: (name: NodeJS.Signals) => void
  readonly ended: Promise<Ended>
}

export interface RequestOptions {
  readonly method?: string
  readonly headers?: Readonly<Record<string, string>>
  /** Sent as JSON. */
  readonly body?: unknown
  /** Sent as it is. */
  readonly raw?: string | Uint8Array
}

const parse = (text: string): unknown => {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** `at(answer.json, "job", "counts", "failed")`; numbers index arrays. */
export const at = (value: unknown, ...path: ReadonlyArray<string | number>): unknown =>
  path.reduce<unknown>(
    (found, name) => (typeof found === "object" && found !== null ? Reflect.get(found, name) : undefined),
    value
  )

export const items = (value: unknown, ...path: ReadonlyArray<string | number>): ReadonlyArray<unknown> => {
  const found = at(value, ...path)
  return Array.isArray(found) ? found : []
}

const freePort = () =>
  new Promise<number>((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const address = server.address()
      server.close(() => resolve(typeof address === "object" && address !== null ? address.port : 0))
    })
  })

/** As `npm start` does: the bundle starts in a third of the time of the modules that it is made of. */
const main = fileURLToPath(new URL("../../packages/host/dist/bundle/main.mjs", import.meta.url))

const sources = ["core", "host", "http"].map((name) =>
  fileURLToPath(new URL(`../../packages/${name}/src`, import.meta.url))
)

/** A test of what was built before the last change would tell of a host that is no more. */
const refuseStale = (): void => {
  const built = statSync(main, { throwIfNoEntry: false })?.mtimeMs ?? 0
  const isNewer = (file: string): boolean => statSync(file).mtimeMs > built
  const changed = sources.flatMap((folder) =>
    readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath, entry.name))
      .filter(isNewer)
  )
  if (changed.length === 0) return
  throw new Error(
    `${changed[0]} changed after the host was built: run \`npm run build\`, then the test again.`
  )
}

let isFresh = false

/** @param program the arguments of Node */
export const start = async (
  environment: Readonly<Record<string, string>> = {},
  program: ReadonlyArray<string> = [main]
): Promise<TestHost> => {
  if (!isFresh) refuseStale()
  isFresh = true
  const folder = mkdtempSync(join(tmpdir(), "sendwright-test-"))
  const port = environment["PORT"] ?? String(await freePort())
  let base = `http://127.0.0.1:${port}`
  const adminToken = "test-admin-token-0123456789abcdef"
  let output = ""
  const child = mortal(
    spawn(process.execPath, program, {
      env: {
        PATH: process.env["PATH"] ?? "",
        PORT: port,
        HOST: "127.0.0.1",
        BASE_URL: base,
        DATABASE_URL: `sqlite:${join(folder, "host.db")}`,
        ADMIN_TOKEN: adminToken,
        LOG_LEVEL: "info",
        LOG_FORMAT: "json",
        WEBHOOK_ALLOWED_NETWORKS: "127.0.0.0/8",
        ...environment
      },
      stdio: ["ignore", "pipe", "pipe"]
    })
  )
  child.stdout.on("data", (chunk) => {
    output += chunk
  })
  child.stderr.on("data", (chunk) => {
    output += chunk
  })
  let signaled: number | undefined
  const signal = (name: NodeJS.Signals) => {
    signaled ??= performance.now()
    child.kill(name)
  }
  const ended = new Promise<Ended>((resolve) =>
    // Not `exit`: what was written last would be missing.
    child.once("close", (code, by) =>
      resolve({ code, signal: by, afterMs: performance.now() - (signaled ?? performance.now()) })
    )
  )

  const request: TestHost["request"] = async (path, options = {}) => {
    const { body, headers = {}, raw } = options
    const content = raw ?? (body === undefined ? undefined : JSON.stringify(body))
    const response = await fetch(`${base}${path}`, {
      method: options.method ?? (content === undefined ? "GET" : "POST"),
      redirect: "manual",
      headers: { ...(content === undefined ? {} : { "content-type": "application/json" }), ...headers },
      ...(content === undefined ? {} : { body: content })
    })
    const text = await response.text()
    return { status: response.status, headers: response.headers, text, json: parse(text) }
  }

  const stop = async () => {
    if (child.exitCode === null && child.signalCode === null) signal("SIGTERM")
    await ended
    rmSync(folder, { recursive: true, force: true })
  }

  for (let tries = 0; ; tries++) {
    if (child.exitCode !== null || tries > 600) {
      child.kill("SIGKILL")
      rmSync(folder, { recursive: true, force: true })
      throw new Error(`The host did not start:\n${output}`)
    }
    if (port === "0") base = /Sendwright is on (http:[^\s"]+)/.exec(output)?.[1] ?? base
    const ready = await fetch(`${base}/health/ready`).catch(() => undefined)
    if (ready?.ok === true) break
    await new Promise((resolve) => setTimeout(resolve, 100))
  }

  return {
    base,
    pid: child.pid ?? 0,
    adminToken,
    output: () => output,
    request,
    admin: (path, body, method) =>
      request(`/admin/v1${path}`, {
        headers: { authorization: `Bearer ${adminToken}` },
        ...(method === undefined ? {} : { method }),
        ...(body === undefined ? {} : { body })
      }),
    stop,
    signal,
    ended
  }
}

/** A template with a text header, two body variables and a URL button. */
export const template = {
  name: "order_confirmation",
  language: "en_US",
  category: "UTILITY",
  status: "APPROVED",
  components: [
    { type: "HEADER", format: "TEXT", text: "Order {{1}}", example: { header_text: ["A-1"] } },
    { type: "BODY", text: "Hello {{1}}, it arrives {{2}}.", example: { body_text: [["Ana", "today"]] } },
    {
      type: "BUTTONS",
      buttons: [{ type: "URL", text: "Track", url: "https://shop.example/t/{{1}}", example: ["A-1"] }]
    }
  ]
}

export interface Tenant {
  readonly accountId: string
  readonly sessionId: string
  readonly publicKey: string
  readonly secretKey: string
  readonly templateId: number
  readonly credentials: Readonly<Record<string, string>>
  readonly send: (body: unknown, idempotencyKey?: string) => Promise<Answer>
  readonly get: (path: string) => Promise<Answer>
  readonly post: (path: string, body?: unknown, headers?: Readonly<Record<string, string>>) => Promise<Answer>
}

let tenants = 0

/** An account of its own with a connected sandbox session, a key and the template; no minimum wait unless asked for. */
export const tenant = async (
  host: TestHost,
  options: {
    readonly plan?: Readonly<Record<string, unknown>>
    readonly session?: Readonly<Record<string, unknown>>
    readonly permissions?: ReadonlyArray<string>
  } = {}
): Promise<Tenant> => {
  tenants += 1
  const plan = { minimum_wait_ms: 0, requests_per_minute: 100_000, ...options.plan }
  const account = await host.admin("/accounts", { name: `Tenant ${tenants}`, currency: "EUR", plan })
  const accountId = String(at(account.json, "account", "id"))
  const session = await host.admin(`/accounts/${accountId}/sessions`, {
    name: "Sandbox",
    provider: "sandbox",
    ...options.session
  })
  const sessionId = String(at(session.json, "session", "id"))
  const key = await host.admin(
    `/sessions/${sessionId}/keys`,
    options.permissions === undefined ? {} : { permissions: options.permissions }
  )
  const imported = await host.admin(`/sessions/${sessionId}/templates`, { templates: [template] }, "PUT")
  const publicKey = String(at(key.json, "key", "public_key"))
  const secretKey = String(at(key.json, "secret_key"))
  const credentials = { "x-public-key": publicKey, "x-secret-key": secretKey }
  const post: Tenant["post"] = (path, body, headers = {}) =>
    host.request(path, {
      method: "POST",
      headers: { ...credentials, ...headers },
      ...(body === undefined ? {} : { body })
    })
  return {
    accountId,
    sessionId,
    publicKey,
    secretKey,
    templateId: Number(at(imported.json, "templates", 0, "template_id")),
    credentials,
    send: (body, idempotencyKey) =>
      post(
        "/api/v1/template-messages/send",
        body,
        idempotencyKey === undefined ? {} : { "idempotency-key": idempotencyKey }
      ),
    get: (path) => host.request(path, { headers: credentials }),
    post
  }
}

export const consent = (
  host: TestHost,
  accountId: string,
  ...phones: ReadonlyArray<string>
): Promise<Answer> =>
  host.admin(`/accounts/${accountId}/consents`, {
    consents: phones.map((phone) => ({ phone, source: "test" }))
  })

/** A valid send to the given phones. */
export const sendBody = (templateId: number, ...phones: ReadonlyArray<string>) => ({
  template_id: templateId,
  variables: { "header.1": "A-1", "body.2": "today", "button.0.1": "A-1" },
  recipients: phones.map((phone, index) => ({
    phone,
    external_id: `r${index}`,
    variables: { "body.1": `Name ${index}` }
  }))
})

/** Asks again until it is so, for at most the given time. */
export const eventually = async <A>(
  ask: () => Promise<A>,
  isSo: (answer: A) => boolean,
  withinMs = 45_000
): Promise<A> => {
  const deadline = Date.now() + withinMs
  for (;;) {
    const answer = await ask()
    if (isSo(answer) || Date.now() > deadline) return answer
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
}
