/** `/metrics` by its format: Prometheus' own or, for who asks for that, OpenMetrics 1.0. */
import type { Exposition } from "@sendwright/core/adapter"

const openMetrics = "application/openmetrics-text"

export const contentTypes: Readonly<Record<Exposition.Format, string>> = {
  prometheus: "text/plain; version=0.0.4; charset=utf-8",
  openMetrics: `${openMetrics}; version=1.0.0; charset=utf-8`
}

/** How much a client wants a media type, by its `Accept`: 0 where it names it not, or as one that it does not take. */
const weightOf = (accept: string, mediaType: string): number => {
  let weight = 0
  for (const range of accept.toLowerCase().split(",")) {
    const [named = "", ...parameters] = range.split(";").map((part) => part.trim())
    if (named !== mediaType) continue
    const q = parameters.find((parameter) => parameter.startsWith("q="))?.slice(2)
    const given = q === undefined ? 1 : Number(q)
    weight = Math.max(weight, Number.isFinite(given) ? given : 0)
  }
  return weight
}

/** The format that a client asks for. */
export const formatOf = (accept: string | undefined): Exposition.Format => {
  const weight = weightOf(accept ?? "", openMetrics)
  return weight > 0 && weight >= weightOf(accept ?? "", "text/plain") ? "openMetrics" : "prometheus"
}
