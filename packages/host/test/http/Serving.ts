/** A handler of plain requests as what a server serves. */
import * as Effect from "effect/Effect"
import * as MutableRef from "effect/MutableRef"
import * as HttpApp from "../../src/http/HttpApp.ts"
import * as Steps from "../../src/http/Steps.ts"

export const of = (handle: Steps.Handle, options: HttpApp.Options = {}, stopping = MutableRef.make(false)) =>
  Effect.map(Steps.refusing("http://base"), (refuse) => HttpApp.of(handle, refuse, { ...options, stopping }))
