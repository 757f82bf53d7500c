import { api, type Schemas } from "../base/api.ts"
import { clock, useAnswer } from "../base/live.ts"
import { param } from "../base/place.ts"
import { At, agoOf, exactOf, minuteOf, shortOf } from "../base/time.tsx"
import { count, n } from "../base/words.ts"
import { Bars } from "../ui/Charts.tsx"
import { Card, Chip, Choose, Empty, JobCell, Pager, Say, Table } from "../ui/Parts.tsx"
import { Screen } from "../ui/Screen.tsx"

type Job = Schemas["ToldJob"]
type Hour = Schemas["Schedule"]["hours"][number]
type Country = Hour["countries"][number]

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
const Hours = ({ of }: { readonly of: ReadonlyArray<Hour> }) => {
  const first = Math.floor(clock.value / hour) * hour
  const found = new Map(of.map((each) => [Date.parse(each.at), each]))
  const bars = Array.from({ length: hours }, (_, at) => {
    const from = first + at * hour
    const { countries, recipients } = found.get(from) ?? { countries: [], recipients: 0 }
    return {
      title: `${exactOf(from)}: ${count(recipients, "recipient")}${recipients === 0 ? "" : `, ${countries.map((each) => `${n(each.recipients)} in ${nameOf(each)}`).join(", ")}`}`,
      label: at % 8 === 0 ? (at > 0 && minuteOf(from) < "08:00" ? shortOf : minuteOf)(from) : undefined,
      parts: [{ tone: "go" as const, value: recipients }]
    }
  })
  return (
    <Card
      title={`Who starts in the next ${hours} hours`}
      beside="recipients by the hour in which they are due"
    >
      <Bars bars={bars} label={`Recipients who start, for each of the next ${hours} hours`} />
    </Card>
  )
}

const regions = new Intl.DisplayNames("en", { type: "region" })

const nameOf = ({ calling_code, country }: Country): string =>
  country === null
    ? calling_code === null
      ? "an unknown country"
      : `+${calling_code}`
    : (regions.of(country) ?? country)

interface Reached {
  readonly name: string
  readonly from: string
  readonly to: string
  readonly recipients: number
}

/** When the first and the last of each country start, the soonest first. */
const reachedOf = (all: ReadonlyArray<Hour>): ReadonlyArray<Reached> => {
  const found = new Map<string, Reached>()
  for (const { at, countries } of all)
    for (const each of countries) {
      const name = nameOf(each)
      const { from = at, recipients = 0 } = found.get(name) ?? {}
      found.set(name, { name, from, to: at, recipients: recipients + each.recipients })
    }
  return [...found.values()]
}

const Countries = ({ of }: { readonly of: ReadonlyArray<Reached> }) => (
  <Card title="When it reaches each country" beside="by the hour, the soonest first">
    <Table
      label="Countries"
      columns={[
        { text: "Country" },
        { text: "From" },
        { text: "To the hour of", kind: "x" },
        { text: "Recipients", kind: "r" }
      ]}
      rows={of.map(({ from, name, recipients, to }) => (
        <tr key={name}>
          <td class="name">{name}</td>
          <td>
            <At at={from} />
            <small>{agoOf(from)}</small>
          </td>
          <td class="x">
            <At at={to} />
          </td>
          <td class="r">{n(recipients)}</td>
        </tr>
      ))}
    />
  </Card>
)

/** What starts when. */
export const Schedule = () => {
  const reference = param("reference")
  const planned = useAnswer("planned", (init) =>
    api.GET("/admin/v1/jobs", { ...init, params: { query: { limit: 100, has: "waiting" } } })
  )
  // It counts recipients one by one, so that it is asked less often.
  const answer = useAnswer(
    `schedule ${reference}`,
    (init) => api.GET("/admin/v1/schedule", { ...init, params: { query: { reference } } }),
    { every: 10_000 }
  )
  const jobs = (planned.data !== undefined && "jobs" in planned.data ? planned.data.jobs : [])
    .filter(({ starts_at }) => Date.parse(starts_at) > clock.value)
    .toSorted((a, b) => (a.starts_at < b.starts_at ? -1 : 1))
  const references = [...new Set(jobs.flatMap((job) => job.reference ?? []))]
  return (
    <Screen
      title="Schedule"
      answer={answer}
      json={`/admin/v1/schedule${reference === undefined ? "" : `?${new URLSearchParams({ reference })}`}`}
      command={`sendwright jobs schedule${reference === undefined ? "" : ` --reference ${reference}`}`}
    >
      {({ schedule }) => {
        const countries = reachedOf(schedule.hours)
        const [first] = countries
        return (
          <>
            <h1 class="sr">Schedule</h1>
            <Say>
              {first === undefined ? (
                "Nobody waits for a time: what was accepted starts at once."
              ) : (
                <>
                  <b>
                    {n(countries.reduce((sum, each) => sum + each.recipients, 0))}
                    {schedule.is_exact ? "" : " or more"}
                  </b>{" "}
                  recipients
                  {reference !== undefined && (
                    <>
                      {" "}
                      of <b>{reference}</b>
                    </>
                  )}{" "}
                  start later, in {count(countries.length, "country", "countries")}. The first are in{" "}
                  <b>{first.name}</b>, {agoOf(first.from)}.
                </>
              )}
            </Say>
            {(references.length > 1 || reference !== undefined) && (
              <div class="filters">
                <Choose
                  label="Of"
                  name="reference"
                  all="everything that is planned"
                  options={references.map((value) => ({ value, text: value }))}
                />
              </div>
            )}
            {first !== undefined && (
              <div class="grid">
                <Hours of={schedule.hours} />
                <Countries of={countries} />
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
                <Pager next={planned.data?.next_cursor ?? null} />
              </Card>
            </div>
          </>
        )
      }}
    </Screen>
  )
}
