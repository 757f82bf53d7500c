/** What is sent in every part: one template with one variable, to numbers that have all consented. */

export const template = {
  name: "greeting",
  language: "en",
  category: "UTILITY",
  status: "APPROVED",
  components: [{ type: "BODY", text: "Hello {{1}}", example: { body_text: [["Ana"]] } }]
}

export const variable = "body.1"

export const recipientsPerJob = 250

/** Spanish mobile numbers; to the sandbox, an end from 0001 to 0009 would mean something. */
export const phone = (n: number): string => `346${String(n).padStart(6, "0")}55`

export const phones = (count: number): ReadonlyArray<string> =>
  Array.from({ length: count }, (_, n) => phone(n))

const consents = 2000
export const consented = phones(consents)

/** How a service's table of consents looks that has been there for a while. */
export const bystanders = 100_000

const recipients = (from: number, count: number) =>
  Array.from({ length: count }, (_, n) => ({
    phone: phone((from + n) % consents),
    externalId: `customer-${String(n).padStart(4, "0")}`,
    variables: { [variable]: `Name ${n}` }
  }))

/** A request as the engine takes it in process. */
export const message = (templateId: number, from: number, count: number) => ({
  templateId,
  recipients: recipients(from, count)
})

/** A request as it comes over HTTP. */
export const request = (templateId: number, from: number, count: number) => ({
  template_id: templateId,
  recipients: recipients(from, count).map(({ externalId, phone, variables }) => ({
    phone,
    external_id: externalId,
    variables
  }))
})

/** Bodies to several groups of numbers, so that no cache holds the only one. */
export const bodies = (templateId: number, recipients: number, groups = 16): ReadonlyArray<string> =>
  Array.from({ length: groups }, (_, n) => JSON.stringify(request(templateId, n * recipients, recipients)))
