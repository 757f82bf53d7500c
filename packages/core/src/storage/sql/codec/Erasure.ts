/** The columns of `sendwright_erasure`. */
import type { Erasure } from "../../../domain/Erasure.ts"
import { exact, exactOrNull, instant, instantOrNull, json, table, text } from "../Columns.ts"
import { impersonal } from "../Personal.ts"

export const erasures = table("sendwright_erasure", { kept: "registered" })<Erasure>({
  id: exact("id", impersonal, "exact NOT NULL UNIQUE"),
  accountId: exactOrNull("account", impersonal),
  reason: text("reason", impersonal),
  begunAt: instant("begun_at", impersonal),
  sweptAt: instant("swept_at", impersonal),
  nextAt: instantOrNull("next_at", impersonal),
  waitsFor: json("waits_for", impersonal),
  counts: json("counts", impersonal)
})
