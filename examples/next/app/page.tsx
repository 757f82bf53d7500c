import { shop } from "../lib/shop.ts"

export const dynamic = "force-dynamic"

interface Order {
  readonly id: string
  readonly name: string
  readonly told: boolean
}

const isOrder = (row: unknown): row is Order =>
  typeof row === "object" && row !== null && "id" in row && "name" in row && "told" in row

const Page = async () => {
  const { prisma, sw } = await shop()
  const { ready } = await sw.health()
  const rows = await prisma.$queryRawUnsafe("SELECT id, name, told FROM orders ORDER BY id")
  const orders = Array.isArray(rows) ? rows.filter(isOrder) : []
  return (
    <main>
      <h1>Orders</h1>
      <p>{ready ? "Messages go out." : "Messages have to wait."}</p>
      <ul>
        {orders.map(({ id, name, told }) => (
          <li key={id}>{`${id}: ${name}${told ? ", who was told" : ""}`}</li>
        ))}
      </ul>
      <form method="post" action="/orders">
        <input name="id" placeholder="number" />
        <input name="name" placeholder="name" />
        <input name="phone" placeholder="34600001234" />
        <button type="submit">Order</button>
      </form>
    </main>
  )
}

export default Page
