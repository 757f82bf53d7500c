import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join, resolve } from "node:path"
import { describe, expect, it } from "@effect/vitest"
import { HttpLimits } from "@sendwright/http/server"
import * as ConfigProvider from "effect/ConfigProvider"
import * as Effect from "effect/Effect"
import * as Redacted from "effect/Redacted"
import * as HostConfig from "../src/HostConfig.ts"

const load = (environment: Readonly<Record<string, string>>) =>
  HostConfig.load.pipe(
    Effect.withConfigProvider(
      ConfigProvider.fromMap(new Map(Object.entries({ DATABASE_URL: "sqlite::memory:", ...environment })))
    )
  )

const secretKey = Buffer.alloc(32, 7).toString("base64")

describe("the settings", () => {
  it.effect("have defaults, and an empty variable counts as absent", () =>
    Effect.gen(function* () {
      const config = yield* load({ ADMIN_TOKEN: "", PORT: "" })
      expect(config).toMatchObject({
        port: 8080,
        host: "127.0.0.1",
        database: { kind: "sqlite", filename: ":memory:" },
        adminToken: undefined,
        logFormat: "pretty",
        role: "all",
        stopGraceMs: 25_000,
        allowedNetworks: [],
        webhookProxy: undefined,
        webhookHeaders: {
          signature: "X-Service-Signature",
          previousSignature: "X-Service-Signature-Previous",
          timestamp: "X-Service-Timestamp"
        },
        webhookJitter: 0.2
      })
      expect(Redacted.value(config.secretKey)).toHaveLength(32)
    })
  )

  it.effect("take a file's path as it is", () =>
    Effect.gen(function* () {
      for (const path of ["/data/x", "./x", "../x/y.db", "x.db", "data/x.sqlite", "/odd name:@/x"])
        expect((yield* load({ DATABASE_URL: path, SECRET_KEY: secretKey })).database).toEqual({
          kind: "sqlite",
          filename: resolve(path)
        })
    })
  )

  it.effect("refuse an admin token that can be guessed where others than this machine reach the host", () =>
    Effect.gen(function* () {
      const short = "x".repeat(23)
      for (const HOST of [
        "0.0.0.0",
        "::",
        "10.0.0.7",
        "host.example",
        "127.0.0.1.example",
        "localhost.example"
      ]) {
        for (const ADMIN_TOKEN of [short, `${short.slice(1)}y`, "x".repeat(28)]) {
          const refused = yield* Effect.flip(load({ HOST, ADMIN_TOKEN }))
          expect(refused.message).toBe(
            "ADMIN_TOKEN: must have at least 24 characters, and not one repeated, where HOST is not a loopback address (openssl rand -base64 24)"
          )
        }
        expect((yield* load({ HOST, ADMIN_TOKEN: `${short}y` })).hasWeakToken).toBe(false)
        expect((yield* load({ HOST })).hasWeakToken).toBe(false)
      }
      for (const HOST of ["127.0.0.1", "127.9.9.9", "::1", "localhost"]) {
        expect((yield* load({ HOST, ADMIN_TOKEN: short })).hasWeakToken).toBe(true)
      }
    })
  )

  it.effect("make a base URL of any address, with the port that is listened on", () =>
    Effect.gen(function* () {
      const { baseUrlOf } = HostConfig
      expect(baseUrlOf(yield* load({}), 8080)).toBe("http://127.0.0.1:8080")
      expect(baseUrlOf(yield* load({ HOST: "::1", PORT: "0" }), 81)).toBe("http://[::1]:81")
      expect(baseUrlOf(yield* load({ BASE_URL: "https://api.example/" }), 81)).toBe("https://api.example")
      const below = "http://[::1]:8080/a/b%20c"
      expect(baseUrlOf(yield* load({ BASE_URL: below }), 81)).toBe(below)
    })
  )

  it.effect("tell when links lead nowhere: where the host listens on every address and none is given", () =>
    Effect.gen(function* () {
      const dead = (variables: Record<string, string>) => Effect.map(load(variables), HostConfig.hasDeadLinks)
      for (const HOST of ["0.0.0.0", "::"]) {
        expect(yield* dead({ HOST })).toBe(true)
        expect(yield* dead({ HOST, BASE_URL: "https://messages.example" })).toBe(false)
      }
      expect(yield* dead({ HOST: "10.0.0.1" })).toBe(false)
      expect(yield* dead({})).toBe(false)
    })
  )

  it.effect("let gateways be on this machine only where no other reaches the host, unless told", () =>
    Effect.gen(function* () {
      const networks = (environment: Readonly<Record<string, string>>) =>
        Effect.map(load(environment), (config) =>
          HostConfig.senderNetworksOf(config).map(([address, bits]) => `${address}/${bits}`)
        )
      for (const HOST of ["127.0.0.1", "127.1.2.3", "localhost", "::1"]) {
        expect(yield* networks({ HOST }), HOST).toEqual(["127.0.0.0/8", "::1/128"])
      }
      for (const HOST of ["0.0.0.0", "::", "10.0.0.1", "127.example.com"]) {
        expect(yield* networks({ HOST }), HOST).toEqual([])
      }
      expect(yield* networks({ SENDER_ALLOWED_NETWORKS: "none" })).toEqual([])
      const both = { HOST: "0.0.0.0", SENDER_ALLOWED_NETWORKS: "10.0.0.0/8, fd00::/8" }
      expect(yield* networks(both)).toEqual(["10.0.0.0/8", "fd00::/8"])
    })
  )

  it.effect("of limits are counts, seconds and sizes", () =>
    Effect.gen(function* () {
      expect((yield* load({})).limits).toEqual(HttpLimits.defaults)
      const given = {
        LIMIT_PIPELINED: "3",
        LIMIT_STALLED: "4",
        LIMIT_HEADS: "50",
        LIMIT_BODIES: "6",
        TRUST_PROXY: "10.0.0.0/8, fd00::/8"
      }
      const { limits, trustedProxies } = yield* load(given)
      const wanted = { pipelined: 3, stalled: 4000, heads: 50 * 1024, bodies: 6 * 1024 * 1024 }
      expect(limits).toEqual({ ...HttpLimits.defaults, ...wanted })
      expect(trustedProxies).toHaveLength(2)
    })
  )

  it.effect("that are bad are named once, with what would be right and without the value", () =>
    Effect.gen(function* () {
      const bad: Readonly<Record<string, ReadonlyArray<string>>> = {
        PORT: ["eighty", "65536", "-1", "1e3"],
        ADMIN_TOKEN: [" ".repeat(28), "ö".repeat(28), `${"a1".repeat(14)} `, `${"a1".repeat(14)}\u0000`],
        BASE_URL: [
          "example.com",
          "ftp://example.com",
          "https:example.com",
          "http://u:hunter2@x",
          "http://u@x",
          'http://x/y"<script>',
          "http://x/y?z",
          "http://x/#y",
          "http://x\\y",
          "http://x/\u0001y",
          "http://bücher.example"
        ],
        DATABASE_URL: [
          "mysql://localhost",
          "sqlite:",
          "postgres",
          "sqlite:file:x?mode=memory",
          "sqlite:file:x",
          "sqlite:x.db?mode=ro",
          "./x.db?mode=ro",
          "db.internal/sendwright",
          "db.internal:5432/x.db",
          "me@db.internal/x.db"
        ],
        SECRET_KEY: [
          "short",
          `${secretKey},short`,
          `${secretKey},`,
          `${secretKey}AAAA`,
          `${secretKey.slice(0, -2)}!=`
        ],
        LOG_FORMAT: ["xml"],
        LOG_LEVEL: ["loud", "constructor"],
        WEBHOOK_ALLOWED_NETWORKS: ["10.0.0.0", "10.0.0.0/8,nonsense"],
        SENDER_ALLOWED_NETWORKS: ["10.0.0.0", "none,10.0.0.0/8", "localhost"],
        WEBHOOK_PROXY: ["proxy.example:3128", "socks5://127.0.0.1:1080"],
        WEBHOOK_SIGNATURE_HEADER: ["X Signature", "webhook-signature", "Host", "é"],
        WEBHOOK_TIMESTAMP_HEADER: ["X:Time", "Content-Type"],
        WEBHOOK_RETRY_JITTER: ["-1", "101", "0.2"],
        ROLE: ["both"],
        WORKER_CONCURRENCY: ["0", "many"],
        STOP_GRACE: ["0", "25s", "0.5"],
        TRUST_PROXY: ["10.0.0.1", "10.0.0.0/8;::1/128", "all"],
        LIMIT_CONNECTIONS: ["0", "many", "-1"],
        LIMIT_STALLED: ["0", "0.5", "10s"],
        SANDBOX_LATENCY_MS: ["-1", "slow"]
      }
      for (const [variable, values] of Object.entries(bad)) {
        for (const value of values) {
          const { message } = yield* Effect.flip(load({ [variable]: value }))
          expect(message).toMatch(new RegExp(`^${variable}: must be .+`))
          expect(message).not.toContain("\n")
          expect(message.replace(/^\w+: /, "")).not.toContain(` ${value} `)
        }
      }
    })
  )

  it.effect("that are bad are all named at once, also what is wrong only with two together", () =>
    Effect.gen(function* () {
      const { message } = yield* Effect.flip(
        load({
          PORT: "eighty",
          HOST: "0.0.0.0",
          ADMIN_TOKEN: "short",
          DATABASE_URL: "postgres://me:hidden@db.example/sends",
          ROLE: "both",
          LIMIT_STALLED: "0",
          LIMIT_HEADS: "1",
          WEBHOOK_TIMESTAMP_HEADER: "X-Service-Signature"
        })
      )
      expect(message.split("\n").map((line) => line.split(":")[0])).toEqual([
        "PORT",
        "ROLE",
        "LIMIT_HEADS",
        "LIMIT_STALLED",
        "ADMIN_TOKEN",
        "WEBHOOK_TIMESTAMP_HEADER",
        "SECRET_KEY"
      ])
      expect(message).not.toContain("hidden")
    })
  )

  it.effect("that are secret may be in files, which are read without the line's end", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "sendwright-config-"))
      const file = (name: string, content: string) => {
        writeFileSync(join(folder, name), content)
        return join(folder, name)
      }
      const token = "a token of more than 24 letters".replaceAll(" ", "-")
      const config = yield* load({
        ADMIN_TOKEN_FILE: file("token", `${token}\n`),
        SECRET_KEY_FILE: file("key", `${secretKey}\r\n`),
        DATABASE_URL: "",
        DATABASE_URL_FILE: file("database", "postgres://me:hidden@db.example/sends")
      })
      expect(config.adminToken === undefined || Redacted.value(config.adminToken)).toBe(token)
      expect([...Redacted.value(config.secretKey)]).toEqual(Array(32).fill(7))
      expect(config.database.kind).toBe("postgres")
      const refused = yield* Effect.flip(
        load({
          ADMIN_TOKEN: token,
          ADMIN_TOKEN_FILE: file("token", token),
          SECRET_KEY_FILE: join(folder, "none"),
          WEBHOOK_PROXY_FILE: file("empty", "\n"),
          ROLE: "both"
        })
      )
      expect(refused.message.split("\n")).toEqual([
        "ADMIN_TOKEN_FILE: must be left out where ADMIN_TOKEN is given",
        `SECRET_KEY_FILE: names a file that cannot be read (ENOENT: no such file or directory, stat '${join(folder, "none")}')`,
        "WEBHOOK_PROXY_FILE: names a file that is empty or over 64 KiB",
        "ROLE: must be one of all, api, worker"
      ])
      const wrong = yield* Effect.flip(load({ SECRET_KEY_FILE: file("key", "short") }))
      expect(wrong.message).toMatch(/^SECRET_KEY: must be 32 bytes/)
      rmSync(folder, { recursive: true })
    })
  )

  it.effect("tell an admin token that is empty from one that is not given", () =>
    Effect.gen(function* () {
      expect((yield* load({ ADMIN_TOKEN: "" })).isTokenEmpty).toBe(true)
      expect((yield* load({})).isTokenEmpty).toBe(false)
      expect((yield* load({ ADMIN_TOKEN: "x".repeat(28) })).isTokenEmpty).toBe(false)
    })
  )

  it.effect("are guessed from names that are nearly theirs, and from no others", () =>
    Effect.gen(function* () {
      const misses = {
        DATABASE_URI: "DATABASE_URL",
        SENDWRIGHT_PORT: "PORT",
        LOGLEVEL: "LOG_LEVEL",
        TRUSTED_PROXY: "TRUST_PROXY",
        LIMIT_CONNECTION: "LIMIT_CONNECTIONS",
        SECRETKEY_FILE: "SECRET_KEY_FILE",
        admin_token: "ADMIN_TOKEN"
      }
      expect(Object.fromEntries(yield* HostConfig.nearMisses(Object.keys(misses)))).toEqual(misses)
      const others = [
        "HOME",
        "PATH",
        "POST",
        "HOSTNAME",
        "HOSTS",
        "PWD",
        "LOGNAME",
        "HTTP_PROXY",
        "NODE_ENV",
        "SHLVL"
      ]
      const own = [
        "PORT",
        "HOST",
        "DATABASE_URL",
        "DATABASE_URL_FILE",
        "LIMIT_HEADS",
        "GUESSES_PER_KEY",
        "ROLE"
      ]
      expect(yield* HostConfig.nearMisses([...others, ...own])).toEqual([])
    })
  )

  it.effect("name a PostgreSQL database, whose processes share a key that is given", () =>
    Effect.gen(function* () {
      const DATABASE_URL = "postgres://me:hidden@db.example/sends"
      const { database } = yield* load({ DATABASE_URL, SECRET_KEY: secretKey })
      expect(database.kind === "postgres" && Redacted.value(database.url)).toBe(DATABASE_URL)
      expect(String(JSON.stringify(database))).not.toContain("hidden")
      const { message } = yield* Effect.flip(load({ DATABASE_URL }))
      expect(message).toMatch(/^SECRET_KEY: must be given with PostgreSQL/)
    })
  )

  it.effect("keep a key beside the database that its owner alone reads, the same at every start", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "sendwright-config-"))
      const file = join(folder, "new", "host.db")
      const first = yield* load({ DATABASE_URL: `sqlite:${file}` })
      const second = yield* load({ DATABASE_URL: `sqlite:${file}` })
      expect(statSync(`${file}.key`).mode & 0o777).toBe(0o600)
      expect(statSync(join(folder, "new")).mode & 0o777).toBe(0o700)
      expect(readFileSync(`${file}.key`, "utf8").trim()).toHaveLength(44)
      expect(Redacted.value(second.secretKey)).toEqual(Redacted.value(first.secretKey))
      expect(String(first.secretKey)).toBe("<redacted>")
      rmSync(folder, { recursive: true })
    })
  )

  it.effect(
    "tell of a database and a key file that others can read, and not of those that only their owner can",
    () =>
      Effect.gen(function* () {
        const folder = mkdtempSync(join(tmpdir(), "sendwright-config-"))
        const file = join(folder, "host.db")
        const openFiles = Effect.map(load({ DATABASE_URL: `sqlite:${file}` }), (config) => config.openFiles)
        expect(yield* openFiles).toEqual([])
        for (const end of ["", "-wal"]) writeFileSync(`${file}${end}`, "", { mode: 0o600 })
        expect(yield* openFiles).toEqual([])
        for (const end of ["", "-wal", ".key"]) chmodSync(`${file}${end}`, 0o640)
        expect(yield* openFiles).toEqual([file, `${file}-wal`, `${file}.key`])
        expect(
          (yield* load({ DATABASE_URL: `sqlite:${file}`, SECRET_KEY: secretKey })).openFiles
        ).toHaveLength(3)
        rmSync(folder, { recursive: true })
      })
  )

  it.effect("tell the path and the reason of a key file that cannot be made", () =>
    Effect.gen(function* () {
      const folder = mkdtempSync(join(tmpdir(), "sendwright-"))
      const database = join(folder, "sends.db")
      const reasonOf = (name: string) =>
        Effect.map(Effect.flip(load({ DATABASE_URL: name })), ({ message }) => message)
      symlinkSync("/mnt/unmounted/key", `${database}.key`)
      expect(yield* reasonOf(database)).toBe(
        `SECRET_KEY: ${database}.key is a link to /mnt/unmounted/key, which is not there. Is its volume mounted?`
      )
      symlinkSync("/mnt/unmounted/data", join(folder, "data"))
      expect(yield* reasonOf(join(folder, "data", "sends.db"))).toContain(
        `${join(folder, "data")} is a link to /mnt/unmounted/data, which is not there.`
      )
      writeFileSync(join(folder, "file"), "")
      // The database is opened behind the settings, and says why it cannot be.
      const below = { DATABASE_URL: join(folder, "file", "sends.db"), SECRET_KEY: secretKey }
      expect((yield* load(below)).openFiles).toEqual([])
      expect((yield* load({ DATABASE_URL: folder })).openFiles).toEqual([])
      rmSync(`${folder}.key`)
      expect(yield* reasonOf(join(folder, "file", "sends.db"))).toMatch(
        /^SECRET_KEY: the key file .*\/file\/sends\.db\.key cannot be read or made \((ENOTDIR|EEXIST): /
      )
      rmSync(folder, { recursive: true })
    })
  )

  it.effect("make no new key file beside a database that has content", () =>
    Effect.gen(function* () {
      for (const written of ["host.db", "host.db-wal"]) {
        const folder = mkdtempSync(join(tmpdir(), "sendwright-config-"))
        const file = join(folder, "host.db")
        writeFileSync(file, "")
        expect((yield* load({ DATABASE_URL: `sqlite:${file}` })).secretKey).toBeDefined()
        rmSync(`${file}.key`)
        writeFileSync(join(folder, written), "content")
        const { message } = yield* Effect.flip(load({ DATABASE_URL: `sqlite:${file}` }))
        expect(message).toMatch(
          /^SECRET_KEY: .*host\.db\.key is missing beside a database.*Restore it, or give/
        )
        expect(existsSync(`${file}.key`)).toBe(false)
        expect(yield* load({ DATABASE_URL: `sqlite:${file}`, SECRET_KEY: secretKey })).toBeDefined()
        rmSync(folder, { recursive: true })
      }
    })
  )
})
