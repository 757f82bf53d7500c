/** A group of the contract, of the endpoints of its operations. */
import type * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as OpenApi from "@effect/platform/OpenApi"
import type { Operation } from "./Operation.ts"

export const make = <const Name extends string, Some extends Operation<HttpApiEndpoint.HttpApiEndpoint.Any>>(
  name: Name,
  description: string,
  operations: ReadonlyArray<Some>
): HttpApiGroup.HttpApiGroup<Name, Some["endpoint"], never> =>
  operations
    .reduce<HttpApiGroup.HttpApiGroup<Name, Some["endpoint"], never>>(
      (group, { endpoint }) => group.add(endpoint),
      HttpApiGroup.make(name)
    )
    .annotateContext(OpenApi.annotations({ description }))
