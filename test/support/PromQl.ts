/**
 * As much of Prometheus' language as docs/alerts.yml is written in, over series that are sampled once a minute. What it does not
 * know it refuses. A rate is what a counter rose by, without the extrapolation to the window's ends.
 */
type Labels = Readonly<Record<string, string>>
interface Sample {
  readonly labels: Labels
  readonly value: number
}

/** `null` where there is no sample. */
export interface Series {
  readonly name: string
  readonly labels: Labels
  readonly values: ReadonlyArray<number | null>
}

type Evaluate = (minute: number) => ReadonlyArray<Sample> | number

const tokensOf = (text: string): Array<string> =>
  text.match(/"[^"]*"|\d+(?:\.\d+)?|[a-zA-Z_]\w*|=~|[{}()[\],=*<>]/g) ?? []

/** `name{label="value"}`, as a test of rules writes a series. */
export const seriesOf = (text: string, values: string): Series => {
  const [name = "", ...rest] = tokensOf(text)
  const labels: Record<string, string> = {}
  for (let at = 0; at < rest.length; at++)
    if (rest[at] === "=") labels[rest[at - 1] ?? ""] = (rest[at + 1] ?? "").slice(1, -1)
  const expanded = values.split(" ").flatMap((part): ReadonlyArray<number | null> => {
    const [, first = "", step = "0", times = "0"] = /^(\d+|_)(?:\+(\d+))?(?:x(\d+))?$/.exec(part) ?? []
    if (first === "") throw new Error(`${part} is no sample`)
    return Array.from({ length: Number(times) + 1 }, (_, n) =>
      first === "_" ? null : Number(first) + n * Number(step)
    )
  })
  return { name, labels, values: expanded }
}

const keyOf = (labels: Labels): string => JSON.stringify(Object.entries(labels).sort())

/** Prometheus looks back five minutes for a sample. */
const lookBack = 5

/** A counter that falls began anew. */
const riseOf = (values: ReadonlyArray<number>): number =>
  values.slice(1).reduce((sum, value, place) => {
    const before = values[place] ?? 0
    return sum + (value >= before ? value - before : value)
  }, 0)

const quantile = (wanted: number, buckets: ReadonlyArray<Sample>): number => {
  const sorted = buckets
    .map(({ labels, value }) => [Number(labels["le"]), value] as const)
    .sort(([a], [b]) => a - b)
  const total = sorted.at(-1)?.[1] ?? 0
  const place = sorted.findIndex(([, count]) => count >= wanted * total)
  const [upper = Number.NaN, count = 0] = sorted[place] ?? []
  const [lower, below] = sorted[place - 1] ?? [0, 0]
  return upper === Infinity ? lower : lower + ((upper - lower) * (wanted * total - below)) / (count - below)
}

/** The samples of an expression at a minute: those for which an alert is raised. */
export const evaluate = (
  text: string,
  all: ReadonlyArray<Series>
): ((minute: number) => ReadonlyArray<Sample>) => {
  const tokens = tokensOf(text)
  const peek = (): string | undefined => tokens[0]
  const next = (wanted?: string): string => {
    const token = tokens.shift() ?? ""
    if (wanted !== undefined && token !== wanted)
      throw new Error(`${wanted} expected in ${text}, not ${token}`)
    return token
  }
  const vector = (found: ReadonlyArray<Sample> | number): ReadonlyArray<Sample> =>
    typeof found === "number" ? [{ labels: {}, value: found }] : found

  const selected = (name: string) => {
    const tests: Array<(labels: Labels) => boolean> = []
    if (peek() === "{") {
      do {
        next()
        const [label, sign, quoted] = [next(), next(), next().slice(1, -1)]
        const form = new RegExp(`^(?:${quoted})$`)
        tests.push((labels) => (sign === "=" ? labels[label] === quoted : form.test(labels[label] ?? "")))
      } while (peek() === ",")
      next("}")
    }
    const series = all.filter((each) => each.name === name && tests.every((test) => test(each.labels)))
    let range: number | undefined
    if (peek() === "[") {
      next()
      const amount = Number(next())
      range = next() === "h" ? amount * 60 : amount
      next("]")
    }
    const valuesAt = ({ values }: Series, minute: number, span: number): ReadonlyArray<number> =>
      values.slice(Math.max(0, minute - span), minute + 1).filter((value) => value !== null)
    return { series, range, valuesAt }
  }

  const primary = (): Evaluate => {
    const token = next()
    if (/^\d/.test(token)) return () => Number(token)
    if (token === "sum" || token === "max") {
      const by: Array<string> = []
      if (peek() === "by") {
        next()
        for (next("("); peek() !== ")"; ) by.push(next())
        next(")")
      }
      next("(")
      const inner = either()
      next(")")
      return (minute) => {
        const groups = new Map<string, Sample>()
        for (const { labels, value } of vector(inner(minute))) {
          const kept = Object.fromEntries(
            by.flatMap((name) => (labels[name] === undefined ? [] : [[name, labels[name]]]))
          )
          const known = groups.get(keyOf(kept))?.value
          const joined =
            known === undefined ? value : token === "sum" ? known + value : Math.max(known, value)
          groups.set(keyOf(kept), { labels: kept, value: joined })
        }
        return [...groups.values()]
      }
    }
    if (token === "rate" || token === "increase") {
      next("(")
      const { range = 0, series, valuesAt } = selected(next())
      next(")")
      return (minute) =>
        series.flatMap((each) => {
          const values = valuesAt(each, minute, range)
          const rise = riseOf(values)
          return values.length < 2
            ? []
            : [{ labels: each.labels, value: token === "rate" ? rise / (range * 60) : rise }]
        })
    }
    if (token === "absent") {
      next("(")
      const inner = either()
      next(")")
      return (minute) => (vector(inner(minute)).length === 0 ? [{ labels: {}, value: 1 }] : [])
    }
    if (token === "histogram_quantile") {
      next("(")
      const wanted = Number(next())
      next(",")
      const inner = either()
      next(")")
      return (minute) => {
        const buckets = vector(inner(minute))
        return buckets.length === 0 ? [] : [{ labels: {}, value: quantile(wanted, buckets) }]
      }
    }
    const { series, valuesAt } = selected(token)
    return (minute) =>
      series.flatMap((each) => {
        const value = valuesAt(each, minute, lookBack).at(-1)
        return value === undefined ? [] : [{ labels: each.labels, value }]
      })
  }

  const product = (): Evaluate => {
    const first = primary()
    if (peek() !== "*") return first
    next()
    const other = primary()
    return (minute) => {
      const [factor, of] = [first(minute), vector(other(minute))]
      if (typeof factor !== "number") throw new Error("Only a number is multiplied with")
      return of.map(({ labels, value }) => ({ labels, value: factor * value }))
    }
  }

  const compared = (): Evaluate => {
    const first = product()
    if (peek() !== ">") return first
    next()
    const other = product()
    return (minute) => {
      const right = other(minute)
      return vector(first(minute)).filter(({ labels, value }) => {
        const bound =
          typeof right === "number"
            ? right
            : right.find((each) => keyOf(each.labels) === keyOf(labels))?.value
        return bound !== undefined && value > bound
      })
    }
  }

  const either = (): Evaluate => {
    const first = compared()
    if (peek() !== "or") return first
    next()
    const other = either()
    return (minute) => {
      const left = vector(first(minute))
      const known = new Set(left.map(({ labels }) => keyOf(labels)))
      return [...left, ...vector(other(minute)).filter(({ labels }) => !known.has(keyOf(labels)))]
    }
  }

  const whole = either()
  if (tokens.length > 0) throw new Error(`${tokens.join(" ")} is not known, in ${text}`)
  return (minute) => vector(whole(minute))
}
