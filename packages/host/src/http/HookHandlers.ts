/** What platforms post to us: handed to the engine as it came. */
import type { Engine } from "@sendwright/core"
import type * as Context from "effect/Context"
import * as Api from "../api/Api.ts"
import type { HookRequest, Route } from "./Route.ts"
import { forPlatform } from "./Route.ts"

export const make = (engine: Context.Tag.Service<Engine.Engine>): ReadonlyArray<Route> => {
  const to =
    (provider: string, method: "GET" | "POST") =>
    <E extends { readonly _tag: string }>({ body, headers, path, query }: HookRequest<E>) =>
      engine.hook(provider, path["sessionId"] ?? "", { method, headers, query, body })
  return [
    forPlatform(Api.whatsAppChallenge, to("whatsapp_cloud", "GET")),
    forPlatform(Api.whatsAppHook, to("whatsapp_cloud", "POST")),
    forPlatform(Api.gatewayHook, to("http", "POST"))
  ]
}
