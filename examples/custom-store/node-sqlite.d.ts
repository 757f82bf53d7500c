/** The part of Node's own SQLite that `store.ts` uses: the types of the oldest Node that is supported lack it. */
declare module "node:sqlite" {
  type Value = null | number | bigint | string | Uint8Array

  export class StatementSync {
    all(...parameters: ReadonlyArray<Value>): Array<Record<string, null | number | string | Uint8Array>>
    run(...parameters: ReadonlyArray<Value>): { readonly changes: number | bigint }
  }

  export class DatabaseSync {
    constructor(path: string)
    readonly isTransaction: boolean
    exec(text: string): void
    prepare(text: string): StatementSync
    close(): void
  }
}
