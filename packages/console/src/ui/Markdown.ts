/** A screen as Markdown, for a ticket: its sentence, its cards, its tables and its facts. */
import { tell } from "./Acts.tsx"

/** What one sees of it, on one line. */
const textOf = (node: Node): string => {
  if (node instanceof Element && !node.checkVisibility()) return ""
  const text = node.hasChildNodes() ? Array.from(node.childNodes, textOf).join(" ") : (node.nodeValue ?? "")
  return text
    .replace(/\s+/g, " ")
    .replace(/ ([,.:;!?])/g, "$1")
    .trim()
}

/** What one reads of a cell, on one line and without what would end the cell. */
const cellOf = (element: Element): string => textOf(element).replaceAll("|", "\\|")

const rowOf = (cells: ReadonlyArray<string>): string => `| ${cells.join(" | ")} |`

const blockOf = (element: Element): string | undefined => {
  switch (element.tagName) {
    case "H1":
      return `# ${textOf(element)}`
    case "H2":
      return `## ${textOf(element)}`
    case "TABLE": {
      const [heads = [], ...rows] = Array.from(element.querySelectorAll("tr"), (row) =>
        Array.from(row.querySelectorAll("th, td"), cellOf)
      )
      return [rowOf(heads), rowOf(heads.map(() => "---")), ...rows.map(rowOf)].join("\n")
    }
    case "DL":
      return Array.from(
        element.querySelectorAll("dt"),
        (name) => `- ${textOf(name)}: ${name.nextElementSibling ? textOf(name.nextElementSibling) : ""}`
      ).join("\n")
    case "LI":
      return `- ${textOf(element)}`
    case "P":
      return element.classList.contains("foot") ? undefined : textOf(element)
    default:
      return undefined
  }
}

const blocks = (element: Element): ReadonlyArray<string> =>
  Array.from(element.children).flatMap((child) => {
    const block = blockOf(child)
    if (block !== undefined) return block === "" ? [] : [block]
    return /^(?:BUTTON|SVG|NAV|DIALOG|FORM)$/i.test(child.tagName) ? [] : blocks(child)
  })

export const markdownOf = (screen: Element): string =>
  `${blocks(screen).join("\n\n").replaceAll("\n\n- ", "\n- ")}\n\n${location.href}\n`

export const copyMarkdown = async (): Promise<void> => {
  const screen = document.querySelector("main")
  if (screen === null) return
  const text = markdownOf(screen)
  try {
    await navigator.clipboard.writeText(text)
  } catch {
    // A page that came over plain HTTP has no clipboard but by a selection.
    const area = document.createElement("textarea")
    area.value = text
    document.body.append(area)
    area.select()
    document.execCommand("copy")
    area.remove()
  }
  tell("Copied.")
}
