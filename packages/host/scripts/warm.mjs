// Starts the bundle in a folder once, and keeps what was compiled until it listens beside it. Called by bundle.mjs.
import { writeFileSync } from "node:fs"
import { Server } from "node:net"
import { join } from "node:path"
import { pathToFileURL } from "node:url"

// The bundle takes no argument.
const [bundle] = process.argv.splice(2)
const listen = Server.prototype.listen

Server.prototype.listen = function (...given) {
  // What comes after listening belongs to a start, too.
  this.once("listening", () => setTimeout(keep, 100))
  return listen.apply(this, given)
}

const keep = async () => {
  const { script } = await import(pathToFileURL(join(bundle, "main.mjs")).href)
  writeFileSync(join(bundle, "main.cjs.cache"), script.createCachedData())
  process.exit(0)
}

await import(pathToFileURL(join(bundle, "main.mjs")).href)
