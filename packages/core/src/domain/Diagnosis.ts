/** An operator is told of each part of an installation how it is, and what mends it. */
import type { Instant } from "./Instant.ts"
import * as Time from "./Instant.ts"
import type { Remembered } from "./Keyring.ts"
import * as Keyring from "./Keyring.ts"
import * as Size from "./Size.ts"

/** The better one first. */
export const verdicts = ["ok", "warning", "failing"] as const
export type Verdict = (typeof verdicts)[number]

export interface Finding {
  readonly check: string
  readonly verdict: Verdict
  readonly says: string
  /** The mend; null when nothing is to be done. */
  readonly mend: string | null
}

export const ok = (check: string, says: string): Finding => ({ check, verdict: "ok", says, mend: null })

export const warning = (check: string, says: string, mend: string): Finding => ({
  check,
  verdict: "warning",
  says,
  mend
})

export const failing = (check: string, says: string, mend: string): Finding => ({
  check,
  verdict: "failing",
  says,
  mend
})

export const worst = (findings: ReadonlyArray<Finding>): Verdict =>
  verdicts.findLast((verdict) => findings.some((finding) => finding.verdict === verdict)) ?? "ok"

const counted = (count: number, one: string): string => `${count} ${one}${count === 1 ? "" : "s"}`

/** A length of time, in the unit that it fills. */
export const inWords = (ms: number): string => {
  const units = [
    [Time.day, "day"],
    [Time.hour, "hour"],
    [Time.minute, "minute"],
    [Time.second, "second"]
  ] as const
  const [unit, word] = units.find(([unit]) => ms >= unit) ?? [1, "millisecond"]
  return counted(Math.floor(ms / unit), word)
}

export const inBytes = (bytes: number): string => {
  const units = ["bytes", "KiB", "MiB", "GiB", "TiB"]
  const power = bytes < 1 ? 0 : Math.min(units.length - 1, Math.floor(Math.log2(bytes) / 10))
  const value = bytes / 1024 ** power
  return `${power === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[power]}`
}

// Clock

/** Receivers of webhooks, and we of gateways, take a signature for this long. */
const signatureLasts = 5 * Time.minute
const noticed = 5 * Time.second

const follow = "Let this machine follow a time server (timedatectl set-ntp true)."

/**
 * @param seen.difference another clock minus this machine's; null where there is none
 * @param seen.whose that other clock
 * @param seen.lastJobAt when the last job was accepted, by the clock of then
 * @param seen.jump how far this machine's clock moved, while it was looked at, beside the time that passed
 */
export const ofClock = (
  now: Instant,
  seen: {
    readonly difference: number | null
    readonly whose?: string
    readonly lastJobAt: Instant | null
    readonly jump: number
  }
): Finding => {
  const ahead = seen.lastJobAt === null ? 0 : seen.lastJobAt - (now + (seen.difference ?? 0))
  const off = Math.abs(seen.difference ?? 0)
  if (ahead > noticed)
    return failing(
      "clock",
      `The last job is of a time that is ${inWords(ahead)} ahead: the clock was set back, or was wrong.`,
      "Set the clock. If it is right now, what was accepted under the wrong one waits until its time comes."
    )
  if (Math.abs(seen.jump) > noticed)
    return failing(
      "clock",
      `The clock jumped by ${inWords(Math.abs(seen.jump))} while it was looked at.`,
      follow
    )
  if (seen.difference === null) return ok("clock", "It goes on evenly, and no job is of a later time.")
  const says = `It is ${inWords(off)} ${seen.difference > 0 ? "behind" : "ahead of"} ${seen.whose ?? "the database's"}.`
  if (off > signatureLasts)
    return failing("clock", `${says} What it signs or checks by itself is refused after 5 minutes.`, follow)
  return off > noticed ? warning("clock", says, follow) : ok("clock", says)
}

// Keys

const change = "docs/keys.md, Changing the master key"

/** @param given the ids of this process's keys, the first one first */
export const ofKeys = (remembered: ReadonlyArray<Remembered>, given: ReadonlyArray<string>): Finding => {
  const asked = Keyring.asked(remembered)
  if (remembered.length === 0) return ok("keys", "The database has no secrets yet.")
  const joining = Keyring.join(remembered, [], given)
  if (joining._tag === "Missing")
    return failing(
      "keys",
      `SECRET_KEY lacks ${joining.keys.join(", ")}, which the database's secrets need.`,
      `Give that key, too; on SQLite without SECRET_KEY it is the file <database>.key (${change}).`
    )
  if (joining._tag === "Retired")
    return failing(
      "keys",
      `The first key of SECRET_KEY (${joining.key}) was retired.`,
      `Give the key that replaced it first (${change}).`
    )
  const unneeded = given.filter((key) => !asked.includes(key) && !joining.add.includes(key))
  if (asked.length > 1 || joining.add.length > 0)
    return warning(
      "keys",
      `The database needs ${[...asked, ...joining.add].join(", ")}: a change of the key is under way.`,
      `Finish it with sendwright secrets reseal (${change}).`
    )
  return unneeded.length > 0
    ? warning(
        "keys",
        `No secret needs ${unneeded.join(", ")} any more.`,
        "Leave it out of SECRET_KEY, and keep it with the backups that do."
      )
    : ok("keys", `SECRET_KEY has the key that the database needs (${asked.join(", ")}).`)
}

// Disk

export interface Growth {
  readonly jobs: number
  readonly recent: number
  readonly days: number
}

/** A database's growth in a day, in bytes: its size by the share of its jobs that came lately. */
export const dailyGrowth = (bytes: number, { days, jobs, recent }: Growth): number =>
  jobs === 0 ? 0 : (bytes * recent) / jobs / days

const makeRoom =
  "Make room, give the database a larger disk, or shorten what is kept (docs/operating.md, A full disk)."

export const ofDisk = (seen: {
  readonly free: number
  readonly bytes: number
  readonly perDay: number
}): Finding => {
  const { bytes, free, perDay } = seen
  const days = perDay < 1 ? Number.POSITIVE_INFINITY : Math.floor(free / perDay)
  const time = days < 1 ? "less than a day" : counted(days, "day")
  const pace = days > 3650 ? "" : ` At the pace of the last days it lasts for ${time}.`
  const says = `${inBytes(free)} are free, and the database has ${inBytes(bytes)}.${pace}`
  const room = Size.roomOf(free, perDay)
  if (room === "now") return failing("disk", says, makeRoom)
  return room === "soon" || free < bytes
    ? warning(
        "disk",
        `${says}${free < bytes ? " A backup or a compaction here needs as much as the database has." : ""}`,
        makeRoom
      )
    : ok("disk", says)
}

// Reachability

/** The mend of a connection that is not made, by how it ended. */
const cures: ReadonlyArray<readonly [RegExp, string]> = [
  [/^ENOTFOUND|^EAI_|^ENODATA|^ESERVFAIL/, "Correct the name, or look at this machine's name servers."],
  [
    /^ADDRESS_REFUSED/,
    "It leads into a network that is not public: give a public address, or allow the network."
  ],
  [/CERT|SIGNATURE|ISSUER|SELF_SIGNED|ALTNAME|^ERR_TLS|^ERR_SSL|^EPROTO/, "Mend its certificate or its TLS."],
  [/^PROXY_/, "Look at the proxy of WEBHOOK_PROXY: it must connect, or let this name pass."],
  [/^ECONNREFUSED/, "Nothing listens there: start it, or correct the port."]
]

/** @param reason the code of Node or undici */
export const cureOf = (reason: string): string =>
  cures.find(([pattern]) => pattern.test(reason))?.[1] ??
  "Look whether this machine may reach it (firewall, egress, the receiver itself)."
