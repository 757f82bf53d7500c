import { api, type Schemas } from "../base/api.ts"
import { useAnswer } from "../base/live.ts"
import { accounts, sessionOf } from "../base/names.ts"
import { here, href, param, paramOf, submitFilters } from "../base/place.ts"
import { At } from "../base/time.tsx"
import { count, n } from "../base/words.ts"
import { Bars, Legend } from "../ui/Charts.tsx"
import { Card, Choices, Choose, Empty, Say, Share, Table } from "../ui/Parts.tsx"
import { Screen } from "../ui/Screen.tsx"

type Sum = Schemas["UsageSum"]

const bys = ["day", "template", "market", "session"] as const
type By = (typeof bys)[number]

const nameOf = (sum: Sum, by: By): string => {
  switch (by) {
    case "day":
      return sum.day ?? "?"
    case "template":
      return sum.template_id === null
        ? "direct messages"
        : `${sum.template ?? "deleted"} (${sum.template_id})`
    case "market":
      return sum.market ?? "no market"
    case "session":
      return sessionOf(sum.session_id)
  }
}

const amount = (text: string | null): number => (text === null ? 0 : Number(text))
const money = (value: number, currency: string): string =>
  `${value.toLocaleString("en", { minimumFractionDigits: 4, maximumFractionDigits: 4 })} ${currency}`

const csvField = (text: string): string => {
  // A spreadsheet runs what begins so; a space before it keeps it a text.
  const safe = /^[=+\-@\t\r]/.test(text) ? ` ${text}` : text
  return /[",\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

const csvOf = (sums: ReadonlyArray<Sum>, by: By): string => {
  const rows = sums.map((sum) => [
    nameOf(sum, by),
    String(sum.recipients),
    ...Object.values(sum.counts).map(String),
    sum.currency,
    sum.estimated ?? "",
    sum.actual ?? ""
  ])
  const [first] = sums
  const heads = [by, "recipients", ...Object.keys(first?.counts ?? {}), "currency", "estimated", "actual"]
  return [heads, ...rows].map((row) => row.map(csvField).join(",")).join("\r\n")
}

const save = (text: string, name: string): void => {
  const link = document.createElement("a")
  link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }))
  link.download = name
  link.click()
  URL.revokeObjectURL(link.href)
}

const daysAgo = (days: number): string => new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 10)

const Period = () => (
  <form class="filters" onSubmit={submitFilters}>
    <div class="choose">
      <label for="usage-from">From</label>
      <input id="usage-from" name="from" type="date" defaultValue={param("from") ?? ""} />
    </div>
    <div class="choose">
      <label for="usage-to">Until, without that day</label>
      <input id="usage-to" name="to" type="date" defaultValue={param("to") ?? ""} />
    </div>
    <button type="submit" class="btn">
      Show
    </button>
    <a class="l" href={here({ from: daysAgo(0), to: undefined })}>
      Today
    </a>
    <a class="l" href={here({ from: daysAgo(1), to: daysAgo(0) })}>
      Yesterday
    </a>
    <a class="l" href={here({ from: undefined, to: undefined })}>
      This month
    </a>
  </form>
)

const Days = ({ of }: { readonly of: ReadonlyArray<Sum> }) => (
  <Card title="Recipients a day">
    <Legend
      of={[
        ["ok", "arrived"],
        ["go", "on their way"],
        ["bd", "failed"],
        ["uk", "unknown"]
      ]}
    />
    <Bars
      label="Recipients of each day"
      bars={of
        .toSorted((a, b) => ((a.day ?? "") < (b.day ?? "") ? -1 : 1))
        .map(({ counts, day, recipients }, at) => ({
          title: `${day}: ${n(recipients)} recipients, ${n(counts.delivered + counts.read)} arrived, ${n(counts.failed)} failed`,
          label: of.length < 12 || at % 5 === 0 ? (day ?? "").slice(5) : undefined,
          parts: [
            { tone: "ok", value: counts.delivered + counts.read },
            { tone: "go", value: counts.accepted + counts.sent + counts.waiting },
            { tone: "uk", value: counts.unknown },
            { tone: "bd", value: counts.failed }
          ]
        }))}
    />
  </Card>
)

const Sums = ({ by, of }: { readonly of: ReadonlyArray<Sum>; readonly by: By }) => {
  const most = Math.max(...of.map(({ recipients }) => recipients), 1)
  return (
    <Card
      title={`By ${by}`}
      beside={
        <button type="button" class="btn" onClick={() => save(csvOf(of, by), `usage-by-${by}.csv`)}>
          Save as CSV
        </button>
      }
    >
      {of.length === 0 ? (
        <Empty title="Nothing was sent in this time">Choose another time, or another account.</Empty>
      ) : (
        <Table
          label={`Usage by ${by}`}
          columns={[
            { text: by.charAt(0).toUpperCase() + by.slice(1) },
            { text: "Recipients", kind: "r" },
            { text: "", kind: "x" },
            { text: "Arrived", kind: "r x" },
            { text: "Failed", kind: "r x" },
            { text: "Unknown", kind: "r x" },
            { text: "Estimated", kind: "r x" },
            { text: "Cost", kind: "r" }
          ]}
          rows={of.map((sum) => (
            <tr key={nameOf(sum, by) + sum.currency}>
              <td>
                {by === "template" && sum.template_id !== null ? (
                  <a class="name" href={href(`templates/${sum.template_id}`)}>
                    {nameOf(sum, by)}
                  </a>
                ) : (
                  <span class="name">{nameOf(sum, by)}</span>
                )}
              </td>
              <td class="r">{n(sum.recipients)}</td>
              <td class="x">
                <Share of={sum.recipients / most} />
              </td>
              <td class="r x">{n(sum.counts.delivered + sum.counts.read)}</td>
              <td class={`r x ${sum.counts.failed > 0 ? "bad" : ""}`}>{n(sum.counts.failed)}</td>
              <td class={`r x ${sum.counts.unknown > 0 ? "unk" : ""}`}>{n(sum.counts.unknown)}</td>
              <td class="r x nw">
                {sum.estimated === null ? "–" : money(amount(sum.estimated), sum.currency)}
              </td>
              <td class="r nw">{sum.actual === null ? "–" : money(amount(sum.actual), sum.currency)}</td>
            </tr>
          ))}
        />
      )}
    </Card>
  )
}

const dayStart = (day: string | undefined): string | undefined =>
  day === undefined ? undefined : `${day}T00:00:00Z`

const totals = (sums: ReadonlyArray<Sum>) => {
  const found = new Map<string, { estimated: number; actual: number }>()
  for (const { actual, currency, estimated } of sums) {
    const sum = found.get(currency) ?? { estimated: 0, actual: 0 }
    found.set(currency, { estimated: sum.estimated + amount(estimated), actual: sum.actual + amount(actual) })
  }
  return [...found]
}

const OfAccount = ({ id, name }: { readonly id: string; readonly name: string }) => {
  const by = paramOf("by", bys) ?? "day"
  const filter = { by, from: dayStart(param("from")), to: dayStart(param("to")) }
  const answer = useAnswer(JSON.stringify([id, filter]), (init) =>
    api.GET("/admin/v1/accounts/{id}/usage", { ...init, params: { path: { id }, query: filter } })
  )
  const period = [
    filter.from === undefined ? [] : [`--from ${filter.from}`],
    filter.to === undefined ? [] : [`--to ${filter.to}`]
  ].flat()
  return (
    <Screen
      title="Usage and cost"
      answer={answer}
      json={`/admin/v1/accounts/${id}/usage?${new URLSearchParams(Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])))}`}
      command={["sendwright accounts usage", id, `--by ${by}`, ...period].join(" ")}
    >
      {({ usage }) => {
        if (!("groups" in usage)) return null
        const sums = usage.groups
        const recipients = sums.reduce((sum, each) => sum + each.recipients, 0)
        return (
          <>
            <Say>
              <b>{name}</b> took sends to <b>{count(recipients, "recipient")}</b>
              {totals(sums).map(([currency, { actual, estimated }]) => (
                <>
                  , which cost <b>{money(actual, currency)}</b> of {money(estimated, currency)} estimated
                </>
              ))}
              . From <At at={usage.from} /> to <At at={usage.to} />.
            </Say>
            <Filters id={id} />
            <Period key={JSON.stringify(filter)} />
            <div class="grid">
              {by === "day" && sums.length > 0 && <Days of={sums} />}
              <Sums of={sums} by={by} />
              {usage.whole_since > usage.from && (
                <p class="hint">
                  What is older than {usage.whole_since.slice(0, 10)} is kept no longer, so its days are not
                  whole.
                </p>
              )}
            </div>
          </>
        )
      }}
    </Screen>
  )
}

const Filters = ({ id }: { readonly id: string }) => (
  <div class="filters">
    <Choose
      label="Account"
      name="account_id"
      value={id}
      options={(accounts.value ?? []).map(({ id, name }) => ({ value: id, text: name }))}
    />
    <Choices
      label="By what"
      name="by"
      of={[
        ["", "By day"],
        ["template", "By template"],
        ["market", "By market"],
        ["session", "By session"]
      ]}
    />
  </div>
)

export const Usage = () => {
  const known = accounts.value
  const id = param("account_id") ?? known?.[0]?.id
  if (id === undefined)
    return known === undefined ? null : (
      <Empty title="No account yet">
        Usage is told for an account: <code>sendwright accounts create</code>.
      </Empty>
    )
  return (
    <>
      <h1 class="sr">Usage and cost</h1>
      <OfAccount id={id} name={known?.find((account) => account.id === id)?.name ?? "it"} key={id} />
    </>
  )
}
