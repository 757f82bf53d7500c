/** What Prisma's runtime leaves untyped, and a generated client loads. */
declare module "@prisma/client/runtime/query_compiler_fast_bg.postgresql.mjs" {
  import type { GetPrismaClientConfig } from "@prisma/client/runtime/client"

  type Compiler = NonNullable<GetPrismaClientConfig["compilerWasm"]>
  type Runtime = Awaited<ReturnType<Compiler["getRuntime"]>>
  export const QueryCompiler: Runtime["QueryCompiler"]
  export const __wbg_set_wasm: Runtime["__wbg_set_wasm"]
}

declare module "@prisma/client/runtime/query_compiler_fast_bg.postgresql.wasm-base64.mjs" {
  export const wasm: string
}

declare namespace WebAssembly {
  const Module: new (bytes: Uint8Array) => Module
}
