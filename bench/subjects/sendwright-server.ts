/**
 * The host's adapter, contract and engine over stores in memory, of which the one for jobs keeps nothing: it answers at
 * once that a send was accepted.
 */
import { Engine, Job, JobStore, Memory } from "@sendwright/core"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as MutableRef from "effect/MutableRef"
import { expose } from "../Child.ts"
import type * as HostModules from "./HostModules.d.ts"
import type { Server } from "./Server.ts"
import { engine, noOp, tenant } from "./Setup.ts"

/** A module of the host's build, which exports no more than its layer. */
const host = (name: string) => import(new URL(name, import.meta.resolve("@sendwright/host")).href)
const HttpApp: HostModules.HttpApp = await host("http/HttpApp.js")
const Routes: HostModules.Routes = await host("http/Routes.js")
const NodeServer: HostModules.NodeServer = await host("http/NodeServer.js")

const keepsNothing = Layer.effect(
  JobStore.JobStore,
  Effect.map(JobStore.JobStore, (store) => ({
    ...store,
    findByIdempotencyKey: () => Effect.succeed(null),
    accept: (command) =>
      Effect.sync(() =>
        JobStore.AcceptResult.Accepted({
          job: Job.newJob({ ...command, recipients: command.recipients.length }),
          claimed: null
        })
      )
  }))
)

const program = Effect.gen(function* () {
  const engine = yield* Engine.Engine
  const { publicKey, secretKey, templateId } = yield* tenant
  const stopping = MutableRef.make(false)
  const port = yield* NodeServer.start({
    address: { port: 0, host: "127.0.0.1" },
    stopping,
    graceMs: 1000,
    besides: { end: Effect.void, underWay: () => [] },
    served: (port) => {
      const baseUrl = `http://127.0.0.1:${port}`
      const { routes } = Routes.ofApi(engine, baseUrl)
      return Effect.all({
        handle: HttpApp.make({ engine, routes, pages: new Map(), baseUrl, adminToken: undefined, stopping }),
        refuse: HttpApp.refusing(baseUrl)
      })
    }
  })
  const headers = { "x-public-key": publicKey, "x-secret-key": secretKey }
  expose<Server>({ address: async () => ({ port, headers, templateId }) })
  yield* Effect.never
})

const stores = Layer.provideMerge(keepsNothing, Memory.layer)
await Effect.runPromise(Effect.scoped(Effect.provide(program, Layer.provideMerge(engine(noOp()), stores))))
