/**
 * The contents that a direct message may have (contract.md §14): a text, with buttons or without, a medium, or a place. The limits are the
 * platform's.
 */
import * as Fault from "../Fault.ts"
import * as Json from "../Json.ts"
import * as Text from "../Text.ts"
import type { TemplateContent } from "../template/Template.ts"
import { mediaUrlFault } from "../template/Variables.ts"

export const mediaTypes = ["image", "video", "audio", "document", "sticker"] as const

export interface Media {
  readonly type: (typeof mediaTypes)[number]
  /** The platform fetches it from there. */
  readonly url: string
  readonly caption?: string | undefined
  readonly filename?: string | undefined
}

export interface Location {
  readonly latitude: number
  readonly longitude: number
  readonly name?: string | undefined
  readonly address?: string | undefined
}

/** A button, whose id comes back as the `payload` of the message that pressing it sends. */
export interface Button {
  readonly id: string
  readonly title: string
}

/** The parts beside the text, or in its place. */
export interface Parts {
  readonly media?: Media
  readonly location?: Location
  readonly buttons?: ReadonlyArray<Button>
  /** The platform's id of the message that it answers. */
  readonly replyTo?: string
}

/** The template that goes in the place of a text which the platform refuses, since the person's window is closed. */
export interface Otherwise {
  readonly templateId: number
  readonly template: TemplateContent
  readonly values: ReadonlyArray<string>
  /** By the rate card of the acceptance; null where it has no price. */
  readonly market: string | null
  readonly price: string | null
}

export interface Content extends Parts {
  readonly kind: "direct"
  /** Empty of a medium and of a place. */
  readonly text: string
  readonly linkPreview: boolean
  readonly otherwise?: Otherwise
}

/** A request's content; undefined members are none. */
export const contentOf = ({
  linkPreview = false,
  message = "",
  otherwise,
  reply_to,
  ...parts
}: {
  readonly otherwise?: Otherwise | undefined
  readonly message?: string | undefined
  readonly linkPreview?: boolean | undefined
  readonly media?: Media | undefined
  readonly location?: Location | undefined
  readonly buttons?: ReadonlyArray<Button> | undefined
  readonly reply_to?: string | undefined
}): Content => ({
  kind: "direct",
  text: message,
  linkPreview,
  ...(parts.media === undefined ? {} : { media: parts.media }),
  ...(parts.location === undefined ? {} : { location: parts.location }),
  ...(parts.buttons === undefined ? {} : { buttons: parts.buttons }),
  ...(reply_to === undefined ? {} : { replyTo: reply_to }),
  ...(otherwise === undefined ? {} : { otherwise })
})

/** The words that people read: the text, or the caption of the medium. */
export const words = ({ media, text }: Content): string => text || (media?.caption ?? "")

/** A content as it is shown to whom it is of, by the names of requests. */
export const shown = ({ buttons, location, media, text }: Content): Readonly<Record<string, unknown>> => ({
  text,
  ...(media === undefined ? {} : { media }),
  ...(location === undefined ? {} : { location }),
  ...(buttons === undefined ? {} : { buttons })
})

export const maximumText = 4096
export const maximumButtons = 3
/** The longest text with buttons, and the longest caption. */
const maximumBody = 1024
const maximumTitle = 20
const maximumId = 256
const maximumName = 240
const maximumAddress = 1024
const maximumReference = 512

/** A request as it came; what has not its type is told by its schema. */
type Given = Readonly<Record<string, unknown>>

type Path = ReadonlyArray<string | number>

const nameOf = (path: Path): string => `\`${path.join(".")}\``

const textFaults = (value: unknown, path: Path, most: number): ReadonlyArray<Fault.Fault> => {
  if (typeof value !== "string") return []
  if (Text.isLonger(value, most))
    return [Fault.make(path, "out_of_range", `${nameOf(path)} must be at most ${most} characters.`)]
  if (Text.isBlank(value)) return [Fault.make(path, "out_of_range", `${nameOf(path)} must not be blank.`)]
  return Text.isStorable(value)
    ? []
    : [Fault.make(path, "invalid_value", `${nameOf(path)} must be well-formed text without NUL.`)]
}

const mediaFaults = (media: unknown): ReadonlyArray<Fault.Fault> => {
  const of = (name: string) => Json.valueAt(media, name)
  const [type, url] = [of("type"), of("url")]
  const refused = (name: string, why: string) =>
    of(name) === undefined ? [] : [Fault.make(["media", name], "invalid_value", why)]
  const urlFault = typeof url === "string" ? mediaUrlFault(url) : undefined
  return [
    ...(urlFault === undefined
      ? []
      : [Fault.make(["media", "url"], "invalid_value", `\`media.url\` ${urlFault}.`)]),
    ...(type === "audio" || type === "sticker"
      ? refused("caption", "Audio and stickers have no caption: leave `media.caption` out.")
      : textFaults(of("caption"), ["media", "caption"], maximumBody)),
    ...(typeof type === "string" && type !== "document"
      ? refused("filename", "A document alone has a name: leave `media.filename` out.")
      : textFaults(of("filename"), ["media", "filename"], maximumName))
  ]
}

const degreeFaults = (location: unknown, name: string, most: number): ReadonlyArray<Fault.Fault> => {
  const value = Json.valueAt(location, name)
  return typeof value !== "number" || Math.abs(value) <= most
    ? []
    : [
        Fault.make(
          ["location", name],
          "out_of_range",
          `\`location.${name}\` must be from -${most} to ${most}.`
        )
      ]
}

const locationFaults = (location: unknown): ReadonlyArray<Fault.Fault> => [
  ...degreeFaults(location, "latitude", 90),
  ...degreeFaults(location, "longitude", 180),
  ...textFaults(Json.valueAt(location, "name"), ["location", "name"], maximumAddress),
  ...textFaults(Json.valueAt(location, "address"), ["location", "address"], maximumAddress)
]

const buttonFaults = (buttons: unknown): ReadonlyArray<Fault.Fault> => {
  if (!Array.isArray(buttons) || buttons.length > maximumButtons) return []
  const taken = { id: new Set<unknown>(), title: new Set<unknown>() }
  return buttons.flatMap((button: unknown, place) =>
    (["id", "title"] as const).flatMap((name) => {
      const value = Json.valueAt(button, name)
      const path = ["buttons", place, name]
      if (value !== undefined && taken[name].has(value))
        return [Fault.make(path, "invalid_value", `Another button has the same ${name}.`)]
      taken[name].add(value)
      return textFaults(value, path, name === "id" ? maximumId : maximumTitle)
    })
  )
}

/** The limits of what it holds. */
export const faults = (given: Given): ReadonlyArray<Fault.Fault> => [
  ...textFaults(given["message"], ["message"], given["buttons"] === undefined ? maximumText : maximumBody),
  ...mediaFaults(given["media"]),
  ...locationFaults(given["location"]),
  ...buttonFaults(given["buttons"]),
  ...textFaults(given["reply_to"], ["reply_to"], maximumReference)
]

/** The faults of parts that do not go together: a request has one of a text, a medium and a place. */
export const mixed = (
  given: Readonly<
    Partial<Record<"buttons" | "linkPreview" | "location" | "media" | "message" | "otherwise", unknown>>
  >
): ReadonlyArray<Fault.Fault> => {
  const [first, ...others] = (["message", "media", "location"] as const).filter(
    (name) => given[name] !== undefined
  )
  if (first === undefined)
    return [Fault.make(["message"], "required", "Give a `message`, or `media` or a `location` in its place.")]
  const beside = others.map((name) =>
    Fault.make([name], "invalid_value", `A message has a \`${first}\` or a \`${name}\`: give one of them.`)
  )
  const ofText = (["buttons", "linkPreview", "otherwise"] as const).filter(
    (name) => given[name] !== undefined
  )
  return [
    ...beside,
    ...(first === "message"
      ? []
      : ofText.map((name) =>
          Fault.make([name], "invalid_value", `\`${name}\` belongs to a \`message\`: leave it out.`)
        ))
  ]
}
