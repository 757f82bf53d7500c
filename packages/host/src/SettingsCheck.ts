/** Finds settings with which the host starts and which the operator may not have meant. */
import { HttpLimits } from "@sendwright/http/server"
import type { HostConfig } from "./HostConfig.ts"
import { baseUrlOf, hasDeadLinks, isBehindUnnamedProxy } from "./HostConfig.ts"

export interface SettingWarning {
  readonly says: string
  readonly mend: string
}

type Doubted = readonly [isSo: boolean, says: string, mend: string]

/** One process has only a part of the roles. A SQLite database belongs to it alone, so that no other does the rest. */
const isHalf = ({ database, role }: HostConfig): boolean => database.kind === "sqlite" && role !== "all"

/** Limits that bound nothing once they are over the other. */
const pairs: ReadonlyArray<readonly [part: HttpLimits.Name, whole: HttpLimits.Name]> = [
  ["connectionsPerAddress", "connections"],
  ["bodiesPerAddress", "bodies"],
  ["pagesPerAddress", "pages"],
  ["headersTime", "requestTime"]
]

const excess = ({ limits }: HostConfig): ReadonlyArray<Doubted> =>
  pairs.map(([part, whole]) => {
    const [inner, outer] = [HttpLimits.table[part].setting, HttpLimits.table[whole].setting]
    return [
      limits[part] > limits[whole],
      `${inner} is more than ${outer}, and bounds nothing.`,
      `Set ${inner} below ${outer}.`
    ]
  })

/** In the order in which they are logged. */
export const check = (config: HostConfig): ReadonlyArray<SettingWarning> => {
  const { host, openFiles, port, role } = config
  const doubted: ReadonlyArray<Doubted> = [
    [
      isHalf(config),
      `ROLE=${role} on SQLite: no second process can be on this database, so ${role === "api" ? "what is accepted waits for a start with ROLE=all" : "nothing is accepted"}.`,
      "Use PostgreSQL for several processes."
    ],
    [
      // The database has phones and texts of people, and the key file beside it decrypts every secret that it has.
      openFiles.length > 0,
      `Others than their owner can read ${openFiles.join(", ")}.`,
      "Set their mode to 600 (chmod 600)."
    ],
    [
      config.isTokenEmpty,
      "ADMIN_TOKEN is empty, so that there is no admin API.",
      "Give one (openssl rand -base64 24), or leave the variable out."
    ],
    [
      config.hasWeakToken,
      "ADMIN_TOKEN can be guessed, and is refused where HOST is not a loopback address.",
      "Make another: openssl rand -base64 24"
    ],
    [
      hasDeadLinks(config),
      `HOST=${host} without BASE_URL: links and problem types begin with ${baseUrlOf(config, port)}, where nobody reaches this host.`,
      "Set BASE_URL to the address that clients use, such as https://messages.example."
    ],
    [
      isBehindUnnamedProxy(config),
      "BASE_URL is another address than HOST's, and TRUST_PROXY names no proxy: all clients behind it count as one.",
      "Set TRUST_PROXY to the proxy's network, such as 127.0.0.1/32."
    ],
    ...excess(config)
  ]
  return doubted.flatMap(([isSo, says, mend]) => (isSo ? [{ says, mend }] : []))
}
