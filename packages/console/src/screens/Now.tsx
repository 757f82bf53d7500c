import { useEffect } from "preact/hooks"
import { api, type Schemas } from "../base/api.ts"
import { useAnswer } from "../base/live.ts"
import { href, screenOf } from "../base/place.ts"
import { Ago, At, agoOf, minuteOf, shortOf, spanOf, Told } from "../base/time.tsx"
import {
  actOfAttention,
  bytesOf,
  count,
  isTrouble,
  limiterOf,
  n,
  type Tone,
  toneOfAttention
} from "../base/words.ts"
import { Bars, Legend, Split } from "../ui/Charts.tsx"
import { Card, Chip, Empty, Facts, Say, Share, Table } from "../ui/Parts.tsx"
import { Screen } from "../ui/Screen.tsx"
import { attention, version } from "../ui/Shell.tsx"

type Overview = Schemas["Overview"]
type Glance = Schemas["SessionAtAGlance"]
type Waits = Overview["waiting"]["by"][number]

const Answer = ({ of }: { readonly of: Overview }) => {
  const { attention, rates, waiting } = of
  const worst = [...waiting.by]
    .filter(({ limiter }) => isTrouble(limiter))
    .sort((a, b) => b.recipients - a.recipients)[0]
  const out = Math.round(rates.outcomes_per_minute)
  return (
    <Say>
      {out === 0 ? (
        "Nothing goes out at the moment. "
      ) : (
        <>
          <b>{n(out)}</b> {out === 1 ? "message" : "messages"} a minute go out.{" "}
        </>
      )}
      {waiting.total === 0 ? (
        "Nobody waits. "
      ) : (
        <>
          <b>
            {n(waiting.total)}
            {waiting.total_is_exact ? "" : " or more"}
          </b>{" "}
          wait
        </>
      )}
      {waiting.total > 0 && worst === undefined && ", all of them for their own time or pace. "}
      {worst !== undefined && (
        <>
          , <span class="bad">{n(worst.recipients)} of them because of what somebody may mend</span>:{" "}
          {lower(limiterOf(worst.limiter))}.{" "}
        </>
      )}
      {attention.length === 0 ? (
        "Nothing needs anybody."
      ) : (
        <>
          {count(attention.length, "thing")} {attention.length === 1 ? "needs" : "need"} somebody.
        </>
      )}
    </Say>
  )
}

const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

const Needs = ({ items }: { readonly items: Overview["attention"] }) => (
  <div class="card need">
    {items.map(({ kind, link, text, title }) => {
      const to = screenOf(link)
      return (
        <div class={`item ${toneOfAttention(kind)}`} data-row key={kind + link}>
          <span class="bar" />
          <div>
            <b>{title}</b>
            <p>
              <Told text={text} />
            </p>
          </div>
          {to !== undefined && to !== "./" && (
            <a class="btn" href={to}>
              {actOfAttention(kind)}
            </a>
          )}
        </div>
      )
    })}
  </div>
)

const LastHour = ({ of }: { readonly of: Overview }) => {
  const { attention, minutes, rates } = of
  const down = attention.find(({ kind, since }) => kind === "session_unavailable" && since !== null)
  const from = down?.since ? minutes.findIndex(({ at }) => at >= (down.since ?? "").slice(0, 16)) : -1
  return (
    <Card
      title="Outcomes a minute, the last hour"
      beside={`in: ${n(Math.round(rates.accepted_per_minute))} · out: ${n(Math.round(rates.outcomes_per_minute))}`}
    >
      <Legend
        of={[
          ["ok", "accepted by the platform"],
          ["bd", "failed"],
          ["uk", "unknown"],
          ["line", "accepted by us"]
        ]}
      />
      <Bars
        label={`Outcomes for each minute of the last hour: ${n(minutes.reduce((sum, { done }) => sum + done, 0))} accepted by platforms, ${n(minutes.reduce((sum, { failed }) => sum + failed, 0))} failed`}
        shade={from > 0 && down !== undefined ? { from, text: "a platform gives no answer" } : undefined}
        bars={minutes.map(({ accepted, at, done, failed, unknown }, place) => ({
          title: `${minuteOf(at)}: ${n(done)} accepted by the platform, ${n(failed)} failed, ${n(unknown)} unknown; ${n(accepted)} accepted by us`,
          label: place % 15 === 7 ? minuteOf(at) : undefined,
          line: accepted,
          parts: [
            { tone: "ok", value: done },
            { tone: "uk", value: unknown },
            { tone: "bd", value: failed }
          ]
        }))}
      />
    </Card>
  )
}

const tones: Readonly<Record<string, Tone | "skip">> = {
  platform: "bd",
  session: "bd",
  restore: "bd",
  worker: "bd",
  template: "wt",
  pace: "go",
  schedule: "skip",
  hours: "skip",
  client: "of",
  retry: "wt"
}

const untilOf = ({ limiter, until }: Waits): string =>
  until === null
    ? isTrouble(limiter)
      ? "until somebody mends it"
      : "without an end that is known"
    : limiter === "platform"
      ? `asked again ${agoOf(until)}`
      : limiter === "pace"
        ? `the last one leaves after ${shortOf(until)}`
        : `until ${shortOf(until)}`

const Waiting = ({ of }: { readonly of: Overview["waiting"] }) => (
  <Card title="What waits, and for what" beside={n(of.total)}>
    {of.by.length === 0 ? (
      <Empty title="Nobody waits">
        Whom a job names and nobody has tried yet is counted here by what keeps them.
      </Empty>
    ) : (
      <>
        <Split
          of={of.by.map(({ limiter, recipients }) => ({
            tone: tones[limiter] ?? "of",
            value: recipients,
            title: `${limiterOf(limiter)}: ${n(recipients)}`
          }))}
        />
        <div class="why">
          {of.by.map((each) => (
            <>
              <i class={`key ${tones[each.limiter] ?? "of"}`} />
              <span>
                {limiterOf(each.limiter)}
                <br />
                <small>{untilOf(each)}</small>
              </span>
              <span class="n">{n(each.recipients)}</span>
            </>
          ))}
        </div>
      </>
    )}
  </Card>
)

const reasons: Readonly<Record<string, string>> = {
  platform_unavailable: "No answer",
  provider_blocked: "Blocked",
  platform_restriction: "Restricted",
  same_failure: "Held"
}

export const stateOf = ({
  reason,
  sent_per_second,
  state,
  waiting
}: Pick<Glance, "reason" | "sent_per_second" | "state" | "waiting">): readonly [Tone, string] => {
  if (state === "disconnected") return ["bd", "Disconnected"]
  if (state === "connecting") return ["wt", "Connecting"]
  if (reason !== null) return ["bd", reasons[reason] ?? reason.replaceAll("_", " ")]
  if (sent_per_second > 0) return ["go", "Sending"]
  return waiting > 0 ? ["wt", "Waits"] : ["of", "Idle"]
}

const Sessions = ({ sessions }: { readonly sessions: ReadonlyArray<Glance> }) => (
  <Card title="Sessions" beside={`${sessions.length}, those in need first`}>
    {sessions.length === 0 ? (
      <Empty title="No session yet">
        A session is an account's connection to a platform: <code>sendwright sessions create</code>.
      </Empty>
    ) : (
      <Table
        label="Sessions"
        columns={[
          { text: "Session" },
          { text: "State", kind: "x" },
          { text: "Waits", kind: "r" },
          { text: "Oldest", kind: "r x" },
          { text: "Sends a second, of its pace", kind: "x" },
          { text: "Failed, 1 h", kind: "r x" },
          { text: "Empty at", kind: "r x" }
        ]}
        rows={sessions.map((session) => {
          const [tone, word] = stateOf(session)
          return (
            <tr class="row" data-row key={session.id}>
              <td>
                <a class="name" href={href(`sessions/${session.id}`)}>
                  {session.name}
                </a>
                <small>
                  {session.account} · {session.provider}
                </small>
                <span class="only">
                  <Chip tone={tone}>{word}</Chip>
                </span>
              </td>
              <td class="x">
                <Chip tone={tone}>{word}</Chip>
              </td>
              <td class="r">
                <b>{n(session.waiting)}</b>
              </td>
              <td class="r x nw">{session.waiting > 0 ? <Ago at={session.oldest_at} /> : "–"}</td>
              <td class="x nw">
                {session.pace_per_second === null ? (
                  session.sent_per_second > 0 ? (
                    `${session.sent_per_second.toFixed(1)}, no limit`
                  ) : (
                    "no limit"
                  )
                ) : (
                  <>
                    <Share of={session.sent_per_second / session.pace_per_second} />
                    {session.sent_per_second.toFixed(session.sent_per_second < 10 ? 1 : 0)} of{" "}
                    {session.pace_per_second}
                  </>
                )}
              </td>
              <td class="r x">{session.failed_last_hour === 0 ? "–" : n(session.failed_last_hour)}</td>
              <td class="r x nw">
                <At at={session.empty_at} />
              </td>
            </tr>
          )
        })}
      />
    )}
  </Card>
)

const Processes = ({ of }: { readonly of: Overview["processes"] }) => (
  <Card title="Processes" beside={count(of.length, "process", "processes")}>
    <table aria-label="Processes">
      <tbody>
        {of.map(({ id, in_flight, role, seen_at, since, slots, version }) => (
          <tr key={id}>
            <td>
              <span class="name">{role === "all" ? "API and worker" : role}</span>
              <small title={`${id}, seen ${agoOf(seen_at)}`}>
                v{version} · since <Ago at={since} />
              </small>
            </td>
            <td class="r">
              {role === "api" ? "–" : `${n(in_flight)} of ${n(slots)}`}
              <small>in flight</small>
            </td>
          </tr>
        ))}
      </tbody>
    </table>
  </Card>
)

const kinds = { memory: "in memory", sqlite: "SQLite", postgres: "PostgreSQL" }

const Below = ({ of: { processes, storage, webhooks } }: { readonly of: Overview }) => (
  <div class="grid g3">
    <Processes of={processes} />
    <Card title="Webhooks" beside={webhooks.p95_ms === null ? undefined : `p95 ${spanOf(webhooks.p95_ms)}`}>
      <Facts
        of={[
          ["Healthy", n(webhooks.healthy)],
          ["Failing", <b class={webhooks.failing > 0 ? "bad" : ""}>{n(webhooks.failing)}</b>],
          ["Disabled", n(webhooks.disabled)],
          [
            "Deliveries that wait",
            <a class="l" href={href("webhooks/deliveries", { status: "pending" })}>
              {n(webhooks.waiting)}
            </a>
          ]
        ]}
      />
    </Card>
    <Card title="Storage" beside={kinds[storage.kind]}>
      <Facts
        of={[
          ["Size", <b>{bytesOf(storage.bytes)}</b>],
          [
            "Grows by",
            storage.bytes_per_day === null ? "not known yet" : `${bytesOf(storage.bytes_per_day)} a day`
          ],
          ["Disk is full", storage.full_at === null ? "not within sight" : agoOf(storage.full_at)],
          ["Oldest event kept", storage.oldest.events === null ? "none" : <At at={storage.oldest.events} />],
          [
            "Oldest result kept",
            storage.oldest.results === null ? "none" : <At at={storage.oldest.results} />
          ]
        ]}
      />
    </Card>
  </div>
)

/** What needs somebody, what flows, and what waits for what. */
export const Now = () => {
  const answer = useAnswer("now", (init) => api.GET("/admin/v1/overview", init))
  const { data } = answer
  useEffect(() => {
    if (data === undefined) return
    attention.value = data.overview.attention
    version.value = data.overview.version
  }, [data])
  return (
    <Screen title="Now" answer={answer} json="/admin/v1/overview" command="sendwright overview">
      {({ overview }) => (
        <>
          <h1 class="sr">Now</h1>
          <Answer of={overview} />
          {overview.attention.length > 0 && <Needs items={overview.attention} />}
          <div class="grid g2">
            <LastHour of={overview} />
            <Waiting of={overview.waiting} />
          </div>
          <div class="grid">
            <Sessions sessions={overview.sessions} />
          </div>
          <Below of={overview} />
        </>
      )}
    </Screen>
  )
}
