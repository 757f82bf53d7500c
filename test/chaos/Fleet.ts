/** Hosts over one store, any of which may be killed; another takes its place. */
import type { Random } from "../support/Random.ts"
import * as TestHost from "../support/TestHost.ts"

export interface Fleet {
  readonly first: TestHost.TestHost
  /** One of them at random; it may have been killed a moment ago. */
  readonly any: () => TestHost.TestHost
  /** SIGKILL of one at random; until another has started in its place it answers nothing. */
  readonly kill: () => Promise<void>
  readonly stop: () => Promise<void>
}

export const start = async (store: string, count: number, random: Random): Promise<Fleet> => {
  const begin = (): Promise<TestHost.TestHost> =>
    TestHost.start({
      DATABASE_URL: store,
      SECRET_KEY: Buffer.alloc(32, 7).toString("base64"),
      ROLE: "api",
      LOG_LEVEL: "none"
    })
  const hosts = await Promise.all(Array.from({ length: count }, begin))
  const [first] = hosts
  if (first === undefined) throw new Error("There is no host.")
  const anyPlace = (): number => Math.floor(random() * hosts.length)
  return {
    first,
    any: () => hosts[anyPlace()] ?? first,
    kill: async () => {
      const place = anyPlace()
      hosts[place]?.signal("SIGKILL")
      await hosts[place]?.stop()
      hosts[place] = await begin()
    },
    stop: async () => {
      await Promise.all(hosts.map((host) => host.stop()))
    }
  }
}
