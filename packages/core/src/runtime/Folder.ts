import { existsSync, mkdirSync } from "node:fs"
import { dirname } from "node:path"

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
    if (!existsSync(folder)) throw cause
  }
}
