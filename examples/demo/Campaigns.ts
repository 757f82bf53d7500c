/** Two campaigns of the shop: one under way at its session's pace, one for ten tomorrow morning wherever its people are. */
import { client, list, pick, text } from "./Api.ts"
import type { Host } from "./Host.ts"

const news = {
  name: "new_collection",
  language: "en",
  category: "MARKETING",
  status: "APPROVED",
  components: [
    { type: "BODY", text: "Hello {{1}}, the new collection is here." },
    { type: "FOOTER", text: "Reply STOP to unsubscribe" }
  ]
}
const rejected = {
  name: "lottery",
  language: "en",
  category: "MARKETING",
  status: "REJECTED",
  rejected_reason: "PROMOTIONAL",
  components: [{ type: "BODY", text: "You have won, {{1}}!" }]
}

/** As many as one send takes. The last digits choose the outcome: each of them has somebody whom the sandbox fails. */
const readers = [34_611_000_000, 34_613_000_000, 351_912_000_000].map((first) =>
  Array.from({ length: 250 }, (_, at) => ({
    phone: String(first + at),
    variables: { "body.1": `Reader ${at + 1}` }
  }))
)

const places = [
  { first: 34_621_001_000, time_zone: "Europe/Madrid" },
  { first: 55_11_961_001_000, time_zone: "America/Sao_Paulo" },
  { first: 55_92_961_001_000, time_zone: "America/Manaus" },
  { first: 81_90_1000_1000, time_zone: "Asia/Tokyo" },
  { first: 1_212_555_1000, time_zone: "America/New_York" }
]
const tomorrows = places.flatMap(({ first, time_zone }) =>
  Array.from({ length: 20 }, (_, at) => ({
    phone: String(first + at),
    variables: { "body.1": `Reader ${at + 1}` },
    time_zone
  }))
)

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString().slice(0, 10)

export const begin = async ({ admin, base }: Host, accountId: string): Promise<void> => {
  const session = await admin(`/accounts/${accountId}/sessions`, {
    name: "Newsletter",
    provider: "sandbox",
    pacing: { messages_per_second: 0.5 }
  })
  const sessionId = text(session, "session", "id")
  const api = client(base, await admin(`/sessions/${sessionId}/keys`, { name: "newsletter" }))
  const imported = await admin(`/sessions/${sessionId}/templates`, { templates: [news, rejected] }, "PUT")
  const template_id = pick(
    list(imported, "templates").find((each) => text(each, "name") === news.name),
    "template_id"
  )
  for (const recipients of [...readers, tomorrows])
    await admin(`/accounts/${accountId}/consents`, {
      consents: recipients.map(({ phone }) => ({ phone, source: "newsletter form" }))
    })
  const send = (body: object, key: string) =>
    api("/api/v1/template-messages/send", { template_id, ...body }, { "idempotency-key": key })
  for (const [part, recipients] of readers.entries())
    await send(
      {
        reference: "new-collection",
        recipients,
        stop_when: { failed_percent: 20, of_first: 50 }
      },
      `new-collection-${part}`
    )
  const day = tomorrow()
  await send(
    {
      reference: `newsletter-${day}`,
      recipients: tomorrows,
      send_at: { local: `${day}T10:00`, time_zone: "recipient" },
      hours: { from: "09:00", to: "20:00" }
    },
    `newsletter-${day}`
  )
}
