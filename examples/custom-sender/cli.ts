/**
 * The command line with a sender of your own.
 *
 *   npx tsx examples/custom-sender/cli.ts sessions create <account-id> --name Birds --provider pigeon --config-file config.json
 */
import { Process } from "@sendwright/host/cli"
import { pigeon } from "./sender.ts"

Process.run({ senders: [pigeon] })
