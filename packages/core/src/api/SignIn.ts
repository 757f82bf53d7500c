/** An operator's browser: who it acts as, signing in and signing out (docs/operators.md). */
import * as Schema from "effect/Schema"
import { Text as TextRules } from "../adapter.ts"
import { Operator as Domain } from "../index.ts"
import { computed, list, struct } from "./Codec.ts"
import * as Endpoint from "./Endpoint.ts"
import * as Examples from "./Examples.ts"
import { done, forBrowser, one, readForOperator } from "./Operation.ts"
import { ActingOperator } from "./Route.ts"
import * as Wire from "./Wire.ts"

/** As the list of operators tells it; nobody knows when the token of the environment was made. */
const acting = struct(
  {
    name: Wire.Text,
    role: Schema.Literal(...Domain.roles),
    mask_phones: computed(Schema.Boolean, ({ masksPhones }: Domain.Acting) => masksPhones),
    status: Schema.Literal(...Domain.statuses),
    secrets: list(Wire.Secret),
    created_at: Wire.NullableTime,
    last_used_at: Wire.NullableTime
  },
  "ActingOperator"
)

const me = one("operator", acting, {
  name: "ana",
  role: "support",
  mask_phones: false,
  status: "active",
  secrets: [{ created_at: Examples.at, expires_at: null }],
  created_at: Examples.at,
  last_used_at: Examples.at
})

// As constants, since TypeScript infers nothing of an endpoint without parameters that stands where it is passed.
const signOut = Endpoint.post("signOut", "/admin/v1/sign-out")
const whoAmI = Endpoint.get("me", "/admin/v1/operators/me")

export const browser = [
  forBrowser(
    Endpoint.post("signIn", "/admin/v1/sign-in").setPayload(
      Schema.Struct({
        token: TextRules.line(1024).annotations({ jsonSchema: { description: "The operator's token." } })
      })
    ),
    me,
    {
      summary: "Sign an operator in with a browser",
      description:
        "Sets a cookie that stands for the token in the admin API for 12 hours, and ends with the token: when it is rotated away, or its operator revoked. It is `HttpOnly` and `SameSite=Strict`, and opens nothing else. A request that changes something with it needs an `Origin` of this host. The role `metrics` cannot sign in.",
      request: { token: "op_ana_WmZq4cX1tB8nJ0vLr5KyPd2HfGs7QaEu9TiOw3YxMbN_0kQ3zT" },
      refusals: ["invalid_credentials", "insufficient_permission", "not_found", "rate_limited"]
    },
    ({ signIn }, { payload: { token } }) => signIn(token)
  ),
  forBrowser(
    signOut,
    done,
    {
      summary: "Sign a browser out",
      description: "Takes the cookie back; it is no fault when there is none.",
      refusals: ["insufficient_permission", "not_found"]
    },
    ({ signOut }) => signOut
  ),
  readForOperator(
    whoAmI,
    me,
    {
      summary: "Tell who acts",
      description:
        "The operator whose token or cookie this is. `created_at` is null of the one of the environment (`ADMIN_TOKEN`)."
    },
    () => ActingOperator
  )
]
