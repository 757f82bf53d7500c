/** The template of tests that need any: one variable, `body.1`. */
export const greeting = {
  name: "greeting",
  language: "en",
  category: "UTILITY",
  components: [{ type: "BODY", text: "Hello {{1}}" }]
}
