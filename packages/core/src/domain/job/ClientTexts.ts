/**
 * Texts that a client gives for its own use with a send, a direct message (contract.md §10) or a recipient. Each comes with the
 * request, is kept with the job or the recipient, and is told in answers and in every event. One line for each text, by its
 * name in process; on the wire the name is in snake_case.
 */
import * as Schema from "effect/Schema"
import * as Struct from "effect/Struct"
import { Reference } from "./Reference.ts"

/** A name on the wire. */
export type Snake<Name extends string> = Name extends `${infer Head}${infer Tail}`
  ? `${Head extends Lowercase<Head> ? Head : `_${Lowercase<Head>}`}${Snake<Tail>}`
  : Name

interface Text {
  readonly schema: Schema.Schema<string>
  readonly example: string
  /** In code points. */
  readonly longest: number
  /** True when the search finds messages by it. */
  readonly isSearched: boolean
}

type Given = Readonly<Record<string, Text>>
type InProcess<T extends Given, A> = { readonly [Name in keyof T]: A }
type OnWire<T extends Given, A> = { readonly [Name in keyof T & string as Snake<Name>]: A }

const titled = (wire: string): string => (wire.charAt(0).toUpperCase() + wire.slice(1)).replaceAll("_", " ")

const make = <T extends Given>(texts: T) => {
  const names = Struct.keys(texts)
  const wires = names.map((name) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`))
  // A loop, since it runs for every recipient.
  const each = <A>(keys: ReadonlyArray<string>, of: (place: number) => A): object => {
    const found: Record<string, A> = {}
    for (const [place, key] of keys.entries()) found[key] = of(place)
    return found
  }
  const read = (given: object, keys: ReadonlyArray<string>) => (place: number) =>
    Reflect.get(given, keys[place] ?? "") ?? null
  // The assertions say of each name what the types say: no type follows a text through its letters.
  const inProcess = (of: (place: number) => string | null) => each(names, of) as InProcess<T, string | null>
  const onWire = <A>(of: (place: number) => A) => each(wires, of) as OnWire<T, A>
  const known = Object.values(texts)
  return {
    names,
    /** Their limits, in code points. */
    longest: onWire((place) => known[place]?.longest ?? 0),
    /** On the wire, which are the names of their columns, too. */
    searched: wires.filter((_, place) => known[place]?.isSearched),
    /** A name on the wire as people write it. */
    titles: onWire((place) => titled(wires[place] ?? "")),
    /** As a request has them. */
    requested: onWire((place) => Schema.optional(known[place]?.schema ?? Schema.String)),
    /** As answers and events tell them. */
    told: onWire(() => Schema.NullOr(Schema.String)),
    examples: onWire((place) => known[place]?.example ?? ""),
    /** The texts of a list in the order of their names. */
    from: inProcess,
    /** The texts of whatever has them, by their names in process. */
    of: (given: Partial<InProcess<T, string | null | undefined>>) => inProcess(read(given, names)),
    /** The texts of a request. */
    ofBody: (body: Partial<OnWire<T, string | null | undefined>>) => inProcess(read(body, wires)),
    /** As answers and events tell those of whatever has them. */
    toBody: (given: Partial<InProcess<T, string | null | undefined>>) =>
      onWire<string | null>(read(given, names)),
    /** A request in process with their names on the wire. */
    renamed: (given: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>> =>
      Object.fromEntries(
        Object.entries(given).map(([name, value]) => [wires[names.indexOf(name)] ?? name, value])
      )
  }
}

/** Of a recipient, whose faults are told one by one (`engine/Checks`). */
const ofRecipient = ({
  description,
  ...text
}: Omit<Text, "schema"> & { readonly description: string }): Text => ({
  schema: Schema.String.annotations({
    description: `${description}: well-formed text without NUL.`,
    jsonSchema: { maxLength: text.longest }
  }),
  ...text
})

/** Of a send or a direct message. */
export const job = make({
  reference: {
    schema: Reference.annotations({
      description: "Your name for it, at most 255 characters: kept with it and told in every event of it."
    }),
    example: "order A-17",
    longest: 255,
    isSearched: false
  }
})
export type JobTexts = ReturnType<typeof job.of>

/** Of a recipient. */
export const recipient = make({
  externalId: ofRecipient({
    description: "Your reference for the recipient",
    example: "customer-9",
    longest: 255,
    isSearched: true
  })
})
export type RecipientTexts = ReturnType<typeof recipient.of>
