/** The file of a SQLite database: where it lies, who may use it, whether its pages are whole, and how much room is left. */
import { spawn } from "node:child_process"
import { constants, existsSync, statSync } from "node:fs"
import { access, statfs } from "node:fs/promises"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { Diagnosis } from "@sendwright/core/adapter"
import Sqlite from "better-sqlite3"
import * as Effect from "effect/Effect"
import { connectTimeoutMs } from "./Bounded.ts"

type Finding = Diagnosis.Finding

const { failing, ok, warning } = Diagnosis

/** The nearest folder on the way that is there. */
const folderOf = (file: string): string => {
  let folder = dirname(file)
  while (!existsSync(folder) && folder !== dirname(folder)) folder = dirname(folder)
  return folder
}

/** File systems by the number that Linux gives them (statfs(2)): whose locks hold between machines at best, and those that pass. */
const networks: ReadonlyMap<number, string> = new Map([
  [0x6969, "NFS"],
  [0x517b, "SMB"],
  [0xff534d42, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x01021997, "9p"],
  [0x00c36400, "CephFS"]
])
const passing: ReadonlyMap<number, string> = new Map([
  [0x01021994, "tmpfs"],
  [0x858458f6, "ramfs"],
  [0x794c7630, "overlayfs"]
])

const lies = (type: number): Finding | undefined => {
  const network = networks.get(type)
  if (network !== undefined)
    return warning(
      "file system",
      `The database is on ${network}: its locks are as good as that network's.`,
      "Put it on a disk of this machine, or use PostgreSQL."
    )
  const short = passing.get(type)
  return short === undefined
    ? undefined
    : warning(
        "file system",
        `The database is on ${short}, and goes ${short === "overlayfs" ? "with its container" : "at the machine's end"}.`,
        "Put it on a disk, or into a volume (DATABASE_URL)."
      )
}

const mayUse = (path: string) =>
  Effect.isSuccess(Effect.tryPromise(() => access(path, constants.R_OK | constants.W_OK)))

/** Whether it lies where it stays, and this user may write it. */
export const place = (file: string): Effect.Effect<Finding> =>
  Effect.gen(function* () {
    const folder = folderOf(file)
    for (const path of existsSync(file) ? [folder, file] : [folder])
      if (!(yield* mayUse(path)))
        return failing(
          "file system",
          `This user may not write ${path}.`,
          "Run doctor as the host's user; if you do, give it the folder and its files (chown)."
        )
    const found = yield* Effect.option(Effect.tryPromise(() => statfs(folder)))
    const where = found._tag === "Some" ? lies(found.value.type) : undefined
    return where ?? ok("file system", `${folder} may be written, and is on a disk.`)
  })

const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0

/** The database with its log. */
export const bytesOf = (file: string): number => sizeOf(file) + sizeOf(`${file}-wal`)

export const disk = (file: string, growth: Diagnosis.Growth | null): Effect.Effect<Finding> =>
  Effect.tryPromise(() => statfs(folderOf(file))).pipe(
    Effect.map(({ bavail, bsize }) => {
      const bytes = bytesOf(file)
      const perDay = growth === null ? 0 : Diagnosis.dailyGrowth(bytes, growth)
      return Diagnosis.ofDisk({ free: bavail * bsize, bytes, perDay })
    }),
    Effect.orElseSucceed(() => ok("disk", "This system does not tell how much is free."))
  )

/** Looks whether a process owns the database, which then holds a lock on the file beside it. */
const lockedBy = (lock: string): boolean => {
  const db = new Sqlite(lock, { readonly: true, timeout: 0 })
  try {
    db.prepare("SELECT count(*) FROM sqlite_schema").get()
    return false
  } catch (cause) {
    if (cause instanceof Sqlite.SqliteError && cause.code.startsWith("SQLITE_BUSY")) return true
    throw cause
  } finally {
    db.close()
  }
}

/** Whether a host runs on it, in words. */
export const owned = (file: string): Effect.Effect<string> => {
  const lock = `${file}.lock`
  return Effect.match(
    Effect.try(() => existsSync(lock) && lockedBy(lock)),
    {
      onSuccess: (isLocked) => (isLocked ? "A host runs on it." : "No host runs on it."),
      onFailure: () => `Whether a host runs on it cannot be told, since ${lock} cannot be read.`
    }
  )
}

const script = `
const [driver, file] = process.argv.slice(1)
const db = new (require(driver))(file, { readonly: true, fileMustExist: true, timeout: 1000 })
process.stdout.write(String(db.pragma("quick_check(1)", { simple: true })))
`

const restoreOne = "Stop the host, keep the file, and restore a backup (docs/backup.md, The drill)."

/**
 * Looks through the pages by a process of its own, which can be ended: the driver cannot. What is too large for the time that
 * is left for it is told as not looked through.
 */
export const integrity = (file: string, limitMs = connectTimeoutMs): Effect.Effect<Finding> =>
  Effect.async<Finding>((resume) => {
    const driver = createRequire(import.meta.url).resolve("better-sqlite3")
    const child = spawn(process.execPath, ["-e", script, driver, file], {
      stdio: ["ignore", "pipe", "pipe"],
      timeout: limitMs,
      killSignal: "SIGKILL"
    })
    const told = { out: "", err: "" }
    child.stdout.on("data", (chunk) => {
      told.out += String(chunk)
    })
    child.stderr.on("data", (chunk) => {
      told.err += String(chunk)
    })
    child.on("error", (cause) => {
      resume(
        Effect.succeed(
          warning(
            "pages",
            `They could not be looked through: ${cause.message}.`,
            "Run sendwright backup, which looks through each."
          )
        )
      )
    })
    child.on("close", (code) => {
      const words =
        told.out === "" ? (/SqliteError: (.*)/.exec(told.err)?.[1] ?? "the driver ended") : told.out
      resume(
        Effect.succeed(
          code === null
            ? ok(
                "pages",
                `More than are looked through in ${limitMs / 1000} seconds: sendwright backup looks at each.`
              )
            : told.out === "ok"
              ? ok("pages", "All were looked through, and are whole.")
              : failing(
                  "pages",
                  `The database is damaged: ${words.replaceAll(/\s+/g, " ").slice(0, 200)}.`,
                  restoreOne
                )
        )
      )
    })
    return Effect.sync(() => child.kill("SIGKILL"))
  })
