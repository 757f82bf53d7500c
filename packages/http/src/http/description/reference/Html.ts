/** Makes HTML of the description's texts, each of which stays text. */

export const escape = (text: string): string =>
  text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;")

export const code = (text: string): string => `<code>${escape(text)}</code>`

/** Prose of one paragraph, in which names stand between backticks. */
export const prose = (text: string): string => escape(text).replaceAll(/`([^`]+)`/g, "<code>$1</code>")

/** An element's name within the page, and the place of its link. */
export const anchor = (id: string, label: string): string =>
  `<a class="here" href="#${escape(id)}" aria-label="Link to ${escape(label)}">#</a>`

export const when = (is: boolean, html: () => string): string => (is ? html() : "")
