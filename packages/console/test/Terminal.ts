/** A terminal's lines as a page, for a picture of them. */

const classes: Readonly<Record<string, string>> = {
  1: "bold",
  2: "dim",
  31: "red",
  32: "green",
  33: "yellow"
}

const escaped = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")

const escape = "\u001b["

/** Begins a line that is written anew in the place of the last one. */
const cleared = `${escape}2K`

const painted = (line: string): string =>
  line
    .replace(cleared, "")
    .split(escape)
    .map((part, at) => {
      if (at === 0) return escaped(part)
      const end = part.indexOf("m")
      const name = classes[part.slice(0, end)]
      return `${name === undefined ? "</span>" : `<span class="${name}">`}${escaped(part.slice(end + 1))}`
    })
    .join("")

const style = `body { margin: 0; background: #16181d; width: max-content }
pre { margin: 0; padding: 20px 28px; color: #d8dbe2; font: 14px/1.45 "DejaVu Sans Mono", monospace }
.bold { font-weight: 700 } .dim { color: #7d8594 } .red { color: #f0787a } .green { color: #7ccf8a } .yellow { color: #e5c063 }`

/** @param lines those that are written anew each for itself */
export const page = (lines: ReadonlyArray<string>): string => {
  const left = lines.filter(
    (line, at) => !line.startsWith(cleared) || lines[at + 1]?.startsWith(cleared) !== true
  )
  return `<!doctype html><meta charset="utf-8"><style>${style}</style><pre>${left.map(painted).join("\n")}</pre>`
}
