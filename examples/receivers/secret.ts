/** A receiver without its secret must not start: it could tell nobody's requests from ours. */
export const secretOf = (environment: NodeJS.ProcessEnv): string => {
  const secret = environment["WEBHOOK_SECRET"]
  if (secret === undefined || secret === "")
    throw new Error("Set WEBHOOK_SECRET to the endpoint's secret, whsec_…")
  return secret
}
