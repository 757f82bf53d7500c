#!/usr/bin/env node
// Runs main.cjs beside it, by its code cache where there is one that this version of Node made.
import { existsSync, readFileSync } from "node:fs"
import { createRequire } from "node:module"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { constants, Script } from "node:vm"

const filename = fileURLToPath(new URL("main.cjs", import.meta.url))
const cache = `${filename}.cache`
const require = createRequire(filename)

/** Answers the script, whose cache can be made once it ran. */
const run = () => {
  const wrapped = `(function (exports, require, module, __filename, __dirname) {${readFileSync(filename, "utf8").replace(/^#!/, "//")}\n})`
  const script = new Script(wrapped, {
    filename,
    cachedData: existsSync(cache) ? readFileSync(cache) : undefined,
    importModuleDynamically: constants.USE_MAIN_CONTEXT_DEFAULT_LOADER
  })
  const module = { exports: {} }
  script.runInThisContext()(module.exports, require, module, filename, dirname(filename))
  return script
}

// Only a module of Node's own loader has its source map read.
export const script = process.sourceMapsEnabled ? require(filename) : run()
