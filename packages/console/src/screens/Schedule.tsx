import { api, type Schemas } from "../base/api.ts"
import { clock, useAnswer } from "../base/live.ts"
import { At, agoOf, dayOf, exactOf, minuteOf } from "../base/time.tsx"
import { count, n, shortId } from "../base/words.ts"
import { Bars } from "../ui/Charts.tsx"
import { Card, Chip, Empty, JobCell, Pager, Say, Table } from "../ui/Parts.tsx"
import { Screen } from "../ui/Screen.tsx"

type Job = Schemas["ToldJob"]

const hour = 3_600_000
const hours = 48

const Clock = ({ send_at }: Pick<Job, "send_at">) => {
  if (send_at === null || typeof send_at === "string") return <small>at one moment for all</small>
  const local = send_at.local.replace("T", " ")
  return (
    <small>
      {send_at.time_zone === "recipient"
        ? `${local} on each person's own clock`
        : `${local} in ${send_at.time_zone}`}
    </small>
  )
}

/** Hours from this one on, and who starts in each. */
const Hours = ({ jobs }: { readonly jobs: ReadonlyArray<Job> }) => {
  const first = Math.floor(clock.value / hour) * hour
  const bars = Array.from({ length: hours }, (_, at) => {
    const from = first + at * hour
    const within = jobs.filter(
      ({ starts_at }) => Date.parse(starts_at) >= from && Date.parse(starts_at) < from + hour
    )
    const recipients = within.reduce((sum, each) => sum + each.recipients, 0)
    return {
      title: `${exactOf(from)}: ${count(recipients, "recipient")}${within.length === 0 ? "" : ` of ${within.map(({ job_id, reference }) => reference ?? shortId(job_id)).join(", ")}`}`,
      label:
        at % 8 === 0
          ? `${at > 0 && minuteOf(from) < "08:00" ? `${dayOf(from).slice(0, 6)}, ` : ""}${minuteOf(from)}`
          : undefined,
      parts: [{ tone: "go" as const, value: recipients }]
    }
  })
  return (
    <Card
      title={`What starts in the next ${hours} hours`}
      beside="recipients by the hour in which their job starts"
    >
      <Bars bars={bars} label={`Recipients whose job starts, for each of the next ${hours} hours`} />
    </Card>
  )
}

/** What starts when. */
export const Schedule = () => {
  const answer = useAnswer("schedule", (init) =>
    api.GET("/admin/v1/jobs", { ...init, params: { query: { limit: 100, has: "waiting" } } })
  )
  return (
    <Screen
      title="Schedule"
      answer={answer}
      json="/admin/v1/jobs?has=waiting"
      command="sendwright jobs list --has waiting"
    >
      {(data) => {
        const jobs = ("jobs" in data ? data.jobs : [])
          .filter(({ starts_at }) => Date.parse(starts_at) > clock.value)
          .toSorted((a, b) => (a.starts_at < b.starts_at ? -1 : 1))
        const [next] = jobs
        const recipients = jobs.reduce((sum, each) => sum + each.recipients, 0)
        return (
          <>
            <h1 class="sr">Schedule</h1>
            <Say>
              {next === undefined ? (
                "Nothing is planned: what was accepted starts at once."
              ) : (
                <>
                  <b>{count(jobs.length, "job")}</b> for <b>{n(recipients)}</b> recipients{" "}
                  {jobs.length === 1 ? "starts" : "start"} later. The next is{" "}
                  <b>{next.reference ?? shortId(next.job_id)}</b>, {agoOf(next.starts_at)}.
                </>
              )}
            </Say>
            {jobs.length > 0 && (
              <div class="grid">
                <Hours jobs={jobs} />
              </div>
            )}
            <div class="grid">
              <Card title="Planned" beside="the next first">
                {jobs.length === 0 ? (
                  <Empty title="Nothing is planned">
                    A send with <code>send_at</code> starts later, at one moment or on each person's own
                    clock.
                  </Empty>
                ) : (
                  <Table
                    label="Planned jobs"
                    columns={[
                      { text: "Job" },
                      { text: "Starts" },
                      { text: "By whose clock", kind: "x" },
                      { text: "Recipients", kind: "r" }
                    ]}
                    rows={jobs.map((job) => (
                      <tr class="row" data-row key={job.job_id}>
                        <JobCell job={job} />
                        <td>
                          <At at={job.starts_at} />
                          <small>{agoOf(job.starts_at)}</small>
                        </td>
                        <td class="x">
                          <Clock send_at={job.send_at} />
                          {job.hours !== null && (
                            <Chip tone="wt">
                              only {job.hours.from} to {job.hours.to}
                            </Chip>
                          )}
                        </td>
                        <td class="r">{n(job.recipients)}</td>
                      </tr>
                    ))}
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
