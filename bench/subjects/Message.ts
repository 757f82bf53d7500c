/** The message that every client posts. */
import { Fixtures } from "@sendwright/core/testing"

export const template = Fixtures.template()

/** As the provider `http` writes it. */
export const body = JSON.stringify({
  message_id: "0190a1b2-0000-7000-8000-000000000000",
  session_id: "0190a1b2-0000-7000-8000-000000000001",
  to: "34612345678",
  type: "template",
  template: {
    name: template.name,
    language: template.language,
    components: [{ type: "body", parameters: [{ type: "text", text: "Name 1" }] }],
    variables: { "body.1": "Name 1" },
    rendered: { body: "Hello Name 1" }
  }
})
