/** Times as the command line reads them, in flags and in tables. */

/** A day is its midnight in UTC; any other text is left to the API. */
export const read = (text: string): string => (/^\d{4}-\d{2}-\d{2}$/.test(text) ? `${text}T00:00:00Z` : text)

/** A local time has its zone behind it, with a space between. */
export const readMoment = (text: string): string | { readonly local: string; readonly time_zone: string } => {
  const [local, zone, ...more] = text.trim().split(/ +/)
  return local === undefined || zone === undefined || more.length > 0
    ? read(text)
    : { local, time_zone: zone }
}
