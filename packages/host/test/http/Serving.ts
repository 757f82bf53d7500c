/** A handler of plain requests as what a server serves. */
import { HttpApp, Steps } from "@sendwright/http/server"
import * as Effect from "effect/Effect"
import * as MutableRef from "effect/MutableRef"

export const of = (handle: Steps.Handle, options: HttpApp.Options = {}, stopping = MutableRef.make(false)) =>
  Effect.map(Steps.refusing("http://base"), (refuse) =>
    HttpApp.appOf(handle, refuse, { ...options, stopping })
  )
