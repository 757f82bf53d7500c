/** Every setting of the host (contract.md §8): its variable, default and meaning. A bad value stops the start. */
import { randomBytes } from "node:crypto"
import type { Stats } from "node:fs"
import { existsSync, lstatSync, readFileSync, readlinkSync, statSync, writeFileSync } from "node:fs"
import { isIPv4 } from "node:net"
import { dirname, resolve } from "node:path"
import { AddressPolicy, Audit, Instant, type Restore, Sandbox, SecretBox, Signature } from "@sendwright/core"
import { Folder, PublicUrl, Suggestion, Url } from "@sendwright/core/adapter"
import { Address, AdminToken, Guesses, HttpLimits, Origins } from "@sendwright/http/server"
import * as Config from "effect/Config"
import * as ConfigError from "effect/ConfigError"
import * as ConfigProvider from "effect/ConfigProvider"
import * as PathPatch from "effect/ConfigProviderPathPatch"
import * as Data from "effect/Data"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as HashSet from "effect/HashSet"
import * as LogLevel from "effect/LogLevel"
import * as Option from "effect/Option"
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"

/** Where the stores are. */
export type Database =
  | { readonly kind: "sqlite"; readonly filename: string }
  | { readonly kind: "postgres"; readonly url: Redacted.Redacted }

/** An exporter of OpenTelemetry, by its own variables. */
export interface Telemetry {
  readonly endpoint: string
  readonly headers: Redacted.Redacted<Readonly<Record<string, string>>>
  readonly service: string
  /** Further attributes of the resource. */
  readonly resource: Readonly<Record<string, string>>
}

export interface HostConfig {
  readonly port: number
  readonly host: string
  /** Undefined: the address that it listens on, see {@link baseUrlOf}. */
  readonly baseUrl: string | undefined
  readonly database: Database
  /** How long a start waits for a server of PostgreSQL that does not answer yet. */
  readonly databaseWaitMs: number
  /** The reading of a new timeline of PostgreSQL's server: a failover, or a restore. */
  readonly onFailover: Restore.OnFailover
  readonly adminToken: Redacted.Redacted<string> | undefined
  /** Serves the console. */
  readonly console: boolean
  /** The admin token can be guessed; only a host on loopback starts with it. */
  readonly hasWeakToken: boolean
  /** `ADMIN_TOKEN` is given without a value, so that there is no admin API. */
  readonly isTokenEmpty: boolean
  /** How many wrong credentials are answered before the rest is refused for a while. */
  readonly guesses: Guesses.Limits
  readonly secretKey: Redacted.Redacted<Uint8Array>
  /** Further keys, before and after a change: what they encrypted is still read. */
  readonly olderSecretKeys: ReadonlyArray<Redacted.Redacted<Uint8Array>>
  /** The key file and those of the database, where others than their owner can read them. */
  readonly openFiles: ReadonlyArray<string>
  readonly logFormat: "pretty" | "json"
  readonly logLevel: LogLevel.LogLevel
  /** Networks that are not public and may hold receivers of webhooks. */
  readonly allowedNetworks: ReadonlyArray<AddressPolicy.Network>
  /** Networks that are not public and may hold platforms and gateways. Undefined: see {@link senderNetworksOf}. */
  readonly senderNetworks: ReadonlyArray<AddressPolicy.Network> | undefined
  readonly webhookProxy: Redacted.Redacted<string> | undefined
  readonly webhookHeaders: Signature.HeaderNames
  /** As a part of the delay: 0.2 = ±20 %. */
  readonly webhookJitter: number
  readonly role: "all" | "api" | "worker"
  readonly workerConcurrency: number
  /** From the signal to the end of the process. */
  readonly stopGraceMs: number
  /** How long entries of the audit log are kept. */
  readonly auditRetentionMs: number
  /** How long an attempt of the sandbox platform takes. */
  readonly sandboxLatencyMs: number
  /** The proxies whose `X-Forwarded-For` names the client. */
  readonly trustedProxies: ReadonlyArray<AddressPolicy.Network>
  /** Origins of the web, besides the host's own, whose pages may ask as agents. */
  readonly mcpOrigins: ReadonlyArray<string>
  /** Where traces and metrics go; undefined: nowhere. */
  readonly telemetry: Telemetry | undefined
  readonly limits: HttpLimits.Limits
}

/** The public address of a host that listens on the port, which may be another than the one asked for: 0 is any. */
export const baseUrlOf = ({ baseUrl, host }: Pick<HostConfig, "baseUrl" | "host">, port: number): string =>
  baseUrl ?? `http://${host.includes(":") ? `[${host}]` : host}:${port}`

/** All addresses of the machine, of which none can be called by this name. */
const isUnspecified = (host: string): boolean => host === "0.0.0.0" || host === "::"

/** True when links and problem types say an address that no client can follow. */
export const hasDeadLinks = ({ baseUrl, host }: Pick<HostConfig, "baseUrl" | "host">): boolean =>
  baseUrl === undefined && isUnspecified(host)

/** Addresses that only this machine reaches (RFC 1122 §3.2.1.3, RFC 4291 §2.5.3). */
const isLoopback = (host: string): boolean =>
  host === "localhost" || host === "::1" || (isIPv4(host) && host.startsWith("127."))

/** True when clients come by an address of somebody else's, who is not known as a proxy. */
export const isBehindUnnamedProxy = ({
  baseUrl,
  host,
  trustedProxies
}: Pick<HostConfig, "baseUrl" | "host" | "trustedProxies">): boolean =>
  baseUrl !== undefined &&
  isLoopback(host) &&
  trustedProxies.length === 0 &&
  !isLoopback(new URL(baseUrl).hostname.replace(/^\[|\]$/g, ""))

/**
 * The networks for platforms. A host that only its own machine can reach may send to gateways there; any other host
 * may only if a setting allows it (docs/adr/0023).
 */
export const senderNetworksOf = ({
  host,
  senderNetworks
}: Pick<HostConfig, "host" | "senderNetworks">): ReadonlyArray<AddressPolicy.Network> =>
  senderNetworks ?? (isLoopback(host) ? PublicUrl.loopback : [])

/** The fault of a setting: its variable, and what would be right. */
export interface SettingFault {
  readonly variable: string
  readonly reason: string
}

/** Settings that cannot be used, all of them, one to a line. */
export class BadSettings extends Data.TaggedError("BadSettings")<{
  readonly faults: ReadonlyArray<SettingFault>
}> {
  override get message(): string {
    return this.faults.map(({ reason, variable }) => `${variable}: ${reason}`).join("\n")
  }
}

/**
 * A setting read from text. `wanted` describes a valid value; the given one is not repeated, since it may be secret.
 */
const setting = <A>(name: string, wanted: string, parse: (text: string) => A | undefined) =>
  Config.nonEmptyString(name).pipe(
    Config.mapOrFail((text) =>
      // The variable's name is put before this path by `Config.nonEmptyString`.
      Either.fromNullable(parse(text), () => ConfigError.InvalidData([], `must be ${wanted}`))
    )
  )

/** The first is the default. */
const oneOf = <const Value extends string>(name: string, first: Value, ...others: ReadonlyArray<Value>) => {
  const values = [first, ...others]
  return setting(name, `one of ${values.join(", ")}`, (text) => values.find((value) => value === text)).pipe(
    Config.withDefault(first)
  )
}

const whole = (name: string, from: number, to: number, otherwise: number) =>
  setting(name, `a whole number from ${from} to ${to}`, (text) => {
    const number = Number(text)
    return /^\d{1,9}$/.test(text) && number >= from && number <= to ? number : undefined
  }).pipe(Config.withDefault(otherwise))

const httpUrl = (text: string): string | undefined =>
  /^https?:$/.test(Url.parse(text)?.protocol ?? "") ? text.replace(/\/+$/, "") : undefined

/** Begins as paths do, or ends as databases' names do: a host and its database without `postgres://` look like neither. */
const isPath = /^(?:\.{0,2}\/[^?]+|[^?:@]+\.(?:db|sqlite3?))$/

/**
 * `sqlite:<file>`, `sqlite::memory:`, or a path that looks like a file's; a missing folder is created when the database is
 * opened. SQLite's URI options are refused, since they would become part of the file's name.
 */
const sqliteFile = (text: string): string | undefined => {
  const file = isPath.test(text) ? text : /^sqlite:(?:\/\/)?(?!file:)([^?]+)$/i.exec(text)?.[1]
  return file === undefined || file === ":memory:" ? file : resolve(file)
}

/** The database that an address names; undefined where it names none. */
export const databaseOf = (text: string): Database | undefined => {
  if (/^postgres(ql)?:$/.test(Url.parse(text)?.protocol ?? "")) {
    return { kind: "postgres", url: Redacted.make(text) }
  }
  const filename = sqliteFile(text)
  return filename === undefined ? undefined : { kind: "sqlite", filename }
}

const networks = (text: string): ReadonlyArray<AddressPolicy.Network> | undefined => {
  if (text === "none") return []
  const parsed = text.split(",").map((cidr) => AddressPolicy.parseNetwork(cidr.trim()))
  const known = parsed.flatMap((network) => (network === undefined ? [] : [network]))
  return known.length === parsed.length ? known : undefined
}

const networksOf = (name: string) =>
  setting(name, "a comma-separated list of CIDR networks such as 127.0.0.0/8, or none", networks)

/** True when user and password, where there are any, are percent-encoded as they must be. */
const hasCredentials = (url: string): boolean => {
  const { password, username } = new URL(url)
  return Either.isRight(Either.try(() => [username, password].map(decodeURIComponent)))
}

/** RFC 9110 §5.1, and nothing that a delivery carries already. */
const headerName = (text: string): string | undefined =>
  /^[A-Za-z][A-Za-z0-9-]{0,63}$/.test(text) &&
  !/^(webhook-|content-|proxy-|host$|connection$|keep-alive$|transfer-encoding$|te$|trailer$|upgrade$|expect$|user-agent$)/i.test(
    text
  )
    ? text
    : undefined

const header = (name: string, otherwise: string) =>
  setting(
    name,
    "the name of a header that nothing else uses, of letters, digits and hyphens",
    headerName
  ).pipe(Config.withDefault(otherwise))

const levels: Readonly<Record<string, LogLevel.LogLevel>> = {
  trace: LogLevel.Trace,
  debug: LogLevel.Debug,
  info: LogLevel.Info,
  warning: LogLevel.Warning,
  error: LogLevel.Error,
  none: LogLevel.None
}

/** The command line has another default than the host. */
export const logLevel = setting("LOG_LEVEL", `one of ${Object.keys(levels).join(", ")}`, (text) =>
  new Map(Object.entries(levels)).get(text.toLowerCase())
)

const limits = Config.all(
  Record.map(HttpLimits.table, ({ from, setting, to, value }, name) =>
    Config.map(whole(setting, from, to, value), (given) => HttpLimits.counted(name, given))
  )
)

/** Of the form of W3C's baggage, as OpenTelemetry has lists in its variables: `name=value`, percent-encoded, with commas between. */
const pairs = (name: string) =>
  setting(
    name,
    "name=value pairs with commas between, percent-encoded",
    (text): Readonly<Record<string, string>> | undefined => {
      const entries = text
        .split(",")
        .filter((pair) => pair.trim() !== "")
        .map((pair) => /^([^=]+)=(.*)$/.exec(pair.trim()))
      const decoded = Either.try(() =>
        entries.map((entry): readonly [string, string] => {
          if (entry === null) throw new Error("It has no =.")
          const [, key = "", value = ""] = entry
          return [decodeURIComponent(key.trim()), decodeURIComponent(value.trim())]
        })
      )
      return Either.isRight(decoded) ? Object.fromEntries(decoded.right) : undefined
    }
  ).pipe(Config.withDefault<Readonly<Record<string, string>>>({}))

const settings = {
  port: whole("PORT", 0, 65_535, 8080),
  host: Config.nonEmptyString("HOST").pipe(Config.withDefault("127.0.0.1")),
  baseUrl: Config.option(
    setting(
      "BASE_URL",
      "an absolute http or https URL such as https://messages.example, in ASCII, without user, password, query and fragment",
      Address.baseUrl
    )
  ),
  database: setting(
    "DATABASE_URL",
    "a path such as ./data/sendwright.db, sqlite:<file> (without file: and ?), sqlite::memory: or postgres://<user>:<password>@<host>/<database>",
    databaseOf
  ).pipe(Config.withDefault({ kind: "sqlite" as const, filename: resolve("./data/sendwright.db") })),
  adminToken: Config.option(
    // As it comes in a header: nothing else could ever match it.
    setting("ADMIN_TOKEN", "of visible ASCII characters, without spaces (openssl rand -base64 24)", (text) =>
      /^[\x21-\x7e]+$/.test(text) ? Redacted.make(text) : undefined
    )
  ),
  guesses: Config.all({
    perAddress: whole("GUESSES_PER_ADDRESS", 1, 1_000_000, Guesses.defaults.perAddress),
    perSubject: whole("GUESSES_PER_KEY", 1, 1_000_000, Guesses.defaults.perSubject),
    perMinute: whole("GUESSES_PER_MINUTE", 1, 60_000, Guesses.defaults.perMinute)
  }),
  secretKey: Config.option(
    setting(
      "SECRET_KEY",
      `${SecretBox.masterBytes} bytes in base64 (openssl rand -base64 32), or several with commas between, the current one first`,
      SecretBox.parse
    )
  ),
  logFormat: oneOf("LOG_FORMAT", "pretty", "json"),
  logLevel: Config.withDefault(logLevel, LogLevel.Info),
  allowedNetworks: networksOf("WEBHOOK_ALLOWED_NETWORKS").pipe(Config.withDefault([])),
  senderNetworks: Config.option(networksOf("SENDER_ALLOWED_NETWORKS")),
  webhookProxy: Config.option(
    setting("WEBHOOK_PROXY", "an absolute http or https URL", (text) => {
      const url = httpUrl(text)
      return url === undefined || !hasCredentials(url) ? undefined : Redacted.make(url)
    })
  ),
  signatureHeader: header("WEBHOOK_SIGNATURE_HEADER", Signature.defaultHeaderNames.signature),
  timestampHeader: header("WEBHOOK_TIMESTAMP_HEADER", Signature.defaultHeaderNames.timestamp),
  webhookJitter: Config.map(whole("WEBHOOK_RETRY_JITTER", 0, 100, 20), (percent) => percent / 100),
  onFailover: oneOf("ON_FAILOVER", "tell", "hold"),
  role: oneOf("ROLE", "all", "api", "worker"),
  workerConcurrency: whole("WORKER_CONCURRENCY", 1, 10_000, 64),
  stopGraceMs: Config.map(whole("STOP_GRACE", 1, 3600, 25), (seconds) => seconds * 1000),
  auditRetentionMs: Config.map(
    whole("AUDIT_RETENTION_DAYS", 1, 36_500, Audit.defaultRetentionMs / Instant.day),
    (days) => days * Instant.day
  ),
  sandboxLatencyMs: whole("SANDBOX_LATENCY_MS", 0, 600_000, Sandbox.defaults.latencyMs),
  trustedProxies: setting(
    "TRUST_PROXY",
    "a comma-separated list of CIDR networks such as 10.0.0.0/8",
    networks
  ).pipe(Config.withDefault([])),
  mcpOrigins: setting(
    "MCP_ORIGINS",
    "a comma-separated list of origins such as https://agents.example",
    (text) => {
      const origins = text.split(",").map((each) => Origins.parse(each.trim()))
      return origins.every((each) => each !== undefined) ? origins : undefined
    }
  ).pipe(Config.withDefault([])),
  console: Config.map(oneOf("CONSOLE", "on", "off"), (given) => given === "on"),
  otlpEndpoint: Config.option(
    setting(
      "OTEL_EXPORTER_OTLP_ENDPOINT",
      "an absolute http or https URL such as http://127.0.0.1:4318",
      (text) => (httpUrl(text) === undefined ? undefined : text)
    )
  ),
  otlpHeaders: Config.map(pairs("OTEL_EXPORTER_OTLP_HEADERS"), Redacted.make),
  otlpService: Config.option(Config.nonEmptyString("OTEL_SERVICE_NAME")),
  otlpResource: pairs("OTEL_RESOURCE_ATTRIBUTES"),
  databaseWaitMs: Config.map(whole("DATABASE_WAIT", 0, 3600, 60), (seconds) => seconds * 1000),
  limits
}

/** Variables that may be given as a file that holds the value, by their name and `_FILE`. */
const inFiles = ["ADMIN_TOKEN", "DATABASE_URL", "SECRET_KEY", "WEBHOOK_PROXY"]

const mostInFile = 64 * 1024

/** Node's words, which have the path. */
const whyOf = (cause: unknown): string => (cause instanceof Error ? ` (${cause.message})` : "")

const fileContent = (file: string): Either.Either<string, string> =>
  Either.try({
    try: () => (statSync(file).size > mostInFile ? "" : readFileSync(file, "utf8").replace(/\r?\n$/, "")),
    catch: (cause) => `names a file that cannot be read${whyOf(cause)}`
  }).pipe(
    Either.filterOrLeft(
      (text) => text !== "",
      () => `names a file that is empty or over ${mostInFile / 1024} KiB`
    )
  )

/** The values that files hold, by variable, and what is wrong with those files. */
const fromFiles = Effect.gen(function* () {
  const values = new Map<string, string>()
  const faults: Array<SettingFault> = []
  for (const name of inFiles) {
    const variable = `${name}_FILE`
    const both = yield* Effect.all([name, variable].map((each) => Config.option(Config.nonEmptyString(each))))
    const [itself, file] = both.map(Option.getOrUndefined)
    if (file === undefined) continue
    const found = fileContent(file)
    if (itself !== undefined) faults.push({ variable, reason: `must be left out where ${name} is given` })
    else if (Either.isLeft(found)) faults.push({ variable, reason: found.left })
    else values.set(name, found.right)
  }
  return { values, faults }
})

type Parsed = {
  readonly [Name in keyof typeof settings]: Either.Either<
    Config.Config.Success<(typeof settings)[Name]>,
    ConfigError.ConfigError
  >
}

/** The faults that settings have only together; settings that are wrong by themselves are left out. */
const faultsTogether = (parsed: Parsed): ReadonlyArray<SettingFault> => {
  const host = Either.getOrUndefined(parsed.host)
  const adminToken = Either.getOrUndefined(parsed.adminToken)
  const database = Either.getOrUndefined(parsed.database)
  const secretKey = Either.getOrUndefined(parsed.secretKey)
  const faults: Array<SettingFault> = []
  // A token that can be guessed is refused where others than this machine may reach the host.
  if (
    host !== undefined &&
    !isLoopback(host) &&
    adminToken !== undefined &&
    Option.exists(adminToken, AdminToken.isWeak)
  ) {
    const reason = `must have at least ${AdminToken.minimumLength} characters, and not one repeated, where HOST is not a loopback address (openssl rand -base64 24)`
    faults.push({ variable: "ADMIN_TOKEN", reason })
  }
  const [signature, timestamp] = [parsed.signatureHeader, parsed.timestampHeader].map((name) =>
    Either.getOrUndefined(name)?.toLowerCase()
  )
  if (signature !== undefined && (timestamp === signature || timestamp === `${signature}-previous`)) {
    const reason = "must be another header than the signature and the previous signature"
    faults.push({ variable: "WEBHOOK_TIMESTAMP_HEADER", reason })
  }
  if (database?.kind === "postgres" && secretKey !== undefined && Option.isNone(secretKey)) {
    const reason = `must be given with PostgreSQL, the same to every process: ${SecretBox.masterBytes} bytes in base64 (openssl rand -base64 32)`
    faults.push({ variable: "SECRET_KEY", reason })
  }
  return faults
}

const badKey = (reason: string) => new BadSettings({ faults: [{ variable: "SECRET_KEY", reason }] })

/** Undefined of one that is not there, or cannot be looked at: whoever opens it says why. */
const fileAt = (path: string): Stats | undefined => {
  try {
    const found = statSync(path)
    return found.isFile() ? found : undefined
  } catch {
    return undefined
  }
}

/** True when the database has content, which a new key could not decrypt. */
const hasContent = (database: string): boolean =>
  ["", "-wal"].some((end) => (fileAt(database + end)?.size ?? 0) > 0)

const makeKeyFile = (file: string): void => {
  Folder.makePrivate(dirname(file))
  writeFileSync(file, `${randomBytes(SecretBox.masterBytes).toString("base64")}\n`, {
    mode: 0o600,
    flag: "wx"
  })
}

/** True when others than the owner can read the file. Windows has other permissions and reports 0666 for every file. */
const isOpen = (file: string): boolean =>
  process.platform !== "win32" && ((fileAt(file)?.mode ?? 0) & 0o077) !== 0

/**
 * Files that others can read, made by an older version or opened by somebody. Their permissions are not changed,
 * because a backup may depend on them.
 */
const openFilesOf = (database: Database): ReadonlyArray<string> =>
  database.kind === "sqlite" && database.filename !== ":memory:"
    ? ["", "-wal", "-shm", ".key"].map((end) => database.filename + end).filter(isOpen)
    : []

/** Stands for a key that is nowhere, so that nothing is sealed with it. */
const noKey = (): Redacted.Redacted<Uint8Array> => Redacted.make(randomBytes(SecretBox.masterBytes))

/**
 * The embedded default's own key: made beside the database at the first start, readable by its owner only.
 *
 * @param makes false for who only looks
 */
const keyFile = (
  database: string,
  makes: boolean
): Effect.Effect<Redacted.Redacted<Uint8Array>, BadSettings> =>
  Effect.try({
    try: () => {
      if (database === ":memory:") return noKey()
      const file = `${database}.key`
      if (!existsSync(file)) {
        if (lstatSync(file, { throwIfNoEntry: false })?.isSymbolicLink() === true)
          throw badKey(
            `${file} is a link to ${readlinkSync(file)}, which is not there. Is its volume mounted?`
          )
        if (hasContent(database)) {
          throw badKey(
            `${file} is missing beside a database that has content. Restore it, or give the key that the database was begun with as SECRET_KEY.`
          )
        }
        if (!makes) return noKey()
        makeKeyFile(file)
      }
      const found = SecretBox.keyOf(readFileSync(file, "utf8").trim())
      if (found === undefined) {
        throw badKey(`the key file ${file} must hold ${SecretBox.masterBytes} bytes in base64`)
      }
      return found
    },
    catch: (cause) =>
      cause instanceof BadSettings
        ? cause
        : badKey(`the key file ${database}.key cannot be read or made${whyOf(cause)}`)
  })

const faultsOf = (error: ConfigError.ConfigError): ReadonlyArray<SettingFault> =>
  error._op === "And" || error._op === "Or"
    ? [...faultsOf(error.left), ...faultsOf(error.right)]
    : [{ variable: error.path.join("_"), reason: error.message }]

/** The environment, with what stands in files; and what is wrong with those. */
const environment = Effect.gen(function* () {
  const { faults, values } = yield* Effect.orDie(fromFiles)
  const variables = yield* Effect.configProviderWith(Effect.succeed)
  return { faults, provider: ConfigProvider.orElse(ConfigProvider.fromMap(values), () => variables) }
})

/** Where the stores are, whatever is wrong with other settings. */
export const database: Effect.Effect<Database, BadSettings> = Effect.gen(function* () {
  const { provider } = yield* environment
  const found = Effect.withConfigProvider(settings.database, provider)
  return yield* Effect.mapError(found, (error) => new BadSettings({ faults: faultsOf(error) }))
})

const read = Effect.fnUntraced(function* (makesKey: boolean) {
  const { faults: faultsOfFiles, provider } = yield* environment
  const parsed = yield* Effect.withConfigProvider(Effect.all(settings, { mode: "either" }), provider)
  const faults = [
    ...faultsOfFiles,
    ...Object.values(parsed).flatMap((each: Either.Either<unknown, ConfigError.ConfigError>) =>
      Either.isLeft(each) ? faultsOf(each.left) : []
    ),
    ...faultsTogether(parsed)
  ]
  if (faults.length > 0) return yield* new BadSettings({ faults })
  const {
    otlpEndpoint,
    otlpHeaders: headers,
    otlpResource,
    otlpService,
    signatureHeader,
    timestampHeader,
    ...given
  } = yield* Effect.orDie(Effect.all(parsed))
  const { "service.name": named = "sendwright", ...resource } = otlpResource
  const service = Option.getOrElse(otlpService, () => named)
  const adminToken = Option.getOrUndefined(given.adminToken)
  const isTokenEmpty = yield* Effect.orElseSucceed(
    Effect.map(Config.string("ADMIN_TOKEN"), (text) => text === "" && adminToken === undefined),
    () => false
  )
  const { database } = given
  const { current: secretKey, older: olderSecretKeys } = Option.isSome(given.secretKey)
    ? given.secretKey.value
    : {
        current: yield* keyFile(database.kind === "sqlite" ? database.filename : ":memory:", makesKey),
        older: []
      }
  return {
    ...given,
    baseUrl: Option.getOrUndefined(given.baseUrl),
    senderNetworks: Option.getOrUndefined(given.senderNetworks),
    adminToken,
    hasWeakToken: adminToken !== undefined && AdminToken.isWeak(adminToken),
    isTokenEmpty,
    webhookProxy: Option.getOrUndefined(given.webhookProxy),
    webhookHeaders: {
      signature: signatureHeader,
      previousSignature: `${signatureHeader}-Previous`,
      timestamp: timestampHeader
    },
    telemetry: Option.getOrUndefined(
      Option.map(otlpEndpoint, (endpoint) => ({ endpoint, headers, resource, service }))
    ),
    secretKey,
    olderSecretKeys,
    openFiles: openFilesOf(database)
  }
})

/** Reads the environment. */
export const load: Effect.Effect<HostConfig, BadSettings> = read(true)

/** The same for who only looks: where the first start would make a key file, there is none yet. */
export const look: Effect.Effect<HostConfig, BadSettings> = read(false)

/** Every variable, as the settings ask for them. */
const variables: Effect.Effect<ReadonlyArray<string>> = Effect.suspend(() => {
  const asked: Array<string> = []
  const none = ConfigProvider.fromFlat(
    ConfigProvider.makeFlat({
      load: (path) => {
        asked.push(path.join("_"))
        return Effect.fail(ConfigError.MissingData([...path], "It is only asked for."))
      },
      enumerateChildren: () => Effect.succeed(HashSet.empty()),
      patch: PathPatch.empty
    })
  )
  const all = Effect.withConfigProvider(Effect.all(settings, { mode: "either" }), none)
  return Effect.map(all, () => [...asked, ...inFiles.map((name) => `${name}_FILE`)])
})

const plain = (name: string): string =>
  name
    .toUpperCase()
    .replace(/^SENDWRIGHT_/, "")
    .replaceAll(/[^A-Z0-9]/g, "")

/** Names of five letters are near to many others that have nothing to do with the host. */
const isNear = (name: string, known: string): boolean =>
  plain(name) === plain(known) || (known.length >= 8 && Suggestion.distance(name, known) <= 2)

/** Of names that are no variables of the host, those that are probably meant to be one, each with it. */
export const nearMisses = (
  given: Iterable<string>
): Effect.Effect<ReadonlyArray<readonly [name: string, meant: string]>> =>
  Effect.map(variables, (known) =>
    [...given].flatMap((name) => {
      const meant = known.includes(name) ? undefined : known.find((each) => isNear(name, each))
      return meant === undefined ? [] : [[name, meant] as const]
    })
  )
