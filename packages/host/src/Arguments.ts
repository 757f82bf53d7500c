/** The arguments of `sendwright-host`: none, since its settings are variables, or a question. */

export type Asked =
  | { readonly _tag: "Start" }
  | { readonly _tag: "Help" }
  | { readonly _tag: "Version" }
  | { readonly _tag: "Unknown"; readonly argument: string }

const known: Readonly<Record<string, Asked["_tag"] & ("Help" | "Version")>> = {
  "--help": "Help",
  "-h": "Help",
  "--version": "Version"
}

/** A host that started all the same would hold the database of who only wanted to look. */
export const read = (given: ReadonlyArray<string>): Asked => {
  const unknown = given.find((argument) => !Object.hasOwn(known, argument))
  if (unknown !== undefined) return { _tag: "Unknown", argument: unknown }
  const [first] = given.flatMap((argument) => known[argument] ?? [])
  return { _tag: first ?? "Start" }
}

/** The exit code, as that of the command line, where the arguments are not those of the program. */
export const misused = 2

export const help = `Usage: sendwright-host

Serves the API and sends what it accepts, until SIGTERM or SIGINT. Its settings are environment variables, such as:

  DATABASE_URL   a file (default: ./data/sendwright.db) or postgres://<user>:<password>@<host>/<database>
  HOST, PORT     where it listens (default: 127.0.0.1, 8080)
  BASE_URL       its public address, for links
  ADMIN_TOKEN    opens the admin API (openssl rand -base64 24)
  SECRET_KEY     encrypts secrets; needed with PostgreSQL (openssl rand -base64 32)
  ROLE           all (default), api or worker

docs/settings.md has all of them, docs/deployment.md a service of systemd and a container.

  -h, --help     shows this
  --version      shows the version`
