/**
 * The whole service with a sender of your own: REST, hooks and workers as `sendwright-host` has them, by the environment.
 *
 *   npx tsx examples/custom-sender/host.ts
 */
import { Process } from "@sendwright/host"
import { pigeon } from "./sender.ts"

Process.run({ senders: [pigeon] })
