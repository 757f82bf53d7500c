/** Checks a host from elsewhere: that it answers, is ready, knows the token and the time. */

import * as FetchHttpClient from "@effect/platform/FetchHttpClient"
import * as HttpClient from "@effect/platform/HttpClient"
import * as HttpClientRequest from "@effect/platform/HttpClientRequest"
import { Instant } from "@sendwright/core"
import { Diagnosis, Json } from "@sendwright/core/adapter"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import type { Connection } from "../OnHost.ts"
import { reasonOf } from "../OnHost.ts"
import * as Bounded from "./Bounded.ts"

const { failing, ok } = Diagnosis

interface Answered {
  readonly status: number
  readonly body: unknown
  readonly date: string | undefined
}

/** The answer, or why there is none. */
const get = ({ token, url }: Connection, path: string) =>
  Effect.gen(function* () {
    const client = HttpClient.withTracerPropagation(yield* HttpClient.HttpClient, false)
    const request = HttpClientRequest.bearerToken(HttpClientRequest.get(`${url}${path}`), token)
    return yield* Effect.scoped(
      Effect.flatMap(client.execute(request), (response) =>
        Effect.map(
          response.text,
          (text): Answered => ({
            status: response.status,
            body: Either.getOrUndefined(Either.try((): unknown => JSON.parse(text))),
            date: response.headers["date"]
          })
        )
      )
    )
  }).pipe(
    Effect.mapError((error) => reasonOf(error)),
    Effect.timeoutFail({ duration: Bounded.patience, onTimeout: () => "timeout" }),
    Effect.provide(FetchHttpClient.layer),
    // A redirect could take the token elsewhere.
    Effect.provideService(FetchHttpClient.RequestInit, { redirect: "error" })
  )

/** A check of `/health/ready`. */
const ofReady = (found: unknown): Diagnosis.Finding => {
  const [name, detail] = [Json.textAt(found, "name") ?? "", Json.textAt(found, "detail")]
  if (Json.valueAt(found, "ok") !== true)
    return failing(
      name,
      detail ?? "It is not ready.",
      "Run sendwright doctor on its machine; its log says more."
    )
  return detail === undefined
    ? ok(name, "It is ready.")
    : Diagnosis.warning(name, detail, "docs/backup.md, Restoring a backup")
}

/** A header tells whole seconds. */
const clockOf = (now: Instant.Instant, date: string | undefined): ReadonlyArray<Diagnosis.Finding> => {
  const told = Date.parse(date ?? "")
  return Number.isNaN(told)
    ? []
    : [
        Diagnosis.ofClock(now, {
          difference: Math.round((told + 500 - now) / 1000) * 1000,
          whose: "the host's",
          lastJobAt: null,
          jump: 0
        })
      ]
}

const ready = (connection: Connection) =>
  Effect.gen(function* () {
    const { body, date, status } = yield* get(connection, "/health/ready")
    const checks = Json.listAt(body, "checks")
    if (checks.length === 0)
      return [failing("host", `What answers is no host of Sendwright: HTTP ${status}.`, "Correct --url.")]
    const now = yield* Instant.now
    // The host's own clock has a check of that name, too.
    const ofOurs = clockOf(now, date).map((finding) => ({ ...finding, check: "clock here" }))
    return [ok("host", `It answers at ${connection.url}.`), ...checks.map(ofReady), ...ofOurs]
  }).pipe(
    Effect.catchAll((reason) =>
      Effect.succeed([
        failing("host", `${connection.url} does not answer (${reason}).`, Diagnosis.cureOf(reason))
      ])
    )
  )

const token = (connection: Connection): Effect.Effect<Diagnosis.Finding> =>
  Effect.match(get(connection, "/admin/v1/accounts?limit=1"), {
    onFailure: (reason) => failing("token", `It could not be shown (${reason}).`, Diagnosis.cureOf(reason)),
    onSuccess: ({ status }) =>
      status === 200
        ? ok("token", "The host knows it.")
        : failing(
            "token",
            `The host answers ${status} to it.`,
            status === 404
              ? "Give the host ADMIN_TOKEN, and ask a process that answers the API (ROLE)."
              : "Give SENDWRIGHT_TOKEN another: operators create, operators rotate."
          )
  })

const elsewhere = ok(
  "machine",
  "Settings, database, keys, disk, platforms and webhooks are looked at on its machine, without --url."
)

export const perform = (connection: Connection): Effect.Effect<ReadonlyArray<Diagnosis.Finding>> =>
  Effect.map(
    Effect.all([ready(connection), token(connection)], { concurrency: "unbounded" }),
    ([found, known]) => [...found, known, elsewhere]
  )
