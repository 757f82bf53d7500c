/** Times as the command line reads them, in flags and in tables. */

/** A day is its midnight in UTC; any other text is left to the API. */
export const read = (text: string): string => (/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text)
