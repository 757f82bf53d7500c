import { pathToFileURL } from "node:url"

/** Whether a module is the program itself, and not imported by a test. */
export const isMain = (url: string): boolean => pathToFileURL(process.argv[1] ?? "").href === url
