/** undici alone, with a body that is made before. Given: the gateway's port. */
import { Pool } from "undici"
import { expose } from "../Child.ts"
import { atOnce, type Client, during } from "./Client.ts"
import { messagesPath } from "./Gateway.ts"
import { body } from "./Message.ts"

const [port = ""] = process.argv.slice(2)
const pool = new Pool(`http://127.0.0.1:${port}`, { connections: atOnce, pipelining: 1 })
const headers = { "content-type": "application/json", authorization: "Bearer token-0123456789" }

expose<Client>({
  post: (ms) =>
    during(ms, async () => {
      const answer = await pool.request({ method: "POST", path: messagesPath, headers, body })
      if (answer.statusCode !== 200) throw new Error(`Answered ${answer.statusCode}`)
      JSON.parse(await answer.body.text())
    })
})
