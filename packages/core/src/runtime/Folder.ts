import { existsSync, lstatSync, mkdirSync, readlinkSync } from "node:fs"
import { dirname } from "node:path"

/** Why nothing can be made at a path: the system names no link whose end is missing, such as that of a volume. */
export const whyNot = (path: string, cause: unknown): unknown =>
  !existsSync(path) && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true
    ? new Error(`${path} is a link to ${readlinkSync(path)}, which is not there. Is its volume mounted?`)
    : cause

/**
 * Makes a folder that its owner alone reads, and those above it that are missing; throws where one cannot be made. Node's own
 * `recursive` never ends where the file system takes no folder, such as below `/proc`.
 */
export const makePrivate = (folder: string): void => {
  if (existsSync(folder)) return
  makePrivate(dirname(folder))
  try {
    mkdirSync(folder, { mode: 0o700 })
  } catch (cause) {
    // Another process may have made it meanwhile.
    if (!existsSync(folder)) throw whyNot(folder, cause)
  }
}
