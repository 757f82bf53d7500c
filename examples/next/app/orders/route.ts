import { SendwrightError } from "sendwright"
import { fromPrisma } from "sendwright/postgres"
import { shop } from "../../lib/shop.ts"

/** The order and the message that tells of it are one transaction: both, or none. */
export const POST = async (request: Request): Promise<Response> => {
  const form = await request.formData()
  const [id, name, phone] = [form.get("id"), form.get("name"), form.get("phone")].map(String)
  const { prisma, session } = await shop()
  try {
    const { jobId } = await prisma.$transaction(async (tx) => {
      await tx.$executeRawUnsafe("INSERT INTO orders (id, name) VALUES ($1, $2)", id, name)
      const to = [{ phone, variables: { "body.1": name } }]
      return session.send(
        { template: "ordered", to, reference: id, idempotencyKey: `order-${id}` },
        { tx: fromPrisma(tx) }
      )
    })
    return Response.json({ jobId }, { status: 201 })
  } catch (error) {
    if (!SendwrightError.is(error)) throw error
    return Response.json(error, { status: 422 })
  }
}
