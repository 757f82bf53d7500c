/** A webhook transport without a network: it records every request and answers as it is told, 200 otherwise. */
import * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import type { WebhookAnswer, WebhookRequest } from "../webhook/WebhookTransport.ts"
import { WebhookTransport } from "../webhook/WebhookTransport.ts"

export class Recorder extends Context.Tag("@sendwright/core/testing/Recorder")<
  Recorder,
  {
    readonly requests: Effect.Effect<ReadonlyArray<WebhookRequest>>
    /** Answers the coming requests to a URL with this. */
    readonly answer: (url: string, answer: WebhookAnswer) => Effect.Effect<void>
  }
>() {}

export const layer: Layer.Layer<Recorder | WebhookTransport> = Layer.effectContext(
  Effect.sync(() => {
    const requests: Array<WebhookRequest> = []
    const answers = new Map<string, WebhookAnswer>()
    const ok: WebhookAnswer = { _tag: "Answered", status: 200, retryAfter: null, excerpt: "" }
    return Context.make(WebhookTransport, {
      post: (request) =>
        Effect.sync(() => {
          requests.push(request)
          return answers.get(request.url) ?? ok
        })
    }).pipe(
      Context.add(Recorder, {
        requests: Effect.sync(() => [...requests]),
        answer: (url, answer) =>
          Effect.sync(() => {
            answers.set(url, answer)
          })
      })
    )
  })
)
