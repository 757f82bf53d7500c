/** The tables whose rows nobody reads as records, each with its columns. */
import {
  exact,
  exactOrNull,
  flag,
  instant,
  instantOrNull,
  integer,
  integerOrNull,
  noted,
  table,
  text,
  textOrNull
} from "../Columns.ts"
import { impersonal, opaque, personKey, phone, report, within } from "../Personal.ts"

export const addresses = table("sendwright_address", { kept: "registered", key: ["address", "session"] })({
  address: exact("address", impersonal),
  session: exact("session", impersonal),
  sealed: text("sealed", impersonal)
})

export const links = table("sendwright_person_link", {
  kept: "registered",
  part: "links",
  goes: true,
  key: ["account", "person", "other"]
})({
  account: exact("account", impersonal),
  person: exact("person", personKey),
  other: exact("other", personKey),
  told: flag("told", impersonal),
  at: instant("at", impersonal)
})

// An erasure of a direct message's recipient gives the job another content, and this one goes.
export const snapshots = table("sendwright_snapshot", { kept: { walk: "texts" } })({
  digest: exact("digest", impersonal, "exact NOT NULL UNIQUE"),
  body: text("body", opaque)
})

export const erased = table("sendwright_erased", { kept: "registered", key: ["account", "hash"] })({
  account: exact("account", impersonal),
  hash: exact("hash", opaque),
  at: instant("at", impersonal)
})

export const erasureSecrets = table("sendwright_erasure_secret", { kept: "passing" })({
  id: exact("id", impersonal, "exact NOT NULL UNIQUE"),
  sealed: text("sealed", opaque)
})

export const workers = table("sendwright_worker", { kept: "passing", key: ["id"] })({
  id: exact("id", impersonal, "exact PRIMARY KEY"),
  beats: integer("beats", impersonal),
  dispatches_at: noted(
    "dispatches_at: when it last said that it lives, of a process that takes by itself what is due.",
    instantOrNull("dispatches_at", impersonal)
  ),
  version: noted("What its process is, and when it said so last.", textOrNull("version", impersonal)),
  role: textOrNull("role", impersonal),
  slots: integerOrNull("slots", impersonal),
  started_at: instantOrNull("started_at", impersonal),
  said_at: instantOrNull("said_at", impersonal)
})

export const paces = table("sendwright_pace", { kept: "passing", key: ["paced"] })({
  paced: noted("Sessions and webhook endpoints.", exact("paced", impersonal, "exact PRIMARY KEY")),
  arrival: integer("arrival", impersonal, "real NOT NULL")
})

export const pairs = table("sendwright_pair", {
  kept: "passing",
  part: "pairs",
  goes: true,
  key: ["session", "phone"]
})({
  session: exact("session", impersonal),
  phone: exact("phone", phone),
  next_at: instant("next_at", impersonal)
})

export const parked = table("sendwright_parked", { kept: "passing", part: "reports", goes: true })({
  session: exact("session", impersonal),
  provider_id: text("provider_id", within),
  report: text("report", report),
  at: instant("at", impersonal)
})

export const inbound = table("sendwright_inbound", { kept: { walk: "inbound" }, key: ["id"] })({
  id: exact("id", opaque, "exact PRIMARY KEY"),
  at: instant("at", impersonal)
})

export const masterKeys = table("sendwright_master_key", { kept: "registered" })({
  id: exact("id", impersonal, "exact NOT NULL UNIQUE"),
  added_at: instant("added_at", impersonal),
  retired_at: instantOrNull("retired_at", impersonal)
})

export const quarantines = table("sendwright_quarantine", { kept: "passing", key: ["id"] })({
  id: integer("id", impersonal, "long PRIMARY KEY CHECK (id = 1)"),
  reason: exact("reason", impersonal),
  since: instant("since", impersonal),
  last_job: integer("last_job", impersonal),
  opened: integer("opened", impersonal),
  counts: exact("counts", impersonal),
  way: exactOrNull("way", impersonal)
})

export const sizes = table("sendwright_size", { kept: "passing", key: ["day"] })({
  day: instant("day", impersonal, "long PRIMARY KEY"),
  bytes: integer("bytes", impersonal)
})

export const segments = table("sendwright_segment", { kept: "passing", key: ["id"] })({
  id: integer("id", impersonal, "long PRIMARY KEY"),
  last: integer("last", impersonal),
  written: integerOrNull("written", impersonal)
})

export const segmentKeys = table("sendwright_segment_key", {
  kept: "passing",
  key: ["segment", "key", "recipient"]
})({
  segment: integer("segment", impersonal),
  key: exact("key", opaque),
  recipient: integer("recipient", impersonal)
})

export const busy = table("sendwright_busy", { kept: "passing", key: ["session", "priority"] })({
  session: exact("session", impersonal),
  priority: exact("priority", impersonal)
})
