/** The types that a SQL database brings to the rules of jobs. */
import type { AcceptanceFacts, Backend } from "../../policy/JobRows.ts"
import type { Answer, Statement } from "../Program.ts"
import type { StoredJob } from "./JobColumns.ts"

/** `Program<A>` is `Tx<A, Sql>`. */
export interface Sql extends Backend {
  readonly request: Statement
  readonly reply: Answer
  readonly job: StoredJob
  readonly facts: AcceptanceFacts & {
    /** The units of the day that the newest job carries, without those of embedded sends. */
    readonly dayTotal: number
    /** The number of the send's content; null when that is new. */
    readonly snapshot: number | null
    /** True when it is noted that the session may have jobs in its order. */
    readonly isBusy: boolean
  }
}
