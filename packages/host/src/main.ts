#!/usr/bin/env node
/** Starts the host from the environment. */
import * as Process from "./Process.ts"

Process.run()
