/**
 * The program of a node as a later build will be: this build with one migration more, which adds and takes nothing away.
 * Processes of both have to work beside each other (docs/adr/0030).
 */
import { readFileSync } from "node:fs"
import * as Program from "./Program.ts"

/** What each process of this build meets while it works: wider rows, a wider index, a table that it does not know. */
const expansion = `
export const migrations = [...released, {
  id: released.length + 1,
  name: "of a later build",
  compatibleFrom: released.length,
  statements: [
    "sendwright_job", "sendwright_recipient", "sendwright_session", "sendwright_template", "sendwright_event"
  ].map((table) => "ALTER TABLE " + table + " ADD COLUMN of_later TEXT NOT NULL DEFAULT 'later'; CREATE INDEX " + table + "_later ON " + table + " (of_later);").join("")
    + "CREATE TABLE sendwright_later (id INTEGER PRIMARY KEY)"
}]
`

const expanded = {
  name: "later",
  setup: ({ onLoad }: Program.Building) => {
    onLoad({ filter: /[/\\]storage[/\\](?:sqlite|postgres)[/\\]Schema\.ts$/ }, ({ path }) => {
      const released = readFileSync(path, "utf8").replace("export const migrations", "const released")
      return { contents: released + expansion, loader: "ts" }
    })
  }
}

/** The file to run. */
export const program = (): Promise<string> => Program.changed(expanded)
