/** A published package works where it is installed, and says what is wrong where it cannot. */
import { execFileSync, spawnSync } from "node:child_process"
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync
} from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import * as Schema from "effect/Schema"
import { afterAll, describe, expect, it } from "vitest"

const Exports = Schema.Record({
  key: Schema.String,
  value: Schema.Record({ key: Schema.String, value: Schema.String })
})

const Manifest = Schema.parseJson(
  Schema.Struct({
    exports: Exports,
    publishConfig: Schema.Struct({ exports: Exports }),
    peerDependencies: Schema.optionalWith(Schema.Record({ key: Schema.String, value: Schema.String }), {
      default: () => ({})
    })
  })
)

const packages = fileURLToPath(new URL("../packages", import.meta.url))
const manifestOf = (name: string) =>
  Schema.decodeUnknownSync(Manifest)(readFileSync(join(packages, name, "package.json"), "utf8"))

describe.each(["core", "host", "http", "sendwright"])("packages/%s, published", (name) => {
  const { exports, publishConfig } = manifestOf(name)

  it("has the entries that it has here, without the condition that reads its source", () => {
    const built = Object.entries(exports).map(([entry, { "@sendwright/source": source, ...targets }]) => {
      expect(source).toMatch(/^\.\/src\//)
      return [entry, targets] as const
    })
    expect(publishConfig.exports).toEqual(Object.fromEntries(built))
  })

  it("has a file for each entry", () => {
    const targets = Object.values(publishConfig.exports).flatMap((entry) => Object.values(entry))
    const missing = targets.filter((target) => !existsSync(join(packages, name, target.replace(/\*.*/, ""))))
    expect(missing).toEqual([])
  })
})

describe("@sendwright/core's public names", () => {
  const { exports } = manifestOf("core")
  const namesOf = (entry: string): ReadonlyArray<string> => {
    const source = readFileSync(join(packages, "core/src", `${entry}.ts`), "utf8")
    return [...source.matchAll(/^export \* as (\w+) from "\.\/.+\.ts"$/gm)].map(([, name = ""]) => name)
  }
  const words = (...lines: ReadonlyArray<string>) => lines.flatMap((line) => line.split(" "))

  it.each([
    [
      "index",
      words(
        "Account Acting Address AddressPolicy Admin ApiKey Attention Audit ClosedMarkets Consent ConsentSource Currency DerivedEvent Engine Erasure Errors",
        "Estimates Event EventData FailureCatalogue Fault Happening Health HttpGateway Ids Instant Job Keywords Memory Money Operator Page",
        "People PerhapsRefusal Person Phone Plan Priority RateCard Readiness Recipient Rendering RequestDecoder Requests Restore",
        "RestoreDecision Retention Retry RetryPlan RetrySelection Sandbox Search SecretBox Secrets Sender Session Signature Size Spending StorageAdmin StorageError Stores",
        "Template Timeline Unattributed UndiciTransport UnreadHook Variables Waiting Webhook WebhookTransport WhatsApp When Worker"
      )
    ],
    [
      "adapter",
      words(
        "Caps ClientTexts Csv Diagnosis EventLoopBudget Exposition Folder Idempotency Json JsonScan Memo Metrics Moment Pace PublicUrl RateLimit Reachability Readable Reference StopWhen StoreClock Suggestion",
        "Text Throttle Timers Traces Url"
      )
    ],
    ["sender", words("FailureCatalogue Json PlatformHttp PublicUrl Rendering Sender Text Variables")],
    [
      "storage",
      words(
        "AccountStore ApiKeyStore AuditStore ConsentStore EmbeddedCommits ErasureStore HappeningStore HealthStore InboundStore JobStore KeyringStore",
        "OperatorStore Outbox RateCardStore RateLimitStore RestoreStore RetentionStore RetryPlanStore SessionStore SizeStore StoreTime TemplateStore",
        "Transactions WebhookStore"
      )
    ]
  ])("of the entry %s are these: to drop or rename one is a breaking change", (entry, names) => {
    expect([...namesOf(entry)].sort()).toEqual([...names].sort())
  })

  it("have an entry for each subject, and none is a path into the inside but for types alone", () => {
    const subjects = ["adapter", "contract", "postgres", "sender", "sql", "sqlite", "storage", "testing"]
    const entries = [...subjects, "testing/SenderSuite", "types/*"].map((name) => `./${name}`)
    expect(Object.keys(exports).sort()).toEqual([".", ...entries].sort())
    // So that a compiler can name a type that it has inferred.
    expect(exports["./types/*"]).not.toHaveProperty("default")
  })
})

describe("a changeset", () => {
  it("names its packages in its head, as `changeset version` reads it", () => {
    const folder = fileURLToPath(new URL("../.changeset", import.meta.url))
    const head = /^---\n\s*("(@sendwright\/(core|host|http)|sendwright)": (major|minor|patch)\n)+---\n/
    const headless = readdirSync(folder).filter(
      (name) => name.endsWith(".md") && !head.test(readFileSync(join(folder, name), "utf8"))
    )
    expect(headless).toEqual([])
  })
})

const folder = mkdtempSync(join(tmpdir(), "sendwright-packages-"))
afterAll(() => rmSync(folder, { recursive: true }))

describe("`changeset version`", () => {
  const names = ["core", "host", "http", "sendwright"]
  const versionOf = (place: string, name: string): unknown =>
    Schema.decodeUnknownSync(Schema.parseJson(Schema.Struct({ version: Schema.String })))(
      readFileSync(join(place, "packages", name, "package.json"), "utf8")
    ).version

  it("gives all packages one next version, which is no 1.0 before somebody says so", () => {
    const place = mkdtempSync(join(folder, "case-"))
    const root = join(packages, "..")
    const examples = ["examples/package.json", "examples/next/package.json"]
    const manifests = [...names.map((name) => `packages/${name}/package.json`), ...examples]
    for (const path of ["package.json", "pnpm-workspace.yaml", ".changeset/config.json", ...manifests]) {
      cpSync(join(root, path), join(place, path))
    }
    writeFileSync(join(place, ".changeset/new.md"), '---\n"@sendwright/http": minor\n---\n\nSomething new.\n')
    const [current] = names.map((name) => versionOf(place, name))
    const { status } = spawnSync(
      process.execPath,
      [join(root, "node_modules/@changesets/cli/bin.js"), "version"],
      {
        cwd: place
      }
    )
    expect(status).toBe(0)
    const [major, minor] = String(current).split(".").map(Number)
    expect(names.map((name) => versionOf(place, name))).toEqual(
      names.map(() => `${major}.${Number(minor) + 1}.0`)
    )
  })
})

describe("@sendwright/core over another effect", () => {
  /** Modules of Effect 3 that Effect 4 does not have, as far as core's entries are concerned. */
  const gone = ["Either", "FastCheck", "FiberRef", "MetricKey", "ModuleVersion", "ParseResult", "TestClock"]

  /** A program beside the built package, and an effect whose modules are there and empty. */
  const load = (entry: string, version: string, modules: (name: string) => boolean) => {
    const place = mkdtempSync(join(folder, "case-"))
    const modulesFolder = join(place, "node_modules")
    const core = join(modulesFolder, "@sendwright/core")
    const effect = join(modulesFolder, "effect")
    mkdirSync(effect, { recursive: true })
    cpSync(join(packages, "core/dist"), join(core, "dist"), {
      recursive: true,
      filter: (source) => !/\.(d\.ts|map)$/.test(source)
    })
    const { publishConfig } = manifestOf("core")
    writeFileSync(join(core, "package.json"), JSON.stringify({ type: "module", ...publishConfig }))
    for (const name of ["ipaddr.js", "libphonenumber-js", "undici"]) {
      symlinkSync(join(packages, "core/node_modules", name), join(modulesFolder, name))
    }
    const real = readdirSync(join(packages, "core/node_modules/effect/dist/esm"))
    for (const file of real.filter((file) => /^[A-Z]\w*\.js$/.test(file) && modules(file.slice(0, -3)))) {
      writeFileSync(join(effect, file), "export const constFalse = 0, constTrue = 0, constVoid = 0")
    }
    const told = modules("ModuleVersion") ? `{ getCurrentVersion: () => "${version}" }` : "undefined"
    writeFileSync(join(effect, "index.js"), `export const ModuleVersion = ${told}`)
    const exports = { ".": "./index.js", "./*": "./*.js" }
    writeFileSync(join(effect, "package.json"), JSON.stringify({ type: "module", version, exports }))
    const program = ["--input-type=module", "--eval", `import "@sendwright/core${entry}"`]
    return spawnSync(process.execPath, program, { cwd: place, encoding: "utf8" }).stderr
  }

  const range = manifestOf("core").peerDependencies["effect"]

  it.each(["", "/testing"])("says at the load of its entry %j that Effect 4 is none", (entry) => {
    const stderr = load(entry, "4.1.0", (name) => !gone.includes(name))
    expect(stderr).toContain(
      `Error: @sendwright/core needs effect ${range} and found effect 4 or newer. Run: npm install "effect@${range}"`
    )
  })

  it.each(["3.22.1", "3.9.9"])("says at its load that %s is too old", (version) => {
    const stderr = load("", version, () => true)
    expect(stderr).toContain(
      `Error: @sendwright/core needs effect ${range} and found effect ${version}. Run: npm install "effect@${range}"`
    )
  })

  it("loads over the one that is here", () => {
    const program = [
      "--input-type=module",
      "--eval",
      'import { Engine } from "@sendwright/core"; console.log(typeof Engine.layer)'
    ]
    expect(execFileSync(process.execPath, program, { cwd: packages, encoding: "utf8" })).toBe("function\n")
  })
})
