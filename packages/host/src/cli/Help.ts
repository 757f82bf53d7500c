/** The help in lines that fit: of the whole, of a group, of one command. */
import type * as HelpDoc from "@effect/cli/HelpDoc"
import type * as Span from "@effect/cli/HelpDoc/Span"
import * as Screen from "./Screen.ts"

/** A command, with what the parser knows of its arguments and flags. */
export interface Command {
  /** The command's words, without the program's name. */
  readonly name: string
  readonly description: string
  readonly args: HelpDoc.HelpDoc
  readonly flags: HelpDoc.HelpDoc
}

export interface Group {
  readonly name: string
  readonly description: string
}

/** A name, and what it is. */
interface Entry {
  readonly name: string
  readonly text: string
}

const textOf = (span: Span.Span): string => {
  switch (span._tag) {
    case "Text":
    case "URI":
      return span.value
    case "Sequence":
      return `${textOf(span.left)}${textOf(span.right)}`
    default:
      return textOf(span.value)
  }
}

const paragraphsOf = (doc: HelpDoc.HelpDoc): ReadonlyArray<string> => {
  switch (doc._tag) {
    case "Paragraph":
      return [textOf(doc.value).trim()]
    case "Sequence":
      return [...paragraphsOf(doc.left), ...paragraphsOf(doc.right)]
    default:
      return []
  }
}

type Definition = readonly [name: string, paragraphs: ReadonlyArray<string>]

const definitionsOf = (doc: HelpDoc.HelpDoc): ReadonlyArray<Definition> => {
  switch (doc._tag) {
    case "DescriptionList":
      return doc.definitions.map(([name, says]) => [textOf(name), paragraphsOf(says)])
    case "Sequence":
      return [...definitionsOf(doc.left), ...definitionsOf(doc.right)]
    default:
      return []
  }
}

const isOptional = (paragraph: string): boolean => paragraph === "This setting is optional."

/** The library's own sentences, which say what the kind of the value says already. */
const isStock = (paragraph: string): boolean =>
  /^(A |An )?(user-defined|true or false|floating point|integer)|^One of the following:/i.test(paragraph) ||
  isOptional(paragraph)

/** `--limit text` is the flag and its kind; several words of choices are told behind it. */
const entryOf = ([name, paragraphs]: Definition): Entry & { readonly optional: boolean } => {
  const [flag = name, ...kind] = name.split(" ")
  const kinds = kind.join(" ")
  const told = paragraphs.filter((paragraph) => paragraph !== "" && !isStock(paragraph))
  return {
    name: kinds.includes("|") && kinds.length > 16 ? flag : name,
    text: [...(kinds.length > 16 ? [kinds.replaceAll(" | ", ", ")] : []), ...told].join(". "),
    optional: paragraphs.some(isOptional)
  }
}

/** The names stand in a column of this width, a longer one in a line of its own. */
const namesTo = 28

const listed = (entries: ReadonlyArray<Entry>, columns: number): ReadonlyArray<string> =>
  entries.flatMap(({ name, text }) => {
    const lines = text === "" ? [] : Screen.wrap(text, columns - namesTo - 2)
    const [first = "", ...rest] = lines
    const head = `  ${name}`
    const indented = (line: string) => `${" ".repeat(namesTo)}${line}`
    return head.length < namesTo - 1
      ? [`${head.padEnd(namesTo)}${first}`.trimEnd(), ...rest.map(indented)]
      : [head, ...lines.map(indented)]
  })

const titled = (
  title: string,
  entries: ReadonlyArray<Entry>,
  stream: Screen.Stream,
  columns: number
): ReadonlyArray<string> =>
  entries.length === 0 ? [] : ["", Screen.strong(title, stream), ...listed(entries, columns)]

const widthOf = ({ columns }: Screen.Stream): number => Math.min(100, Math.max(60, columns))

/** The help of one command. */
export const ofCommand = ({ args, description, flags, name }: Command, stream: Screen.Stream): string => {
  const columns = widthOf(stream)
  const given = definitionsOf(args).map(entryOf)
  const all = definitionsOf(flags).map(entryOf)
  const needed = all.filter(({ optional }) => !optional)
  const usage = [
    "sendwright",
    name,
    ...given.map(({ name }) => name),
    ...needed.map(({ name }) => name),
    ...(needed.length < all.length ? ["[flags]"] : [])
  ]
  return [
    ...Screen.wrap(description, columns),
    "",
    `${Screen.strong("Usage", stream)}  ${usage.join(" ")}`,
    ...titled("Arguments", given, stream, columns),
    ...titled("Needed", needed, stream, columns),
    ...titled(
      "Flags",
      all.filter(({ optional }) => optional),
      stream,
      columns
    )
  ].join("\n")
}

/** The help of the whole or of a group, with the commands below it. */
export const ofGroup = (
  { description, name }: Group,
  below: ReadonlyArray<Group>,
  flags: ReadonlyArray<Entry>,
  stream: Screen.Stream
): string => {
  const columns = widthOf(stream)
  return [
    ...Screen.wrap(description, columns),
    "",
    `${Screen.strong("Usage", stream)}  ${["sendwright", ...(name === "" ? ["[flags]"] : [name]), "<command>", "…"].join(" ")}`,
    ...titled(
      "Commands",
      below.map(({ description, name }) => ({ name, text: description })),
      stream,
      columns
    ),
    ...titled("Flags, before the command", flags, stream, columns),
    "",
    `${Screen.faint(`sendwright ${name === "" ? "" : `${name} `}<command> --help tells more of each.`, stream)}`
  ].join("\n")
}
