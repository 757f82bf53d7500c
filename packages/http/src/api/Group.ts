/** A group of the description: its operations as endpoints of `@effect/platform`, whose builder writes the document. */
import * as HttpApiEndpoint from "@effect/platform/HttpApiEndpoint"
import * as HttpApiGroup from "@effect/platform/HttpApiGroup"
import * as HttpApiSchema from "@effect/platform/HttpApiSchema"
import * as OpenApi from "@effect/platform/OpenApi"
import { AdminApi, type Endpoint, type Operation } from "@sendwright/core/contract"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import type * as AST from "effect/SchemaAST"

type Described = Pick<Operation.Operation<Endpoint.Any>, "answer" | "endpoint">

type Texts = Readonly<Record<string, string | undefined>>

const textsOf = (part: Option.Option<{ readonly ast: AST.AST }>) =>
  Schema.make<unknown, Texts>(
    Option.match(part, { onNone: () => Schema.Struct({}).ast, onSome: ({ ast }) => ast })
  )

const endpointOf = ({ answer, endpoint }: Described) => {
  const { emptyStatus, mediaType, schema, status } = answer
  const body = Schema.make<unknown, string>(schema.ast)
  const asked = HttpApiEndpoint.make(endpoint.method)(endpoint.name, endpoint.path)
    .setPath(textsOf(endpoint.pathSchema))
    .setUrlParams(textsOf(endpoint.urlParamsSchema))
    .setHeaders(textsOf(endpoint.headersSchema))
  const emptied = emptyStatus === undefined ? asked : asked.addSuccess(Schema.Void, { status: emptyStatus })
  const answered = emptied.addSuccess(
    mediaType === undefined
      ? body
      : body.pipe(HttpApiSchema.withEncoding({ kind: "Text", contentType: mediaType })),
    // A status of its own takes the schema's name from it.
    { status: status === 200 ? undefined : status }
  )
  return Option.match(endpoint.payloadSchema, {
    onNone: () => answered,
    onSome: ({ ast }) => answered.setPayload(Schema.make<unknown, Texts>(ast))
  })
}

type Made = ReturnType<typeof endpointOf>

export const make = <const Name extends string>(
  name: Name,
  description: string,
  operations: ReadonlyArray<Described>
): HttpApiGroup.HttpApiGroup<Name, Made, never> =>
  operations
    .reduce<HttpApiGroup.HttpApiGroup<Name, Made, never>>(
      (group, each) => group.add(endpointOf(each)),
      HttpApiGroup.make(name)
    )
    .annotateContext(OpenApi.annotations({ description }))

export const admin = make("admin", "Administration, with the operator's token.", AdminApi.operations)
