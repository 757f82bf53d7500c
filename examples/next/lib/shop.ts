/**
 * The one Sendwright and the one Prisma of this process. Next loads this file once for each entry that imports it, so that they are
 * kept beside the modules.
 */
import { createSendwright, type Sendwright, type Session, sandbox } from "sendwright"
import { postgres } from "sendwright/postgres"
import { prismaOver } from "./prisma.ts"

interface Shop {
  readonly prisma: ReturnType<typeof prismaOver>
  readonly sw: Sendwright
  readonly session: Session
}

const components = [{ type: "BODY", text: "Dear {{1}}, we have your order." }]
const template = { name: "ordered", language: "en", category: "UTILITY", status: "APPROVED", components }

const first = async <A>(items: AsyncIterable<A>): Promise<A | undefined> => {
  for await (const item of items) return item
  return undefined
}

const open = async (): Promise<Shop> => {
  const url = process.env["DATABASE_URL"] ?? ""
  // Yours comes from the environment (`openssl rand -base64 32`), and stays the same for a database.
  const secretKey = process.env["SECRET_KEY"] ?? Buffer.alloc(32, "example").toString("base64")
  const prisma = prismaOver(url, 4)
  await prisma.$executeRawUnsafe(
    "CREATE TABLE IF NOT EXISTS orders (id TEXT PRIMARY KEY, name TEXT NOT NULL, told BOOLEAN NOT NULL DEFAULT false)"
  )
  const senders = [sandbox({ latencyMs: 0, receiptDelayMs: 0 })]
  const sw = await createSendwright({ store: postgres({ url }), senders, secretKey })
  // The first start makes the account and its session.
  const account =
    (await first(sw.admin.accounts.list())) ?? (await sw.admin.accounts.create({ name: "Shop" }))
  const accountId = account.id
  const { id } =
    (await first(sw.admin.sessions.list({ accountId }))) ??
    (await sw.admin.sessions.create({ accountId, name: "main", provider: "sandbox" }))
  await sw.admin.templates.import({ sessionId: id, templates: [template] })
  await sw.admin.consents.record({ accountId, consents: [{ phone: "34600001234", source: "form" }] })
  sw.on("recipient.delivered", async ({ data }) => {
    await prisma.$executeRawUnsafe("UPDATE orders SET told = true WHERE id = $1", data.reference)
  })
  const stop = () => void sw.stop()
  process.once("SIGTERM", stop).once("SIGINT", stop)
  return { prisma, sw, session: sw.session(id) }
}

declare global {
  var openShop: Promise<Shop> | undefined
}

export const shop = (): Promise<Shop> => {
  globalThis.openShop ??= open().catch((error: unknown) => {
    // The next request tries again.
    globalThis.openShop = undefined
    throw error
  })
  return globalThis.openShop
}
