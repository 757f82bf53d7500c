/** The overview and the report of health as people read them at a terminal; programs get the answers as they are. */
import { Overview as Wire } from "@sendwright/core/contract"
import * as Duration from "effect/Duration"
import * as Either from "effect/Either"
import * as Schema from "effect/Schema"
import * as Logs from "../Logs.ts"
import * as Answer from "./Answer.ts"
import * as Screen from "./Screen.ts"
import * as Table from "./Table.ts"

type Overview = typeof Wire.Overview.Type
type Report = typeof Wire.Report.Type

/** How an answer is told, and how the process ends after it. */
export interface View {
  readonly text: (body: unknown, stream: Screen.Stream) => string
  readonly codeOf: (body: unknown) => number
  /** How long a host is waited for that does not answer: who looks wants to know soon. */
  readonly patience: Duration.Duration
  /** Of a command that failed. */
  readonly failedCode: number
  /** True where it may be watched. */
  readonly isWatched: boolean
}

const number = (value: number): string => value.toLocaleString("en")

const units = ["B", "kB", "MB", "GB", "TB"]

const bytes = (value: number): string => {
  const size = Math.min(units.length - 1, Math.floor(Math.log10(Math.max(1, Math.abs(value))) / 3))
  return `${number(Math.round((value / 1000 ** size) * 10) / 10)} ${units[size]}`
}

/** As long ago as it was, in the largest unit that has one. */
const ago = (time: string, now: string): string => {
  const seconds = Math.max(0, Math.round((Date.parse(now) - Date.parse(time)) / 1000))
  if (seconds < 120) return `${seconds} s`
  if (seconds < 7200) return `${Math.floor(seconds / 60)} min`
  return seconds < 172_800 ? `${Math.floor(seconds / 3600)} h` : `${Math.floor(seconds / 86_400)} days`
}

/** A time of today by its clock. */
const clock = (time: string, now: string): string =>
  time.slice(0, 10) === now.slice(0, 10) ? time.slice(11, 19) : time.slice(0, 19).replace("T", " ")

const bars = "▁▂▃▄▅▆▇█"

/** A bar for each number, as high as it is of the highest. */
const chart = (values: ReadonlyArray<number>): string => {
  const highest = Math.max(1, ...values)
  return values
    .map((value) => (value === 0 ? " " : (bars[Math.ceil((value / highest) * bars.length) - 1] ?? " ")))
    .join("")
}

const paragraph = (text: string, stream: Screen.Stream, indent: string): ReadonlyArray<string> =>
  Screen.wrap(Logs.printable(text), Math.max(40, stream.columns - indent.length)).map(
    (line) => `${indent}${line}`
  )

const titled = (title: string, lines: ReadonlyArray<string>, stream: Screen.Stream): ReadonlyArray<string> =>
  lines.length === 0 ? [] : ["", Screen.strong(title, stream), ...lines]

const attentionOf = ({ at, attention }: Overview, stream: Screen.Stream): ReadonlyArray<string> =>
  attention.length === 0
    ? ["", "Nothing needs you."]
    : titled(
        `Needs somebody (${attention.length})`,
        attention.flatMap(({ since, text, title }) => [
          ...paragraph(`${title}${since === null ? "" : `, for ${ago(since, at)}`}`, stream, "! "),
          ...paragraph(text, stream, "  ").map((line) => Screen.faint(line, stream))
        ]),
        stream
      )

/** A probe of a platform that is out may fail, too. */
const untilOf = (limiter: string): string => (limiter === "platform" ? "asked again at" : "until")

const waitingOf = ({ at, waiting }: Overview): string => {
  const { by, oldest_at: oldest, total, total_is_exact: isExact } = waiting
  if (total === 0) return "0"
  const parts = by.map(
    ({ limiter, recipients, until }) =>
      `${limiter} ${number(recipients)}${until === null ? "" : ` ${untilOf(limiter)} ${clock(until, at)}`}`
  )
  const age = oldest === null ? "" : `, the oldest for ${ago(oldest, at)}`
  return `${isExact ? "" : "more than "}${number(total)}${age}: ${parts.join(", ")}`
}

const storageOf = ({ at, storage }: Overview): string =>
  [
    bytes(storage.bytes),
    ...(storage.bytes_per_day === null ? [] : [`${bytes(storage.bytes_per_day)} a day`]),
    ...(storage.free_bytes === null ? [] : [`${bytes(storage.free_bytes)} free`]),
    ...(storage.full_at === null ? [] : [`full ${clock(storage.full_at, at)}`])
  ].join(", ")

const figuresOf = (overview: Overview): ReadonlyArray<readonly [string, string]> => {
  const { minutes, rates, webhooks } = overview
  const perMinute = (rate: number): string => `${number(rate)} a minute`
  const p95 = webhooks.p95_ms === null ? "" : `, 95 of 100 within ${number(webhooks.p95_ms)} ms`
  return [
    ["accepted", perMinute(rates.accepted_per_minute)],
    ["outcomes", perMinute(rates.outcomes_per_minute)],
    ["last hour", chart(minutes.map(({ done }) => done))],
    ["failed", chart(minutes.map(({ failed, unknown }) => failed + unknown))],
    ["waiting", waitingOf(overview)],
    [
      "webhooks",
      `${webhooks.healthy} healthy, ${webhooks.failing} failing, ${webhooks.disabled} disabled, ${number(webhooks.waiting)} waiting${p95}`
    ],
    ["storage", storageOf(overview)]
  ]
}

const overviewOf = (overview: Overview, stream: Screen.Stream): string => {
  const { at, processes, sessions, version } = overview
  return [
    Screen.strong(
      `Sendwright${version === null ? "" : ` ${version}`}  ${at.slice(0, 19).replace("T", " ")} UTC`,
      stream
    ),
    ...attentionOf(overview, stream),
    "",
    ...figuresOf(overview).map(([name, text]) =>
      `${Screen.faint(name.padEnd(9), stream)}  ${Logs.printable(text)}`.trimEnd()
    ),
    ...titled(
      `Sessions (${sessions.length})`,
      sessions.length === 0
        ? []
        : Table.tableOf(
            sessions.map((session) => ({
              name: session.name,
              account: session.account,
              state: session.reason ?? session.state,
              since: clock(session.since, at),
              waiting: session.waiting,
              "sent/s": session.sent_per_second,
              "failed/h": session.failed_last_hour,
              empty: session.empty_at === null ? null : clock(session.empty_at, at),
              id: session.id
            })),
            stream
          ),
      stream
    ),
    ...titled(
      `Processes (${processes.length})`,
      processes.length === 0
        ? []
        : Table.tableOf(
            processes.map(({ id, in_flight, role, seen_at, since, slots, version }) => ({
              role,
              version,
              since: clock(since, at),
              seen: `${ago(seen_at, at)} ago`,
              busy: `${in_flight}/${slots}`,
              id
            })),
            stream
          ),
      stream
    )
  ].join("\n")
}

const reportOf = ({ at, lines, verdict, version }: Report, stream: Screen.Stream): string =>
  [
    Screen.strong(`${verdict}${version === null ? "" : `  Sendwright ${version}`}`, stream),
    ...lines.flatMap(({ cause, next, says, since, verdict }) => [
      ...paragraph(
        `${says}${since === null ? "" : ` It is so for ${ago(since, at)}.`}`,
        stream,
        verdict === "failing" ? "!! " : "!  "
      ),
      ...paragraph(cause, stream, "   "),
      ...paragraph(`→ ${next}`, stream, "   ")
    ])
  ].join("\n")

const codes = { ok: 0, degraded: 1, failing: 2 } as const

/** A host of another version may answer otherwise: it is told like all other answers. */
const viewOf = <A, I>(schema: Schema.Schema<A, I>, tell: (found: A, stream: Screen.Stream) => string) => {
  const read = Schema.decodeUnknownEither(schema)
  return (body: unknown, stream: Screen.Stream): string => {
    if (!stream.isTerminal) return Answer.text(body, stream)
    const found = read(body)
    return Either.isRight(found) ? tell(found.right, stream) : Answer.text(body, stream)
  }
}

const readReport = Schema.decodeUnknownOption(Schema.Struct({ report: Wire.Report }))

const verdictCode = (body: unknown): number => {
  const found = readReport(body)
  return found._tag === "Some" ? codes[found.value.report.verdict] : codes.failing
}

const patience = Duration.seconds(15)

/** By the name of the endpoint. */
export const views: ReadonlyMap<string, View> = new Map([
  [
    "overview",
    {
      text: viewOf(Schema.Struct({ overview: Wire.Overview }), ({ overview }, stream) =>
        overviewOf(overview, stream)
      ),
      codeOf: () => 0,
      failedCode: 1,
      patience,
      isWatched: true
    }
  ],
  [
    "health",
    {
      text: viewOf(Schema.Struct({ report: Wire.Report }), ({ report }, stream) => reportOf(report, stream)),
      codeOf: verdictCode,
      failedCode: codes.failing,
      patience,
      isWatched: false
    }
  ]
])
