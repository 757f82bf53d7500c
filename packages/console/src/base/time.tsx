/** Times, in UTC or here: relative with the exact one on hover, or the other way round. */
import { signal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { clock } from "./live.ts"

const own = Intl.DateTimeFormat().resolvedOptions().timeZone
/** The last part of the zone's name is its place. */
export const ownPlace = own.split("/").at(-1)?.replaceAll("_", " ") ?? "Local"

const stored = (): string | null => {
  try {
    return localStorage.getItem("sendwright.zone")
  } catch {
    return null
  }
}
export const isLocal = signal(stored() === "local")
export const setLocal = (is: boolean): void => {
  isLocal.value = is
  try {
    localStorage.setItem("sendwright.zone", is ? "local" : "utc")
  } catch {
    // A browser that keeps nothing shows it as long as the page is open.
  }
}

const formats = new Map<string, Intl.DateTimeFormat>()
const format = (name: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat => {
  const zone = isLocal.value ? own : "UTC"
  const key = `${name} ${zone}`
  const found = formats.get(key) ?? new Intl.DateTimeFormat("en-GB", { timeZone: zone, ...options })
  formats.set(key, found)
  return found
}

const instant = (at: string | number): Date => new Date(at)
export const zoneName = (): string => (isLocal.value ? ownPlace : "UTC")
export const timeOf = (at: string | number): string =>
  format("time", { hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(instant(at))
export const minuteOf = (at: string | number): string =>
  format("minute", { hour: "2-digit", minute: "2-digit" }).format(instant(at))
export const dayOf = (at: string | number): string =>
  format("day", { day: "numeric", month: "short", year: "numeric" }).format(instant(at))
export const exactOf = (at: string | number): string => `${dayOf(at)}, ${timeOf(at)} ${zoneName()}`

/** Of the same day the time alone. */
export const shortOf = (at: string | number): string =>
  dayOf(at) === dayOf(clock.value)
    ? timeOf(at)
    : `${format("short", { day: "numeric", month: "short" }).format(instant(at))}, ${minuteOf(at)}`

const units: ReadonlyArray<readonly [string, number]> = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["min", 60_000],
  ["s", 1000]
]

/** `2 h 5 min`; below a second in milliseconds. */
export const spanOf = (ms: number, parts = 1): string => {
  if (ms < 1000) return `${Math.round(ms)} ms`
  const at = units.findIndex(([, size]) => ms >= size)
  const shown: Array<string> = []
  let left = ms
  for (const [name, size] of units.slice(at, at + parts)) {
    const count = Math.floor(left / size)
    left -= count * size
    if (count > 0) shown.push(`${count} ${name}`)
  }
  return shown.join(" ")
}

export const agoOf = (at: string | number): string => {
  const ms = clock.value - instant(at).getTime()
  if (Math.abs(ms) < 1000) return "now"
  return ms > 0 ? `${spanOf(ms)} ago` : `in ${spanOf(-ms)}`
}

/** An exact time, with the relative one on hover. */
export const At = ({ at }: { readonly at: string | null }) =>
  at === null ? (
    <>–</>
  ) : (
    <time dateTime={at} title={`${exactOf(at)}, ${agoOf(at)}`}>
      {shortOf(at)}
    </time>
  )

/** A relative time, with the exact one on hover. */
export const Ago = ({ at }: { readonly at: string | null }) =>
  at === null ? (
    <>–</>
  ) : (
    <time dateTime={at} title={exactOf(at)}>
      {agoOf(at)}
    </time>
  )

const written = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/

/** A text of the API with its times as they are shown here. */
export const Told = ({ text }: { readonly text: string | null }): ComponentChildren =>
  (text ?? "").split(written).map((part, at) => (at % 2 === 1 ? <At at={part} key={at} /> : part))
