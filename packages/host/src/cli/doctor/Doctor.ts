/**
 * `sendwright doctor`: looks at every part of an installation from the machine of a host, beside it or without one, and changes
 * nothing. Each check ends within seconds, and they go on side by side.
 */
import { AddressPolicy, Instant, SecretBox, UndiciTransport } from "@sendwright/core"
import { Diagnosis, Reachability } from "@sendwright/core/adapter"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Either from "effect/Either"
import * as Layer from "effect/Layer"
import * as EngineLayer from "../../EngineLayer.ts"
import * as HostConfig from "../../HostConfig.ts"
import * as SettingsCheck from "../../SettingsCheck.ts"
import * as Bounded from "./Bounded.ts"
import * as Database from "./Database.ts"
import * as Files from "./Files.ts"

type Finding = Diagnosis.Finding

const { failing, ok, warning } = Diagnosis

const documented = "docs/settings.md has all of them."

/** All that can be told of the settings alone. */
const settings = (
  read: Either.Either<HostConfig.HostConfig, HostConfig.BadSettings>,
  names: ReadonlyArray<string>
) =>
  Effect.gen(function* () {
    const unknown = (yield* HostConfig.nearMisses(names)).map(([name, meant]) =>
      warning("settings", `${name} is no setting, and is ignored.`, `Is ${meant} meant? ${documented}`)
    )
    const wrong = Either.match(read, {
      onLeft: ({ faults }) =>
        faults.map(({ reason, variable }) =>
          failing("settings", `${variable}: ${reason.replace(/\.$/, "")}.`, documented)
        ),
      onRight: (config) =>
        SettingsCheck.check(config).map(({ mend, says }) => warning("settings", says, mend))
    })
    const all = [...wrong, ...unknown]
    return all.length === 0 ? [ok("settings", "All can be read, and none contradicts another.")] : all
  })

/** How far the clock moved beside the time that passed, in milliseconds. */
const clockJump = Effect.gen(function* () {
  const clock = yield* Clock.clockWith(Effect.succeed)
  const offset = () => Instant.unsafeNow(clock) - Number(clock.unsafeCurrentTimeNanos() / 1_000_000n)
  const before = offset()
  return () => offset() - before
})

/** Connections to platforms and to receivers of webhooks. */
const reached = (
  { endpoints, sessions }: NonNullable<Database.Looked["content"]>,
  config: HostConfig.HostConfig,
  options: EngineLayer.Options
) =>
  Effect.gen(function* () {
    const reach = yield* UndiciTransport.reach({
      proxy: config.webhookProxy,
      timeoutMs: Bounded.connectTimeoutMs
    })
    const checks = [
      ...sessions.first.map((each) => Bounded.check(`session ${each.id}`, Reachability.session(each))),
      ...endpoints.first.map((each) =>
        Bounded.check(`webhook ${each.id}`, Reachability.endpoint(each, reach))
      )
    ]
    const findings = yield* Effect.all(checks, { concurrency: "unbounded" })
    return [
      ...findings,
      ...Reachability.unseen("sessions", sessions),
      ...Reachability.unseen("webhooks", endpoints)
    ]
  }).pipe(
    Effect.provide(
      Layer.mergeAll(
        EngineLayer.senders(config, options, (sender) => sender, {
          connectTimeoutMs: Bounded.connectTimeoutMs
        }),
        AddressPolicy.layer(config.allowedNetworks),
        SecretBox.layer(config.secretKey, ...config.olderSecretKeys)
      )
    )
  )

const keys = ({ keys }: NonNullable<Database.Looked["content"]>, config: HostConfig.HostConfig) =>
  Effect.map(SecretBox.SecretBox, (box) => Diagnosis.ofKeys(keys, box.keys)).pipe(
    Effect.provide(SecretBox.layer(config.secretKey, ...config.olderSecretKeys))
  )

const unanswered: Database.Looked = {
  findings: [
    failing("database", "It did not answer within 5 seconds.", "Look at the database's own log and load.")
  ],
  content: null,
  clockDifference: null
}

/** The findings on the database, and on all that its content names. */
const ofDatabase = (
  database: HostConfig.Database,
  config: HostConfig.HostConfig | null,
  options: EngineLayer.Options
) =>
  Effect.gen(function* () {
    const jump = yield* clockJump
    const looked = yield* Effect.disconnect(Database.look(database)).pipe(
      Effect.timeoutTo({
        duration: Bounded.patience,
        onSuccess: (found) => found,
        onTimeout: () => unanswered
      })
    )
    const { clockDifference: difference, content, findings } = looked
    const now = yield* Instant.now
    const clock = Diagnosis.ofClock(now, {
      difference,
      lastJobAt: content?.lastJobAt ?? null,
      jump: jump()
    })
    const disk =
      database.kind === "sqlite" && database.filename !== ":memory:"
        ? [yield* Bounded.check("disk", Files.disk(database.filename, content?.growth ?? null))]
        : []
    if (content === null || config === null) return [...findings, clock, ...disk]
    return [
      ...findings,
      clock,
      yield* keys(content, config),
      ...disk,
      ...(yield* reached(content, config, options))
    ]
  })

const ofPages = (database: HostConfig.Database) =>
  database.kind === "sqlite" && Files.bytesOf(database.filename) > 0
    ? Effect.map(Bounded.check("pages", Files.integrity(database.filename)), (finding) => [finding])
    : Effect.succeed<ReadonlyArray<Finding>>([])

/** @param names of the variables of this process */
export const perform = (options: EngineLayer.Options, names: ReadonlyArray<string>) =>
  Effect.gen(function* () {
    const read = yield* Effect.either(HostConfig.look)
    const database = yield* Effect.option(HostConfig.database)
    const config = Either.getOrNull(read)
    const parts = yield* Effect.all(
      [
        settings(read, names),
        ...(database._tag === "None"
          ? []
          : [ofDatabase(database.value, config, options), ofPages(database.value)])
      ],
      { concurrency: "unbounded" }
    )
    return parts.flat()
  })
