/** A change of settings by their names: what is given replaces, `null` too, and what is absent stays. */
import * as Struct from "effect/Struct"

export type Change<Settings> = { readonly [Name in keyof Settings]?: Settings[Name] | undefined }

export const changed = <Settings extends object>(
  settings: Settings,
  change: Change<Settings> | undefined
): Settings => {
  const next = { ...settings }
  for (const name of Struct.keys(settings)) {
    const given = change?.[name]
    if (given !== undefined) next[name] = given
  }
  return next
}
