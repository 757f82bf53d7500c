import { useComputed, useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { api, apiLink, may, type Problem, problemOf, type Schemas } from "../base/api.ts"
import { useAnswer } from "../base/live.ts"
import { here, href, param, submitFilters } from "../base/place.ts"
import { Ago, At, shortOf, spanOf } from "../base/time.tsx"
import {
  allStatuses,
  count,
  jobStatuses,
  limiterOf,
  n,
  personOf,
  type Status,
  shortId,
  statuses,
  textsOf
} from "../base/words.ts"
import { Act, tell } from "../ui/Acts.tsx"
import { Card, Chip, Code, Deliveries, Empty, Facts, Say, Share, Table, Trouble } from "../ui/Parts.tsx"
import { Head, Screen } from "../ui/Screen.tsx"

type Job = Schemas["ToldJobDetail"]["job"]
type Result = Schemas["Result"]

const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

/** Those of one reason. A code can be permanent for one person and pass for another: it counts as permanent then. */
interface Reason {
  readonly code: string
  readonly message: string
  readonly status: "failed" | "unknown"
  readonly isPermanent: boolean
  readonly recipients: number
}

const reasonsOf = (results: ReadonlyArray<Result>): ReadonlyArray<Reason> => {
  const found = new Map<string, Reason>()
  for (const { error, status } of results) {
    if (error === null || (status !== "failed" && status !== "unknown")) continue
    const key = `${status} ${error.code}`
    const one = found.get(key)
    found.set(key, {
      code: error.code,
      message: one?.message ?? error.message,
      status,
      isPermanent: error.permanent || one?.isPermanent === true,
      recipients: (one?.recipients ?? 0) + 1
    })
  }
  const rank = ({ isPermanent, status }: Reason): number => (status === "unknown" ? 2 : isPermanent ? 1 : 0)
  return [...found.values()].sort((a, b) => rank(a) - rank(b) || b.recipients - a.recipients)
}

const Answer = ({ job, reasons }: { readonly job: Job; readonly reasons: ReadonlyArray<Reason> }) => {
  const { counts, expected_completion_at, recipients, waiting_for } = job
  const has = counts.delivered + counts.read
  const waits = counts.queued + counts.sending
  const passing = reasons.reduce(
    (sum, each) => sum + (each.status === "failed" && !each.isPermanent ? each.recipients : 0),
    0
  )
  return (
    <Say>
      <b>
        {n(has)} of {n(recipients)}
      </b>{" "}
      have it
      {waits > 0 && (
        <>
          , <b>{n(waits)}</b> wait{waiting_for === null ? "" : ` (${lower(limiterOf(waiting_for.limiter))})`}
          {expected_completion_at !== null && (
            <>
              {" "}
              and leave by <b>{shortOf(expected_completion_at)}</b> if nobody is before them
            </>
          )}
        </>
      )}
      .
      {counts.failed > 0 && (
        <>
          {" "}
          <span class="bad">{n(counts.failed)} failed</span>
          {passing > 0
            ? `, ${passing === counts.failed ? "all" : n(passing)} of them only for a moment`
            : ", for good"}
          .
        </>
      )}
      {counts.unknown > 0 && (
        <>
          {" "}
          <span class="unk">{n(counts.unknown)} may have it</span>, nobody knows.
        </>
      )}
      {counts.skipped > 0 && <> {n(counts.skipped)} were skipped.</>}
      {counts.canceled > 0 && <> {n(counts.canceled)} were canceled.</>}
    </Say>
  )
}

const squareOf = (status: Status): string => (status === "delivered" ? "okay" : statuses[status][0])

/** At most 250, so all of them are on the screen. */
const Squares = ({
  results,
  job,
  shown
}: {
  readonly job: Job
  readonly results: ReadonlyArray<Result>
  readonly shown: string | undefined
}) => (
  <Card title={`${count(job.recipients, "recipient")}, one square each`} beside="in the order of the request">
    <div class="dots">
      {results.map(({ error, message_id, status, ...person }, at) => {
        const title = `${at + 1}: ${personOf(person)}, ${lower(statuses[status][1])}${error === null ? "" : `: ${error.message}`}`
        return (
          <a
            href={href(`messages/${message_id}`)}
            class={`key ${squareOf(status)}`}
            data-off={shown !== undefined && shown !== status}
            title={title}
            key={message_id}
          >
            {title}
          </a>
        )
      })}
    </div>
    <nav class="counts" aria-label="Recipients by status">
      {allStatuses
        .filter((status) => job.counts[status] > 0)
        .map((status) => (
          <a
            href={here({ status: shown === status ? undefined : status })}
            aria-current={shown === status ? "true" : undefined}
            key={status}
          >
            <i class={`key ${squareOf(status)}`} />
            {statuses[status][1]}
            <b>{n(job.counts[status])}</b>
          </a>
        ))}
    </nav>
  </Card>
)

type Plan = {
  readonly retried: number
  readonly counted: {
    readonly estimates: ReadonlyArray<{
      readonly currency: string
      readonly total: string | null
      readonly complete: boolean
    }>
    readonly why: string | null
  }
}

const about = ({ isPermanent, status }: Reason): string =>
  status === "unknown"
    ? "They may get the message twice."
    : isPermanent
      ? "For good: they would fail again."
      : "For a moment: it may be different now."

const costOf = ({ counted: { estimates, why }, retried }: Plan): string => {
  if (retried === 0) return why ?? "Nobody is chosen."
  const sums = estimates.flatMap(({ complete, currency, total }) =>
    total === null ? [] : [`${total} ${currency}${complete ? "" : " and what has no price"}`]
  )
  return sums.length === 0 ? "What it costs is not known." : `Adds ${sums.join(" and ")} at most.`
}

/** First who needs somebody. */
const rankOf = ({ status }: Result): number => (status === "failed" ? 0 : status === "unknown" ? 1 : 2)

/** What would be sent again; nothing is preselected that would fail again or may come twice. */
const SendAgain = ({
  id,
  reasons,
  refresh
}: {
  readonly id: string
  readonly reasons: ReadonlyArray<Reason>
  readonly refresh: () => void
}) => {
  const nameOf = ({ code, status }: Reason) => `${status} ${code}`
  const touched = useSignal<Readonly<Record<string, boolean>>>({})
  const plan = useSignal<Plan | undefined>(undefined)
  const problem = useSignal<Problem | undefined>(undefined)
  const isBusy = useSignal(false)
  const isChosen = (reason: Reason) =>
    touched.value[nameOf(reason)] ?? (reason.status === "failed" && !reason.isPermanent)
  const chosen = reasons.filter(isChosen)
  const selection = {
    statuses: [...new Set(chosen.map(({ status }) => status))],
    codes: [...new Set(chosen.map(({ code }) => code))]
  }
  const key = JSON.stringify([selection, chosen.map(({ recipients }) => recipients)])
  const ask = (isDry: boolean) =>
    api.POST("/admin/v1/jobs/{id}/retry", {
      params: { path: { id } },
      body: { ...selection, dry_run: isDry }
    })
  useEffect(() => {
    plan.value = undefined
    if (chosen.length === 0) return
    let isCurrent = true
    ask(true).then(
      ({ data, error, response }) => {
        if (!isCurrent) return
        plan.value = data
        problem.value = data === undefined ? problemOf(error, response.status) : undefined
      },
      () => {}
    )
    return () => {
      isCurrent = false
    }
  }, [key])
  const isTwice = useComputed(() =>
    reasons.some((reason) => reason.status === "unknown" && touched.value[nameOf(reason)] === true)
  )
  const send = async () => {
    isBusy.value = true
    const { data, error, response } = await ask(false)
    problem.value = data === undefined ? problemOf(error, response.status) : undefined
    if (data !== undefined) {
      tell(`${count(data.retried, "recipient")} will be sent to again.`)
      touched.value = {}
    }
    isBusy.value = false
    refresh()
  }
  return (
    <Card title="Send again" beside="nothing happens yet" kind="plan">
      {reasons.length === 0 ? (
        <Empty title="Nobody to send to again">Nobody failed, and of nobody is it unknown.</Empty>
      ) : (
        <>
          {reasons.map((reason) => (
            <label key={nameOf(reason)}>
              <input
                type="checkbox"
                checked={isChosen(reason)}
                onChange={(event) => {
                  touched.value = { ...touched.value, [nameOf(reason)]: event.currentTarget.checked }
                }}
              />
              <span>
                <span class={reason.status === "unknown" ? "unk" : ""}>{reason.message}</span>
                <small>
                  <span class="m">{reason.code}</span> · {about(reason)}
                </small>
              </span>
              <span class="n">{n(reason.recipients)}</span>
            </label>
          ))}
          {problem.value !== undefined && <Trouble problem={problem.value} />}
          <footer>
            <span>
              {chosen.length === 0
                ? "Nobody is chosen."
                : plan.value === undefined
                  ? "Counting …"
                  : costOf(plan.value)}
            </span>
            <button
              type="button"
              class={`btn ${isTwice.value ? "d" : "p"}`}
              disabled={isBusy.value || plan.value === undefined || plan.value.retried === 0}
              onClick={() => void send()}
            >
              {plan.value === undefined || plan.value.retried === 0
                ? "Send again"
                : `Send ${n(plan.value.retried)} again${isTwice.value ? ", some maybe twice" : ""}`}
            </button>
          </footer>
        </>
      )}
    </Card>
  )
}

const digitsOf = (text: string): string => text.replace(/\D/g, "")

const Results = ({
  results,
  shown
}: {
  readonly results: ReadonlyArray<Result>
  readonly shown: string | undefined
}) => {
  const find = param("find") ?? ""
  const number = digitsOf(find)
  const isFound = (result: Result): boolean =>
    find === "" ||
    textsOf(result).some(([, text]) => text === find) ||
    result.market?.toLowerCase() === find.toLowerCase() ||
    (number !== "" && digitsOf(result.phone ?? "").startsWith(number))
  const newest = results
    .filter((result) => (shown === undefined || result.status === shown) && isFound(result))
    .toSorted((a, b) => rankOf(a) - rankOf(b) || (a.updated_at < b.updated_at ? 1 : -1))
  const most = param("all") === undefined ? 25 : 250
  return (
    <Card
      title="Results"
      beside={`${shown === undefined && find === "" ? "" : `${count(newest.length, "recipient")}, `}who needs somebody first, then the newest change`}
    >
      {results.length > 25 && (
        <form class="filters inside" onSubmit={submitFilters}>
          <div class="choose">
            <label for="find">A number's beginning, your own id of somebody, or a market</label>
            <input id="find" name="find" defaultValue={find} placeholder="+55" key={find} />
          </div>
          <button type="submit" class="btn">
            Find
          </button>
        </form>
      )}
      <Table
        label="Results"
        columns={[
          { text: "Who" },
          { text: "Status" },
          { text: "Attempts", kind: "r x" },
          { text: "Why", kind: "x" },
          { text: "Since", kind: "r" }
        ]}
        rows={newest.slice(0, most).map((result) => {
          const [tone, word] = statuses[result.status]
          return (
            <tr class="row" data-row key={result.message_id}>
              <td class="nw">
                <a class="name" href={href(`messages/${result.message_id}`)}>
                  {personOf(result)}
                </a>
                <small>
                  {textsOf(result)
                    .map(([, text]) => text)
                    .join(" · ")}
                </small>
              </td>
              <td>
                <Chip tone={tone}>{word}</Chip>
              </td>
              <td class="r x">{result.attempts}</td>
              <td class="x">{result.error?.message}</td>
              <td class="r nw">
                <Ago at={result.updated_at} />
              </td>
            </tr>
          )
        })}
      />
      {newest.length > most && (
        <nav class="pager" aria-label="Pages">
          <a href={here({ all: "yes" })}>All {n(newest.length)}</a>
        </nav>
      )}
    </Card>
  )
}

const Limits = ({ job }: { readonly job: Job }) => {
  const { counts, pace, pause_reason, send_at, starts_at, stop_when, hours, expires_at, waiting_for } = job
  const waits = counts.queued + counts.sending
  if (waits === 0) return null
  return (
    <Card title="What limits it" beside={`${n(waits)} wait`}>
      <Facts
        of={[
          ["Waits for", waiting_for === null ? null : limiterOf(waiting_for.limiter)],
          ["Until", waiting_for?.until ? <At at={waiting_for.until} /> : null],
          ["Held because", pause_reason === null ? null : pause_reason.replaceAll("_", " ")],
          ["Starts", send_at === null ? null : <At at={starts_at} />],
          [
            "By the clock of",
            send_at !== null && typeof send_at === "object"
              ? `${send_at.time_zone === "recipient" ? "each person" : send_at.time_zone}, ${send_at.local.replace("T", " ")}`
              : null
          ],
          ["Hours", hours === null ? null : `${hours.from} to ${hours.to}`],
          ["Expires", typeof expires_at === "string" ? <At at={expires_at} /> : (expires_at?.local ?? null)],
          ["Pace", pace === null ? "as fast as its session" : `${n(pace.per_minute)} a minute`],
          [
            "Stops when",
            stop_when === null
              ? null
              : `${stop_when.failed_percent} % of the first ${n(stop_when.of_first)} ${stop_when.over === "reference" ? "of its reference " : ""}failed`
          ]
        ]}
      />
      <div class="inside">
        <Share of={1 - waits / job.recipients} />
        <small>
          {n(job.recipients - waits)} of {n(job.recipients)} were tried
        </small>
      </div>
    </Card>
  )
}

const isEnded = (status: Job["status"]): boolean =>
  ["completed", "failed", "canceled", "canceling"].includes(status)

const Acts = ({ job, refresh }: { readonly job: Job; readonly refresh: () => void }) => {
  const { counts, job_id, status } = job
  const waits = counts.queued
  const path = { params: { path: { id: job_id } } }
  const after = async <Done,>(done: Promise<Done>): Promise<Done> => {
    const answer = await done
    refresh()
    return answer
  }
  return (
    <>
      <a
        class="btn"
        href={apiLink("/admin/v1/export/results", { job_id, format: "csv" })}
        download={`job-${job_id}.csv`}
      >
        Export
      </a>
      {may("support") && !isEnded(status) && (
        <>
          {status === "paused" && job.pause_reason === "client" ? (
            <Act
              label="Go on…"
              title="Let the job go on?"
              confirm="Go on"
              done="It goes on."
              run={() => after(api.POST("/admin/v1/jobs/{id}/resume", path))}
            >
              <p>{count(waits, "recipient")} will be sent to, as its pace and its session let it.</p>
            </Act>
          ) : (
            <Act
              label="Pause…"
              title="Hold the job?"
              confirm="Hold it"
              done="It is held."
              run={() => after(api.POST("/admin/v1/jobs/{id}/pause", path))}
            >
              <p>
                Of {count(waits, "recipient")} nobody is tried until somebody lets it go on. What is on its
                way finishes.
              </p>
            </Act>
          )}
          <Act
            label={`Cancel the ${n(waits)} that wait…`}
            title={`Cancel ${count(waits, "message")}?`}
            confirm={`Cancel ${n(waits)}`}
            tone="d"
            done="They are canceled."
            run={() => after(api.POST("/admin/v1/jobs/{id}/cancel", path))}
          >
            <p>
              They are never sent. That is final: a canceled job cannot be sent again. What is on its way
              finishes.
            </p>
          </Act>
        </>
      )}
    </>
  )
}

const Of = ({ job }: { readonly job: Job }) => (
  <Card title="Of what">
    <Facts
      of={[
        [
          "Template",
          <a class="l" href={href(`templates/${job.template.template_id}`)}>
            {job.template.name} ({job.template.language})
          </a>
        ],
        [
          "Session",
          <a class="l" href={href(`sessions/${job.session_id}`)}>
            {job.session ?? shortId(job.session_id)}
          </a>
        ],
        ["Account", job.account],
        ["Key", <Code>{job.key}</Code>],
        ["Idempotency", job.idempotency_key === null ? null : <Code>{job.idempotency_key}</Code>],
        ["Request", job.request_id === null ? null : <Code>{job.request_id}</Code>],
        ["Webhooks", <Deliveries about={job.job_id} />],
        ["Job", <Code>{job.job_id}</Code>],
        ["Accepted", <At at={job.created_at} />],
        ["Ended", job.completed_at === null ? null : <At at={job.completed_at} />],
        [
          "Took",
          job.completed_at === null
            ? null
            : spanOf(new Date(job.completed_at).getTime() - new Date(job.created_at).getTime(), 2)
        ],
        ["Estimated", job.estimated_cost === null ? null : `${job.estimated_cost} ${job.currency}`],
        ["Cost", job.actual_cost === null ? null : `${job.actual_cost} ${job.currency}`]
      ]}
    />
  </Card>
)

const Failures = ({ reasons }: { readonly reasons: ReadonlyArray<Reason> }) =>
  reasons.length === 0 ? null : (
    <Card title="Why they failed" beside={n(reasons.reduce((sum, { recipients }) => sum + recipients, 0))}>
      <table aria-label="Why they failed">
        <tbody>
          {reasons.map((reason) => (
            <tr key={reason.status + reason.code}>
              <td>
                {reason.message}
                <small>
                  <span class="m">{reason.code}</span> · {about(reason)}
                </small>
              </td>
              <td class="r">
                <b>{n(reason.recipients)}</b>
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </Card>
  )

/** A job, recipient by recipient. */
export const JobScreen = ({ id }: { readonly id: string }) => {
  const answer = useAnswer(id, (init) =>
    api.GET("/admin/v1/jobs/{id}", { ...init, params: { path: { id }, query: { limit: 250 } } })
  )
  const shown = allStatuses.find((status) => status === param("status"))
  const { data } = answer
  return (
    <Screen
      title={data?.job.reference ?? "Job"}
      answer={answer}
      json={`/admin/v1/jobs/${encodeURIComponent(id)}?limit=250`}
      command={`sendwright jobs show ${id}`}
    >
      {({ job }) => {
        const reasons = reasonsOf(job.results)
        const [tone, word] = jobStatuses[job.status]
        return (
          <>
            <Head
              crumb={
                <>
                  <a href={href("jobs")}>Jobs</a>
                  {job.reference !== null && (
                    <>
                      {" / "}
                      <a href={href("jobs", { reference: job.reference, account_id: job.account_id })}>
                        all of {job.reference}
                      </a>
                    </>
                  )}
                </>
              }
              acts={<Acts job={job} refresh={answer.refresh} />}
            >
              <h1>{job.reference ?? shortId(job.job_id)}</h1>
              <Chip tone={tone}>{word}</Chip>
            </Head>
            <Answer job={job} reasons={reasons} />
            <div class="grid g2">
              <Squares job={job} results={job.results} shown={shown} />
              {may("support") && !["canceled", "canceling"].includes(job.status) ? (
                <SendAgain id={job.job_id} reasons={reasons} refresh={answer.refresh} />
              ) : (
                <Failures reasons={reasons} />
              )}
            </div>
            <div class="grid g2 top2">
              <Results results={job.results} shown={shown} />
              <div class="side">
                <Limits job={job} />
                <Of job={job} />
              </div>
            </div>
          </>
        )
      }}
    </Screen>
  )
}
