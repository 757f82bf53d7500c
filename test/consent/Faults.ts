/** A database that fails, or whose caller hangs up or dies, at a step that the test chooses; each fiber has its own plan. */
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as FiberRef from "effect/FiberRef"
import { globalValue } from "effect/GlobalValue"
import type { Program } from "../../packages/core/src/storage/Program.ts"
import { StorageError } from "../../packages/core/src/storage/StorageError.ts"

/** The fault at the step. */
export const kinds = [
  /** The database refuses it. */
  "fails",
  /** It is done, and its answer is lost. */
  "loses its answer",
  /** The platform hangs up right before it. */
  "is hung up on before",
  /** The platform hangs up right after it. */
  "is hung up on after",
  /** The process is killed before the commit. */
  "is killed before",
  /** The process is killed after the commit. */
  "is killed after",
  /** A statement of it breaks: `statement` tells which. */
  "breaks off"
] as const
export type Kind = (typeof kinds)[number]

export interface Plan {
  readonly kind: Kind | null
  /** Counting from 1. */
  readonly step: number
  /** Of that step, counting from 1. */
  readonly statement: number
  readonly reached: Deferred.Deferred<void>
  /** How many steps were made, and how many statements each that writes had. */
  steps: number
  readonly statements: Array<number>
}

export const plan = (kind: Kind | null, step = 0, statement = 0): Effect.Effect<Plan> =>
  Effect.map(Deferred.make<void>(), (reached) => ({
    kind,
    step,
    statement,
    reached,
    steps: 0,
    statements: []
  }))

const current = globalValue("test/consent/Faults", () => FiberRef.unsafeMake<Plan | null>(null))

export const under =
  (plan: Plan) =>
  <A, E, R>(effect: Effect.Effect<A, E, R>): Effect.Effect<A, E, R> =>
    Effect.locally(effect, current, plan)

const yields = Effect.repeatN(Effect.yieldNow(), 5)

/** One step of a store. */
export const step = <A>(
  operation: string,
  make: (plan: Plan | null) => Effect.Effect<A, StorageError>
): Effect.Effect<A, StorageError> =>
  Effect.flatMap(FiberRef.get(current), (plan) => {
    if (plan === null) return make(null)
    plan.steps += 1
    const isHere = plan.steps === plan.step
    const run = make(isHere ? plan : { ...plan, kind: null })
    if (!isHere) return run
    const reached = Deferred.succeed(plan.reached, undefined)
    const lost = new StorageError({ operation, cause: "a fault of the test" })
    switch (plan.kind) {
      case "fails":
        return Effect.fail(lost)
      case "loses its answer":
        return Effect.zipRight(run, Effect.fail(lost))
      case "is hung up on before":
        return Effect.zipRight(Effect.zipRight(reached, yields), run)
      case "is hung up on after":
        return Effect.zipLeft(run, Effect.zipRight(reached, yields))
      case "is killed before":
        return Effect.zipRight(reached, Effect.never)
      case "is killed after":
        return Effect.zipRight(Effect.zipRight(run, reached), Effect.never)
      default:
        return run
    }
  })

/** A verb that counts its statements, and breaks off where the plan says so. */
export const broken = <A>(plan: Plan | null, verb: () => Program<A>): (() => Program<A>) => {
  if (plan === null) return verb
  const at = plan.steps - 1
  return function* () {
    const program = verb()
    let count = 0
    let next = program.next()
    while (next.done !== true) {
      count += 1
      plan.statements[at] = count
      if (plan.kind === "breaks off" && count === plan.statement) {
        throw new Error("a statement broke in the test")
      }
      next = program.next(yield next.value)
    }
    return next.value
  }
}
