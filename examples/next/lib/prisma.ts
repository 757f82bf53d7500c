/**
 * Yours is `new PrismaClient({ adapter })` over what `prisma generate` made. This one has no models, for Prisma's command line is
 * larger than all else here: the same call as in the generated `internal/class.ts`, over the same runtime.
 */
/// <reference path="./prisma-runtime.d.ts" />
import { PrismaPg } from "@prisma/adapter-pg"
import { getPrismaClient } from "@prisma/client/runtime/client"

const Client = getPrismaClient({
  previewFeatures: [],
  clientVersion: "7.10.0",
  engineVersion: "none",
  activeProvider: "postgresql",
  inlineSchema: 'datasource db { provider = "postgresql" }',
  runtimeDataModel: { models: {}, enums: {}, types: {} },
  parameterizationSchema: { strings: [], graph: "AAAA" },
  compilerWasm: {
    getRuntime: () => import("@prisma/client/runtime/query_compiler_fast_bg.postgresql.mjs"),
    getQueryCompilerWasmModule: async () => {
      const { wasm } = await import(
        "@prisma/client/runtime/query_compiler_fast_bg.postgresql.wasm-base64.mjs"
      )
      return new WebAssembly.Module(Buffer.from(wasm, "base64"))
    },
    importName: "./query_compiler_fast_bg.js"
  }
})

/** What a generated client types. */
interface Tx {
  readonly $executeRawUnsafe: (text: string, ...values: Array<unknown>) => Promise<unknown>
  readonly $queryRawUnsafe: (text: string, ...values: Array<unknown>) => Promise<unknown>
}

interface Prisma extends Tx {
  readonly $transaction: <A>(
    body: (tx: Tx) => Promise<A>,
    options?: { readonly timeout: number }
  ) => Promise<A>
  readonly $disconnect: () => Promise<void>
}

export const prismaOver = (connectionString: string, max: number): Prisma =>
  new Client({ adapter: new PrismaPg({ connectionString, max }) })
