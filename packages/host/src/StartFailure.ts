/** Why a process could not begin, in one line that names the setting. */
import type { ServeError } from "@effect/platform/HttpServerError"
import type { StorageError, WrongMasterKey } from "@sendwright/core"
import type { MigrationError } from "@sendwright/core/sqlite"
import type { BadSettings } from "./HostConfig.ts"

export type StartFailure =
  | BadSettings
  | ServeError
  | MigrationError
  | WrongMasterKey
  | StorageError.StorageError

const first = (text: string): string => text.split("\n")[0] ?? text

/** The driver's words: they name the address or the file, and the reader is who chose it. */
export const causeOf = (error: { readonly cause?: unknown; readonly message: string }): string =>
  first(error.cause instanceof Error ? error.cause.message : error.message)

/** `alreadyOpen` is what to do when another process has the database. */
export const reason = (error: StartFailure, alreadyOpen: string): string => {
  switch (error._tag) {
    case "BadSettings":
      return error.message
    case "WrongMasterKey":
      return `SECRET_KEY: ${error.message} On SQLite without SECRET_KEY it is the file <database>.key.`
    case "ServeError":
      return `HOST, PORT: ${causeOf(error)}`
    case "MigrationError":
      return `DATABASE_URL: ${causeOf(error)}`
    case "StorageError":
      return `DATABASE_URL: ${error.reason ?? causeOf(error)}${error.operation === "open a database that is already open" ? alreadyOpen : ""}`
  }
}
