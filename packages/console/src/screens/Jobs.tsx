import { api, type Schemas } from "../base/api.ts"
import { useAnswer, useCounts } from "../base/live.ts"
import { here, href, param, paramOf } from "../base/place.ts"
import { Ago, At } from "../base/time.tsx"
import { allStatuses, count, jobStatuses, n, personOf, type Status, statuses } from "../base/words.ts"
import { Split } from "../ui/Charts.tsx"
import { Card, Chip, Choices, Choose, Empty, JobCell, Pager, Say, Table } from "../ui/Parts.tsx"
import { Head, Screen } from "../ui/Screen.tsx"

type Job = Schemas["ToldJob"]
type Sum = Schemas["ReferenceSum"]
type Counts = Schemas["Counts"]

const have = ({ delivered, read, sent, accepted }: Counts): number => delivered + read + sent + accepted

/** How the recipients of a job, or of a campaign, stand. */
export const Progress = ({ counts }: { readonly counts: Counts }) => (
  <Split
    of={allStatuses.map((status) => ({
      tone: status === "delivered" ? "okay" : statuses[status][0],
      value: counts[status],
      title: `${statuses[status][1]}: ${n(counts[status])}`
    }))}
  />
)

/** Why most of them failed; a link to all jobs of which some did for the same. */
const Why = ({ failures: [first] }: Pick<Job, "failures">) =>
  first === undefined ? null : (
    <a class="l code" href={here({ code: first.code })} title="All jobs with this failure">
      {first.code}
    </a>
  )

const What = ({ failed, unknown, queued, sending }: Counts) => (
  <small class="sums">
    {queued + sending > 0 && <span class="wait">{n(queued + sending)} wait</span>}{" "}
    {failed > 0 && <span class="bad">{n(failed)} failed</span>}{" "}
    {unknown > 0 && <span class="unk">{n(unknown)} unknown</span>}
  </small>
)

const columns = [
  { text: "What" },
  { text: "Status" },
  { text: "Who has it", kind: "r" },
  { text: "How they stand", kind: "x wide" },
  { text: "Accepted", kind: "r x" }
]

const JobRow = ({ job }: { readonly job: Job }) => {
  const [tone, word] = jobStatuses[job.status]
  const isLater = job.status === "queued" && job.starts_at > job.created_at
  return (
    <tr class="row" data-row>
      <JobCell job={job} />
      <td>
        <Chip tone={tone}>{isLater ? "Scheduled" : word}</Chip>
        {isLater && (
          <small>
            <At at={job.starts_at} />
          </small>
        )}
      </td>
      <td class="r">
        {n(have(job.counts))} of {n(job.recipients)}
        <What {...job.counts} />
      </td>
      <td class="x">
        <Progress counts={job.counts} />
        <Why failures={job.failures} />
      </td>
      <td class="r x nw">
        <Ago at={job.created_at} />
      </td>
    </tr>
  )
}

const SumRow = ({ sum }: { readonly sum: Sum }) => (
  <tr class="row" data-row>
    <td>
      <a class="name" href={href("jobs", { reference: sum.reference, account_id: sum.account_id })}>
        {sum.reference}
      </a>
      <small>
        {sum.is_exact ? "" : "at least "}
        {count(sum.jobs, "job")}
      </small>
    </td>
    <td>
      {sum.completed_at !== null ? (
        <Chip tone="ok">Ended</Chip>
      ) : sum.counts.queued === sum.recipients ? (
        <Chip tone="wt">Waiting</Chip>
      ) : (
        <Chip tone="go">Under way</Chip>
      )}
    </td>
    <td class="r">
      {n(have(sum.counts))} of {n(sum.recipients)}
      <What {...sum.counts} />
    </td>
    <td class="x">
      <Progress counts={sum.counts} />
    </td>
    <td class="r x nw">
      <Ago at={sum.created_at} />
    </td>
  </tr>
)

const hasNames = { waiting: "wait", failed: "have failures", unknown: "have recipients of whom nobody knows" }

/** The filters of the address, as the API has them. */
const filterOf = () => ({
  has: paramOf("has", ["failed", "unknown", "waiting"]),
  status: paramOf("status", [
    "queued",
    "processing",
    "paused",
    "canceling",
    "canceled",
    "completed",
    "failed"
  ]),
  stuck: paramOf("stuck", ["true"]),
  group: paramOf("group", ["reference"]),
  code: param("code"),
  reference: param("reference"),
  account_id: param("account_id"),
  session_id: param("session_id"),
  template_id: param("template_id"),
  key: param("key"),
  created_after: param("created_after"),
  created_before: param("created_before"),
  completed_after: param("completed_after"),
  completed_before: param("completed_before"),
  cursor: param("cursor")
})

const numberOf = (text: string | undefined): number | undefined =>
  text === undefined || !/^\d{1,9}$/.test(text) ? undefined : Number(text)

const Sentence = ({
  isMore,
  items,
  what
}: {
  readonly items: ReadonlyArray<Pick<Job, "recipients" | "counts">>
  readonly isMore: boolean
  readonly what: string
}) => {
  const { code, has, reference } = filterOf()
  const failed = items.reduce((sum, { counts }) => sum + counts.failed, 0)
  const unknown = items.reduce((sum, { counts }) => sum + counts.unknown, 0)
  const waiting = items.reduce((sum, { counts }) => sum + counts.queued + counts.sending, 0)
  return (
    <Say>
      <b>
        {n(items.length)}
        {isMore ? " or more" : ""}
      </b>{" "}
      {items.length === 1 ? what : `${what}s`}
      {reference === undefined ? (
        ""
      ) : (
        <>
          {" "}
          of <b>{reference}</b>
        </>
      )}
      {has === undefined ? "" : ` that ${hasNames[has]}`}
      {code === undefined ? (
        ""
      ) : (
        <>
          {" "}
          with <b>{code}</b> (<a href={here({ code: undefined })}>any other, too</a>)
        </>
      )}
      , <b>{n(items.reduce((sum, { recipients }) => sum + recipients, 0))}</b> recipients here: {n(waiting)}{" "}
      wait, <span class={failed > 0 ? "bad" : ""}>{n(failed)} failed</span>,{" "}
      <span class={unknown > 0 ? "unk" : ""}>{n(unknown)} unknown</span>.
    </Say>
  )
}

interface Campaign {
  readonly account_id: string
  readonly reference: string
}

/** Another campaign of the same account; the address says which. */
const Other = ({ account_id, reference }: Campaign) => {
  const { data } = useAnswer(
    account_id,
    (init) =>
      api.GET("/admin/v1/jobs", {
        ...init,
        params: { query: { group: "reference", account_id, limit: 100 } }
      }),
    { every: 0 }
  )
  const others =
    data !== undefined && "references" in data
      ? data.references.filter((sum) => sum.reference !== reference)
      : []
  return others.length === 0 ? null : (
    <Choose
      label="Who got both, this and"
      name="other"
      all="Choose one"
      options={others.map((sum) => ({ value: sum.reference, text: sum.reference }))}
    />
  )
}

const MessageCell = ({ id, status }: { readonly id: string; readonly status: Status }) => (
  <td>
    <a class="l" href={href(`messages/${id}`)}>
      {statuses[status][1]}
    </a>
  </td>
)

const shown = 100

/** Who got both of two campaigns. */
const Both = ({ account_id, other, reference }: Campaign & { readonly other: string }) => {
  const asked = { reference, other }
  const answer = useAnswer(
    `${account_id} ${reference} ${other}`,
    (init) =>
      api.GET("/admin/v1/accounts/{id}/overlap", {
        ...init,
        params: { path: { id: account_id }, query: asked }
      }),
    { every: 30_000 }
  )
  return (
    <Screen
      title="Who got both"
      answer={answer}
      json={`/admin/v1/accounts/${encodeURIComponent(account_id)}/overlap?${new URLSearchParams(asked)}`}
      command={`sendwright jobs overlap ${account_id} --reference ${reference} --other ${other}`}
    >
      {({ overlap: { is_exact, people, recipients } }) => (
        <>
          <Head crumb={<a href={href("jobs", { account_id, reference })}>Jobs of {reference}</a>}>
            <h1>Who got both</h1>
          </Head>
          <Say>
            {is_exact ? "" : "At least "}
            <b>{count(recipients, "person", "people")}</b> got both <b>{reference}</b> and <b>{other}</b>.
          </Say>
          <div class="filters">
            <Other account_id={account_id} reference={reference} />
          </div>
          <div class="grid">
            <Card title="People" beside={recipients > shown ? `the first ${shown}` : ""}>
              {people.length === 0 ? (
                <Empty title="Nobody got both">
                  Whoever the platform accepted a message of both for would stand here.
                </Empty>
              ) : (
                <Table
                  label="Who got both"
                  columns={[{ text: "Who" }, { text: reference }, { text: other }]}
                  rows={people
                    .slice(0, shown)
                    .map(({ message_id, other_message_id, other_status, status, ...person }) => (
                      <tr class="row" data-row key={message_id}>
                        <td class="nw">{personOf(person)}</td>
                        <MessageCell id={message_id} status={status} />
                        <MessageCell id={other_message_id} status={other_status} />
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

export const Jobs = () => {
  const [account_id, other, reference] = [param("account_id"), param("other"), param("reference")]
  return account_id !== undefined && other !== undefined && reference !== undefined ? (
    <Both account_id={account_id} other={other} reference={reference} />
  ) : (
    <List />
  )
}

const List = () => {
  const filter = filterOf()
  const { cursor: _, ...named } = Object.fromEntries(
    Object.entries(filter).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))
  )
  const { code: _code, cursor: _cursor, group: _group, has: _has, ...counted } = filter
  const counts = useCounts(JSON.stringify(counted), (init) =>
    [undefined, "waiting" as const, "failed" as const, "unknown" as const].map((has) =>
      api.GET("/admin/v1/counts/jobs", {
        ...init,
        params: { query: { ...counted, has, template_id: numberOf(counted.template_id) } }
      })
    )
  )
  const answer = useAnswer(JSON.stringify(filter), (init) =>
    api.GET("/admin/v1/jobs", {
      ...init,
      params: { query: { limit: 50, ...filter, template_id: numberOf(filter.template_id) } }
    })
  )
  return (
    <Screen
      title="Jobs"
      answer={answer}
      json={`/admin/v1/jobs?${new URLSearchParams(named)}`}
      command={[
        "sendwright jobs list",
        ...Object.entries(named).map(([name, value]) => `--${name.replaceAll("_", "-")} ${value}`)
      ].join(" ")}
    >
      {(data) => {
        const isGrouped = "references" in data
        const items = isGrouped ? data.references : data.jobs
        return (
          <>
            <h1 class="sr">Jobs</h1>
            <Sentence
              items={items}
              isMore={data.next_cursor !== null}
              what={isGrouped ? "campaign" : "job"}
            />
            <div class="filters">
              <Choices
                label="Which jobs"
                name="has"
                of={[
                  ["", "All", counts[0]],
                  ["waiting", "Waiting", counts[1]],
                  ["failed", "With failures", counts[2]],
                  ["unknown", "Unknown outcomes", counts[3]]
                ]}
              />
              <Choices
                label="One by one, or by reference"
                name="group"
                of={[
                  ["", "Jobs"],
                  ["reference", "By reference"]
                ]}
              />
              {filter.account_id !== undefined && filter.reference !== undefined && !isGrouped && (
                <Other account_id={filter.account_id} reference={filter.reference} />
              )}
            </div>
            <div class="grid">
              <Card title={isGrouped ? "By reference" : "Jobs"} beside="newest first">
                {items.length === 0 ? (
                  <Empty
                    title={data.looked_at === null ? "No such job" : "None of those that were looked at"}
                  >
                    {data.looked_at === null
                      ? "Take a filter away, or send the first one: docs/first-send.md takes five minutes."
                      : `${n(data.looked_at)} were looked at. Go on with the next page.`}
                  </Empty>
                ) : (
                  <Table
                    label="Jobs"
                    columns={columns}
                    rows={
                      isGrouped
                        ? data.references.map((sum) => (
                            <SumRow sum={sum} key={sum.account_id + sum.reference} />
                          ))
                        : data.jobs.map((job) => <JobRow job={job} key={job.job_id} />)
                    }
                  />
                )}
                <Pager next={data.next_cursor} />
              </Card>
            </div>
          </>
        )
      }}
    </Screen>
  )
}
