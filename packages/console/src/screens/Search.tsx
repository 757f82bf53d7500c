import { useEffect } from "preact/hooks"
import { api, type Schemas } from "../base/api.ts"
import { useAnswer } from "../base/live.ts"
import { go, href, param, screenOf } from "../base/place.ts"
import { Ago } from "../base/time.tsx"
import { jobStatuses, n, phoneOf, shortId, statuses, type Tone } from "../base/words.ts"
import { Card, Chip, Code, Empty, JobCell, Pager, Say, Table } from "../ui/Parts.tsx"
import { Screen } from "../ui/Screen.tsx"

interface Found {
  readonly kind: string
  readonly id: string
  readonly title: string
  readonly status: string | null
  readonly at: string
  readonly link: string
}

const kinds: Readonly<Record<string, string>> = {
  message: "Message",
  job: "Job",
  person: "Person",
  delivery: "Webhook delivery",
  webhook: "Webhook",
  session: "Session",
  key: "API key",
  template: "Template"
}

const words: Readonly<Record<string, readonly [Tone, string]>> = {
  ...jobStatuses,
  ...statuses,
  pending: ["wt", "Waiting"],
  exhausted: ["bd", "Given up"],
  connected: ["ok", "Connected"],
  disconnected: ["bd", "Disconnected"],
  active: ["ok", "Active"],
  inactive: ["of", "Inactive"],
  revoked: ["of", "Revoked"],
  approved: ["ok", "Approved"],
  rejected: ["bd", "Rejected"],
  paused: ["wt", "Paused"]
}

const toneOf = ({ kind, status }: Found): readonly [Tone, string] => {
  if (status === null) return ["of", ""]
  if (kind === "job") return jobStatuses[status as Schemas["Job"]["status"]] ?? ["of", status]
  return words[status.toLowerCase()] ?? ["of", status]
}

/** One story alone, beside those whom it is about, is what was looked for. */
const onlyOne = (results: ReadonlyArray<Found>): string | undefined => {
  const things = results.filter(({ kind }) => kind !== "person")
  const [first = results[0]] = things
  return things.length > 1 || first === undefined ? undefined : screenOf(first.link)
}

const Results = ({
  next,
  of,
  q
}: {
  readonly of: ReadonlyArray<Found>
  readonly next: string | null
  readonly q: string
}) => (
  <>
    <h1 class="sr">Messages</h1>
    <Say>
      {of.length === 0 ? (
        <>
          Nothing is known of <b>{q}</b>.
        </>
      ) : (
        <>
          <b>
            {n(of.length)}
            {next === null ? "" : " or more"}
          </b>{" "}
          {of.length === 1 ? "thing is" : "things are"} known of <b>{q}</b>, the newest first.
        </>
      )}
    </Say>
    <div class="grid">
      {of.length === 0 ? (
        <Empty title="Look by what names one thing">
          A phone number with its calling code, your own reference, your own id of somebody, or the id of a
          message, a job, a session, a webhook, a delivery, a template or a key. The whole of it: parts of ids
          are not looked for.
        </Empty>
      ) : (
        <Card title="Found">
          <Table
            label="Found"
            columns={[
              { text: "What" },
              { text: "Status" },
              { text: "Id", kind: "x" },
              { text: "When", kind: "r" }
            ]}
            rows={of.map((each) => {
              const [tone, word] = toneOf(each)
              const to = screenOf(each.link)
              return (
                <tr class="row" data-row key={each.link}>
                  <td>
                    <a class="name" href={to ?? href("search", { q: each.id })}>
                      {each.kind === "person" ? phoneOf(each.title) : each.title}
                    </a>
                    <small>{kinds[each.kind] ?? each.kind}</small>
                  </td>
                  <td>{word !== "" && <Chip tone={tone}>{word}</Chip>}</td>
                  <td class="x">
                    <Code>{shortId(each.id)}</Code>
                  </td>
                  <td class="r nw">
                    <Ago at={each.at} />
                  </td>
                </tr>
              )
            })}
          />
          <Pager next={next} />
        </Card>
      )}
    </div>
  </>
)

const Asked = ({ q }: { readonly q: string }) => {
  const cursor = param("cursor")
  const isDirect = param("go") === "first"
  const answer = useAnswer(`${q} ${cursor}`, (init) =>
    api.GET("/admin/v1/search", {
      ...init,
      params: { query: { q, cursor } }
    })
  )
  const only = answer.data === undefined || !isDirect ? undefined : onlyOne(answer.data.results)
  useEffect(() => {
    if (answer.data !== undefined && isDirect) go(only ?? href("search", { q }), true)
  }, [answer.data, isDirect])
  return (
    <Screen
      title={`Search: ${q}`}
      answer={answer}
      json={`/admin/v1/search?q=${encodeURIComponent(q)}`}
      command={`sendwright search ${JSON.stringify(q)}`}
    >
      {({ next_cursor, results }) => <Results of={results} next={next_cursor} q={q} />}
    </Screen>
  )
}

/** What was sent last, of all accounts, until somebody asks for one thing. */
const Latest = () => {
  const answer = useAnswer("latest", (init) =>
    api.GET("/admin/v1/jobs", { ...init, params: { query: { limit: 20 } } })
  )
  return (
    <Screen
      title="Messages"
      answer={answer}
      json="/admin/v1/jobs?limit=20"
      command="sendwright search <what>"
    >
      {(data) => (
        <>
          <h1 class="sr">Messages</h1>
          <Say>
            Type a phone number, a reference of yours or any id, and press Enter: its whole story is one key
            away.
          </Say>
          <div class="grid">
            <Card title="Accepted last" beside="one job each">
              {!("jobs" in data) || data.jobs.length === 0 ? (
                <Empty title="Nothing was sent yet">
                  The first send takes five minutes: <code>npm run demo</code> shows one, docs/first-send.md
                  explains it.
                </Empty>
              ) : (
                <Table
                  label="Accepted last"
                  columns={[
                    { text: "Job" },
                    { text: "Status" },
                    { text: "Recipients", kind: "r" },
                    { text: "When", kind: "r" }
                  ]}
                  rows={data.jobs.map((job) => (
                    <tr class="row" data-row key={job.job_id}>
                      <JobCell job={job} />
                      <td>
                        <Chip tone={jobStatuses[job.status][0]}>{jobStatuses[job.status][1]}</Chip>
                      </td>
                      <td class="r">{n(job.recipients)}</td>
                      <td class="r nw">
                        <Ago at={job.created_at} />
                      </td>
                    </tr>
                  ))}
                />
              )}
            </Card>
          </div>
        </>
      )}
    </Screen>
  )
}

export const Search = () => {
  const q = param("q")
  return q === undefined ? <Latest /> : <Asked q={q} key={q} />
}
