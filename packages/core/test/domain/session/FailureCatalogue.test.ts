/** The catalogue has every code that the platform documents, with the class that the documentation gives it. */
import { describe, expect, it } from "@effect/vitest"
import * as FailureCatalogue from "../../../src/domain/session/FailureCatalogue.ts"

/** A code, whether it is for good, what else it concerns, and what is done about it. */
type Documented = readonly [code: number, permanent: boolean, FailureCatalogue.Scope, FailureCatalogue.Action]

/** As of {@link FailureCatalogue.asOf}: contract.md §W1.6 with its corrections of §1.12 and §1.13, and contract.md §11. */
const documented: ReadonlyArray<Documented> = [
  [0, false, "session", "disconnect_session"],
  [1, false, "session", "retry"],
  [2, false, "session", "retry"],
  [3, true, "session", "fail_job"],
  [4, false, "session", "retry"],
  [10, false, "account", "disconnect_session"],
  [12, false, "session", "disconnect_session"],
  [17, false, "session", "retry"],
  [32, false, "session", "retry"],
  [33, true, "recipient", "fail"],
  [100, true, "recipient", "fail"],
  [104, false, "session", "disconnect_session"],
  [190, false, "session", "disconnect_session"],
  ...Array.from({ length: 100 }, (_, place): Documented => [200 + place, true, "session", "fail_job"]),
  [368, false, "account", "block_session"],
  [613, false, "session", "retry"],
  [803, false, "account", "disconnect_session"],
  [2500, false, "session", "disconnect_session"],
  [2635, false, "session", "disconnect_session"],
  [80007, false, "session", "retry"],
  [130403, true, "recipient", "fail"],
  [130429, false, "session", "retry"],
  [130472, true, "recipient", "fail"],
  [130497, true, "recipient", "fail"],
  [131000, false, "session", "retry"],
  [131005, true, "session", "fail_job"],
  [131008, true, "recipient", "fail"],
  [131009, true, "recipient", "fail"],
  [131016, false, "session", "retry"],
  [131021, true, "recipient", "fail"],
  [131026, true, "recipient", "fail"],
  [131030, true, "recipient", "fail"],
  [131031, false, "account", "block_session"],
  [131037, false, "account", "block_session"],
  [131042, false, "account", "block_session"],
  [131045, false, "session", "disconnect_session"],
  [131047, true, "recipient", "fail"],
  [131048, false, "session", "block_session"],
  [131049, true, "recipient", "fail"],
  [131050, true, "recipient", "revoke_marketing"],
  [131051, true, "recipient", "fail"],
  [131052, false, "recipient", "retry"],
  [131053, false, "recipient", "retry"],
  [131055, true, "session", "fail_job"],
  [131056, false, "pair", "rest_pair"],
  [131057, false, "session", "retry"],
  [131061, true, "recipient", "fail"],
  [131062, true, "recipient", "fail"],
  [131063, true, "recipient", "fail"],
  [131064, false, "account", "block_session"],
  [132000, true, "template", "check_template"],
  [132001, true, "template", "fail_job"],
  [132005, true, "recipient", "fail"],
  [132007, true, "recipient", "fail"],
  [132012, true, "template", "check_template"],
  [132015, false, "template", "pause_template"],
  [132016, true, "template", "fail_job"],
  [132018, true, "template", "check_template"],
  [132068, true, "recipient", "fail"],
  [132069, false, "session", "retry"],
  [133004, false, "session", "retry"],
  [133010, false, "session", "disconnect_session"],
  [133015, false, "session", "disconnect_session"],
  [133016, false, "session", "block_session"],
  [134011, true, "account", "fail_job"],
  [134100, true, "template", "fail_job"],
  [134101, false, "template", "retry"],
  [134102, true, "template", "fail_job"],
  [135000, true, "recipient", "fail"],
  [139200, true, "account", "fail_job"]
]

/** Those of contract.md §W1.12: each is told by a name of its own. */
const news = [
  130497, 131037, 131055, 131061, 131062, 131063, 133015, 133016, 134011, 134100, 134101, 134102, 139200
]

describe("the catalogue of failures (contract.md §W1.6, §1.12)", () => {
  it("has every documented code once, in its class, and no other", () => {
    const listed = FailureCatalogue.entries
      .flatMap(({ action, permanent, scope, whatsapp }) =>
        whatsapp.map((code): Documented => [code, permanent, scope, action])
      )
      .sort(([a], [b]) => a - b)
    expect(listed).toEqual(documented)
    expect(FailureCatalogue.asOf).toBe("2026-11-28")
  })

  it("has a row of its own for each code that came since", () => {
    for (const code of news) expect(FailureCatalogue.findWhatsApp(code)?.whatsapp, `${code}`).toEqual([code])
    expect(FailureCatalogue.findWhatsApp(130497)?.code).toBe("country_restricted")
  })
})
