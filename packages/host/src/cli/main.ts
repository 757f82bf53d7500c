#!/usr/bin/env node
/** The command line `sendwright`. */
import * as Process from "./Process.ts"

Process.run()
