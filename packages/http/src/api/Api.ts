/** The contract: every operation, once. `/openapi.json` and the routes are both made from it. */
import * as HttpApi from "@effect/platform/HttpApi"
import * as OpenApi from "@effect/platform/OpenApi"
import {
  AdminApi,
  Connection,
  Hooks,
  Jobs,
  Messages,
  Search,
  Sends,
  Service,
  SignIn,
  Templates,
  Timelines,
  Wire
} from "@sendwright/core/contract"
import * as Group from "./Group.ts"
import * as Mcp from "./Mcp.ts"

const versioned = [
  ...Connection.versioned,
  ...Templates.versioned,
  ...Sends.versioned,
  ...Jobs.versioned,
  ...Search.versioned,
  ...Timelines.versioned
]
const direct = [...Connection.direct, ...Messages.direct]

/** In the order of the description. */
export const operations = [
  ...versioned,
  ...direct,
  ...AdminApi.operations,
  ...SignIn.browser,
  ...Mcp.agents,
  ...Hooks.hooks,
  ...Service.service
]

export const Api = HttpApi.make("sendwright")
  .add(Group.make("v1", "Template sends with an API key.", versioned))
  .add(Group.make("public", "Direct messages with an API key.", direct))
  .add(Group.admin)
  .add(Group.make("browser", "An operator's browser, which a cookie signs in.", SignIn.browser))
  .add(Group.make("agents", "The admin API's reads as tools for an agent.", Mcp.agents))
  .add(Group.make("hooks", "What platforms post.", Hooks.hooks))
  .add(Group.make("service", "Health, and what codes mean.", Service.service))
  .annotateContext(
    OpenApi.annotations({
      title: "Sendwright",
      version: Wire.apiVersion,
      description:
        "Template sends as durable jobs, direct messages, and their administration. Members and parameters that an operation does not define are refused; answers may grow. Times are RFC 3339 in UTC. A `cursor` is a list's own `next_cursor`, with the same filter; a page with a filter may be short, but is never empty while something is left to find, and the list ends where `next_cursor` is null."
    })
  )
