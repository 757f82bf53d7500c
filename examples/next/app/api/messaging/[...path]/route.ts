import { createHandler, type Handler } from "sendwright/http"
import { shop } from "../../../../lib/shop.ts"

const prefix = "/api/messaging"

let handler: Handler | undefined

const answer = async (request: Request): Promise<Response> => {
  handler ??= createHandler((await shop()).sw, { prefix, adminToken: process.env["ADMIN_TOKEN"] })
  return handler(request)
}

export { answer as DELETE, answer as GET, answer as PATCH, answer as POST, answer as PUT }
