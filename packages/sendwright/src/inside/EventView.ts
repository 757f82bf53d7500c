/** An event as it is written for webhooks, as handlers get it. */
import type { SendwrightEvent } from "../api/Events.ts"

/** Members that are a platform's own, and stay as they came. */
const theirs: ReadonlySet<string> = new Set([
  "content",
  "news",
  "rejection_info",
  "other_info",
  "disable_info"
])

const isTime = (name: string): boolean => /_(?:at|since|until)$/.test(name)

const camel = (name: string): string => name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase())

const member = (name: string, value: unknown): unknown => {
  if (theirs.has(name)) return value
  return isTime(name) && typeof value === "string" ? new Date(value) : ofWire(value)
}

/** Names in camelCase, times as `Date`s. */
export const ofWire = (value: unknown): unknown => {
  if (Array.isArray(value)) return value.map(ofWire)
  if (typeof value !== "object" || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [camel(name), member(name, each)]))
}

/** An event that the engine wrote itself has the data of its type. */
export const isEvent = (value: unknown): value is SendwrightEvent =>
  typeof value === "object" &&
  value !== null &&
  "id" in value &&
  typeof value.id === "string" &&
  "type" in value &&
  typeof value.type === "string" &&
  "createdAt" in value &&
  value.createdAt instanceof Date &&
  "data" in value &&
  typeof value.data === "object" &&
  value.data !== null
