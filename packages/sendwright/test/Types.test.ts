/** The package's types are core's, in other names: what core adds has to be added here. */
import type { EventData as Core } from "@sendwright/core"
import type { EventData } from "sendwright"
import { expectTypeOf, it } from "vitest"

type Camel<Name extends string> = Name extends `${infer Head}_${infer Tail}`
  ? `${Head}${Capitalize<Camel<Tail>>}`
  : Name

type Dated<Value> = Value extends string ? Date : Value

type Shown<Value> =
  Value extends ReadonlyArray<infer Item>
    ? ReadonlyArray<Shown<Item>>
    : Value extends object
      ? {
          readonly [Name in keyof Value as Name extends string ? Camel<Name> : never]: Name extends
            | `${string}_at`
            | `${string}_since`
            ? Dated<Value[Name]>
            : Shown<Value[Name]>
        }
      : Value

type CoreData = { readonly [Type in keyof EventData]: Shown<(typeof Core.byType)[Type]["Type"]> }
type Flat<Value> = Value extends Date
  ? Value
  : Value extends object
    ? { [Name in keyof Value]: Flat<Value[Name]> }
    : Value

it("of events", () => {
  expectTypeOf<Exclude<keyof typeof Core.byType, keyof EventData>>().toEqualTypeOf<"recipient.batch">()
  expectTypeOf<Flat<EventData>>().toExtend<Flat<CoreData>>()
  expectTypeOf<Flat<CoreData>>().toExtend<Flat<EventData>>()
})
