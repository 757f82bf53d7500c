/** The two providers, as `../misbehaviour.ts` sends through them. */
import { HttpGateway, type Sender, WhatsApp } from "@sendwright/core"
import * as Console from "effect/Console"
import type * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"

export type Provider = "http" | "whatsapp_cloud"

export const providers: ReadonlyArray<Provider> = ["http", "whatsapp_cloud"]

export const senders: Readonly<Record<Provider, Effect.Effect<Sender.Sender, never, Scope.Scope>>> = {
  http: HttpGateway.make(),
  whatsapp_cloud: WhatsApp.make()
}

/** Of a whole exchange, in milliseconds: the gateway's is configured, the platform's is the sender's own. */
export const timeouts: Readonly<Record<Provider, number>> = { http: 5000, whatsapp_cloud: 15_000 }

/** Of a session whose platform is at an origin, or at a path of one. */
export const configuration: Readonly<
  Record<Provider, (origin: string) => Readonly<Record<string, unknown>>>
> = {
  http: (origin) => ({
    url: `${origin}/send`,
    secret: "a secret of the gateway",
    timeout_ms: timeouts.http
  }),
  whatsapp_cloud: (origin) => ({
    phone_number_id: "106540352242922",
    waba_id: "102290129340398",
    access_token: "token",
    app_secret: "secret",
    verify_token: "verify",
    base_url: origin,
    messages_per_second: 1000
  })
}

export const table = (head: ReadonlyArray<string>, body: ReadonlyArray<ReadonlyArray<string>>) => {
  const widths = head.map((title, at) =>
    Math.max(title.length, ...body.map((cells) => (cells[at] ?? "").length))
  )
  const line = (cells: ReadonlyArray<string>) =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join(" | ")} |`
  const rule = widths.map((width) => "-".repeat(width))
  return Console.log([head, rule, ...body].map(line).join("\n"))
}
