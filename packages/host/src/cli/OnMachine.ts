/** Commands for the machine of the database, which no host does over HTTP. */
import * as Args from "@effect/cli/Args"
import * as Command from "@effect/cli/Command"
import * as HelpDoc from "@effect/cli/HelpDoc"
import * as Options from "@effect/cli/Options"
import { Diagnosis } from "@sendwright/core/adapter"
import * as Console from "effect/Console"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Logs from "../Logs.ts"
import * as Answer from "./Answer.ts"
import { Degraded } from "./Degraded.ts"
import * as OnHost from "./OnHost.ts"
import * as Refused from "./Refused.ts"
import type { Setting } from "./Root.ts"
import { root } from "./Root.ts"
import * as Screen from "./Screen.ts"

const thereOnly = (what: string) =>
  Effect.flatMap(root, ({ url }) =>
    Option.exists(url, (text) => text !== "")
      ? Refused.told(`${what} where the database is: run it there, without --url and SENDWRIGHT_URL.`)
      : Effect.void
  )

const backup = ({ screen }: Setting) => {
  const description =
    "Copy the SQLite database into a new file, beside a running host, and look through the copy. The key is not in it: keep that elsewhere."
  const file = Args.text({ name: "file" }).pipe(Args.withDescription("which is not there yet"))
  const command = Command.make("backup", { file }, (given) =>
    Effect.gen(function* () {
      yield* thereOnly("A backup is made")
      // The driver is loaded only where it is used.
      const { perform } = yield* Effect.promise(() => import("./Backup.ts"))
      yield* Console.log(Answer.text(yield* perform(given.file), screen.out))
    })
  ).pipe(Command.withDescription(description))
  return {
    word: "backup",
    isAlone: true,
    command,
    help: { name: "backup", description, args: Args.getHelp(file), flags: HelpDoc.empty }
  }
}

const copy = ({ screen }: Setting) => {
  const description =
    "Copy the SQLite database into an empty PostgreSQL database, while no host runs on either. The SQLite database is held then, so that one of the two sends."
  const to = Args.redacted({ name: "url" }).pipe(
    Args.withDescription("postgres://<user>@<host>/<database>; the password is better given as PGPASSWORD")
  )
  const command = Command.make("copy", { to }, (given) =>
    Effect.gen(function* () {
      yield* thereOnly("The database is copied")
      const { perform } = yield* Effect.promise(() => import("./Copy.ts"))
      yield* Console.log(Answer.text(yield* perform(given.to), screen.out))
    })
  ).pipe(Command.withDescription(description))
  return {
    word: "copy",
    isAlone: true,
    command,
    help: { name: "copy", description, args: Args.getHelp(to), flags: HelpDoc.empty }
  }
}

const migrate = ({ screen }: Setting) => {
  const description =
    "Bring the database to this version's tables, as the next start of a host would. With --plan nothing is changed: it tells which migrations that are, what they lock and for how long, and the way back."
  const plan = Options.boolean("plan").pipe(Options.withDescription("only tells what would be done"))
  const command = Command.make("migrate", { plan }, (given) =>
    Effect.gen(function* () {
      yield* thereOnly("The database is migrated")
      const Migrate = yield* Effect.promise(() => import("./Migrate.ts"))
      yield* Console.log(Answer.text(yield* given.plan ? Migrate.plan : Migrate.perform, screen.out))
    })
  ).pipe(Command.withDescription(description))
  return {
    word: "migrate",
    isAlone: true,
    command,
    help: { name: "migrate", description, args: HelpDoc.empty, flags: Options.getHelp(plan) }
  }
}

/** The exit code of findings: 0, 1 and 2, as the worst of them. */
const codeOf = (findings: ReadonlyArray<Diagnosis.Finding>): number =>
  Diagnosis.verdicts.indexOf(Diagnosis.worst(findings))

/** Where a finding's words begin. A longer name, such as that of a session, has a line of its own. */
const wordsAt = 24

/** A finding's verdict, name and words, and below what mends it. */
const linesOf = (
  { check, mend, says, verdict }: Diagnosis.Finding,
  stream: Screen.Stream
): ReadonlyArray<string> => {
  const wrap = (text: string) => Screen.wrap(Logs.printable(text), Math.max(40, stream.columns - wordsAt))
  const words = [...wrap(says), ...(mend === null ? [] : wrap(`→ ${mend}`))]
  const name = `${verdict.padEnd(7)}  ${Logs.printable(check)}`
  const bold = verdict === "ok" ? name : Screen.strong(name, stream)
  const isShort = name.length + 2 <= wordsAt
  return words
    .map((line, at) =>
      at === 0 && isShort
        ? `${bold}${" ".repeat(wordsAt - name.length)}${line}`
        : `${" ".repeat(wordsAt)}${line}`
    )
    .toSpliced(0, 0, ...(isShort ? [] : [bold]))
}

/** Findings as they are told: JSON for programs, a line of each and its mend at a terminal. */
const reportOf = (findings: ReadonlyArray<Diagnosis.Finding>, stream: Screen.Stream): string =>
  stream.isTerminal
    ? findings.flatMap((finding) => linesOf(finding, stream)).join("\n")
    : Logs.printable(JSON.stringify({ ok: true, verdict: Diagnosis.worst(findings), checks: findings }))

const doctor = ({ options, screen }: Setting) => {
  const description =
    "Look at all that a host needs, and change nothing: settings, database, clock, keys, disk, and whether platforms and receivers of webhooks can be reached. Each line has a verdict and what mends it. It ends with 0, or with 1 after a warning and 2 after a failure. With --url it asks a host what can be told from elsewhere."
  const command = Command.make("doctor", {}, () =>
    Effect.gen(function* () {
      const { token, url } = yield* root
      const host = yield* OnHost.connection(Option.getOrUndefined(url), Option.getOrUndefined(token))
      const { perform } = yield* Effect.promise(() => import("./doctor/Doctor.ts"))
      const { perform: ask } = yield* Effect.promise(() => import("./doctor/OnHost.ts"))
      const findings = yield* host === null ? perform(options, Object.keys(process.env)) : ask(host)
      yield* Console.log(reportOf(findings, screen.out))
      const code = codeOf(findings)
      if (code > 0) return yield* new Degraded({ code })
    })
  ).pipe(Command.withDescription(description))
  return {
    word: "doctor",
    isAlone: true,
    command,
    help: { name: "doctor", description, args: HelpDoc.empty, flags: HelpDoc.empty }
  }
}

export const make = (setting: Setting) =>
  [backup(setting), copy(setting), doctor(setting), migrate(setting)] as const
