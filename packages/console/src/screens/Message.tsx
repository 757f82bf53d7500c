import { api, may, type Schemas } from "../base/api.ts"
import { useAnswer } from "../base/live.ts"
import { href, screenOf } from "../base/place.ts"
import { At, dayOf, shortOf, spanOf, Told, timeOf, zoneName } from "../base/time.tsx"
import { limiterOf, personOf, phoneOf, shortId, statuses, type Tone, textsOf } from "../base/words.ts"
import { Act } from "../ui/Acts.tsx"
import { copyMarkdown } from "../ui/Markdown.ts"
import { Card, Chip, Code, Deliveries, Facts, Say } from "../ui/Parts.tsx"
import { Bubble } from "../ui/Phone.tsx"
import { Head, Screen } from "../ui/Screen.tsx"

type Story = Schemas["Timeline"]
type Message = Schemas["TimelineMessage"]
type Entry = Schemas["TimelineEntry"]

/** The attempt that the platform took; none of it where nobody knows. */
const takenAt = (timeline: ReadonlyArray<Entry>): string | undefined =>
  timeline.findLast(({ kind, outcome }) => kind === "attempt" && outcome === "accepted")?.at

const msBetween = (from: string, to: string): number => new Date(to).getTime() - new Date(from).getTime()

/** Waits that matter to somebody who asks why it took so long. */
const longest = (timeline: ReadonlyArray<Entry>): Entry | undefined =>
  timeline
    .filter(({ kind, ms }) => kind === "waited" && ms !== null && ms > 1000)
    .toSorted((a, b) => (b.ms ?? 0) - (a.ms ?? 0))[0]

const lower = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1)

const Late = ({ timeline }: { readonly timeline: ReadonlyArray<Entry> }) => {
  const wait = longest(timeline)
  if (wait?.ms === undefined || wait.ms === null) return null
  return (
    <>
      {" "}
      It waited <span class="wait">{spanOf(wait.ms, 2)}</span>: {lower(limiterOf(wait.limiter ?? ""))}.
    </>
  )
}

const Cost = ({ message: { actual, currency, estimated } }: { readonly message: Message }) =>
  actual !== null && Number(actual) > 0 ? (
    <>
      {" "}
      It cost{" "}
      <b>
        {actual} {currency}
      </b>
      .
    </>
  ) : estimated !== null && actual === null ? (
    <>
      {" "}
      It costs{" "}
      <b>
        {estimated} {currency}
      </b>{" "}
      by the rate card when it arrives.
    </>
  ) : null

/** The receipt that tells of the status that it has. */
const since = ({ message, timeline }: Story): string | undefined => {
  const title: Readonly<Record<string, RegExp>> = { delivered: /^Delivered/, read: /^Read/, sent: /^Sent/ }
  const pattern = title[message.status]
  return pattern === undefined
    ? takenAt(timeline)
    : timeline.find((each) => each.kind === "receipt" && pattern.test(each.title))?.at
}

const Answer = ({ story }: { readonly story: Story }) => {
  const { message, next, timeline } = story
  const { error, status } = message
  const at = since(story)
  const wait = next.find(({ action }) => action === "wait")
  const when =
    at === undefined ? null : (
      <>
        , at <b>{timeOf(at)}</b> on {dayOf(at)}
      </>
    )
  switch (status) {
    case "read":
    case "delivered":
      return (
        <Say>
          <span class="ok">{status === "read" ? "Delivered and read" : "Delivered"}</span>
          {when}.
          <Late timeline={timeline} />
          <Cost message={message} />
        </Say>
      )
    case "failed":
    case "skipped":
      return (
        <Say>
          <span class="bad">{status === "failed" ? "It did not arrive" : "It was not sent"}</span>:{" "}
          {error?.message ?? "no reason is known."}{" "}
          {status === "failed" &&
            (error?.permanent ? "It would fail again." : "That may be different next time.")}
          <Late timeline={timeline} />
        </Say>
      )
    case "unknown":
      return (
        <Say>
          <span class="unk">Nobody knows whether it arrived.</span> {error?.message} A late receipt settles
          it; to send it again may bring it twice.
        </Say>
      )
    case "canceled":
      return (
        <Say>
          It was <b>canceled</b> before it was sent.
        </Say>
      )
    default:
      return (
        <Say>
          <b>
            {status === "queued"
              ? "It waits"
              : status === "sending"
                ? "It is on its way"
                : "The platform has it"}
          </b>
          {status === "queued" || status === "sending" ? "" : when}.{" "}
          <Told text={wait?.allowed === true ? wait.why : ""} />
          <Late timeline={timeline} />
          <Cost message={message} />
        </Say>
      )
  }
}

interface Span {
  readonly tone: Tone
  readonly text: string
  readonly from: string
  readonly to: string
}

/** From its acceptance to its last receipt, each wait by itself. */
const spansOf = (timeline: ReadonlyArray<Entry>): ReadonlyArray<Span> => {
  const [first] = timeline
  if (first === undefined) return []
  const spans: Array<Span> = []
  let at = first.at
  const until = (to: string, tone: Tone, text: string) => {
    if (to > at) spans.push({ tone, text, from: at, to })
    if (to > at) at = to
  }
  for (const { at: when, kind, limiter, ms, outcome, title, until: end } of timeline) {
    if (kind === "waited" && end && end > at) {
      until(when, "go", "Accepted")
      until(end, "wt", `${spanOf(ms ?? msBetween(when, end), 2)}: ${lower(limiterOf(limiter ?? ""))}`)
    } else if (kind === "attempt") {
      until(when, "go", spans.length === 0 ? "Accepted" : outcome === "accepted" ? "Taken" : "Tried again")
    } else if (kind === "receipt")
      until(when, /^(Delivered|Read)/.test(title) ? "ok" : "go", title.replace(/ by the platform$/, ""))
  }
  return spans
}

const Spans = ({ timeline }: { readonly timeline: ReadonlyArray<Entry> }) => {
  const spans = spansOf(timeline)
  const [first] = spans
  const last = spans.at(-1)
  if (first === undefined || last === undefined || msBetween(first.from, last.to) < 1000) return null
  return (
    <>
      <div class="span" aria-hidden="true">
        {spans.map(({ from, text, to, tone }) => (
          <div
            class={tone}
            style={{ flexGrow: msBetween(from, to) }}
            title={`${text}, ${spanOf(msBetween(from, to), 2)}`}
            key={from + text}
          >
            {text}
          </div>
        ))}
      </div>
      <div class="ticks" aria-hidden="true">
        <span>{shortOf(first.from)}</span>
        <span>{spanOf(msBetween(first.from, last.to), 2)} in all</span>
        <span>{shortOf(last.to)}</span>
      </div>
    </>
  )
}

const toneOf = ({ answer, code, kind, outcome, title }: Entry): Tone => {
  switch (kind) {
    case "attempt":
      return outcome === "accepted"
        ? "ok"
        : outcome === "retried"
          ? "wt"
          : outcome === "unknown"
            ? "uk"
            : "bd"
    case "receipt":
      return code === null ? "ok" : "bd"
    case "webhook":
      return answer !== null && answer !== undefined && answer < 300 ? "ok" : "wt"
    case "consent":
      return /revoked|missing|no consent/i.test(title) ? "bd" : "ok"
    case "canceled":
      return "of"
    default:
      return "go"
  }
}

const Clock = ({ at }: { readonly at: string }) => (
  <time dateTime={at} title={shortOf(at)}>
    {timeOf(at)}
    <span class="ms">.{at.slice(20, 23)}</span>
  </time>
)

const Step = ({ entry }: { readonly entry: Entry }) => {
  const { at, code, kind, link, ms, process, text, title } = entry
  const isWait = kind === "waited"
  const to = link === null ? undefined : screenOf(link)
  return (
    <li class={isWait ? "gap" : toneOf(entry)}>
      {isWait ? <span /> : <Clock at={at} />}
      <span>{!isWait && <span class="pin" />}</span>
      <div class="what">
        <b>{isWait && ms !== null ? `${title}, ${spanOf(ms, 2)}` : title}</b>
        <p>
          <Told text={text} />
          {!isWait && ms !== null && <> Took {spanOf(ms)}.</>}
          {process !== null && (
            <>
              {" "}
              By the process <Code>{shortId(process)}</Code>.
            </>
          )}
          {code !== null && !isWait && <span class="code m"> {code}</span>}{" "}
          {to !== undefined && kind !== "accepted" && (
            <a class="l" href={to}>
              Look
            </a>
          )}
        </p>
      </div>
    </li>
  )
}

/** One webhook to the next says little; together they are one step, unless one of them is not answered. */
const Webhooks = ({ of }: { readonly of: ReadonlyArray<Entry> }) => {
  const waiting = of.filter(({ answer }) => answer === null || answer === undefined || answer >= 300)
  const [first] = of
  if (first === undefined) return null
  return (
    <li class={waiting.length === 0 ? "ok" : "wt"}>
      <Clock at={of.at(-1)?.at ?? first.at} />
      <span>
        <span class="pin" />
      </span>
      <div class="what">
        <b>
          {waiting.length === 0
            ? `${of.length === 1 ? "Its webhook was" : `All ${of.length} webhooks were`} answered`
            : `${waiting.length} of ${of.length} webhooks ${waiting.length === 1 ? "was" : "were"} not answered yet`}
        </b>
        <details>
          <summary>Which</summary>
          <ul>
            {of.map(({ answer, at, link, text, title }) => (
              <li key={link ?? at + title}>
                <a class="l" href={(link === null ? undefined : screenOf(link)) ?? href("webhooks")}>
                  {title}
                </a>{" "}
                <small class={answer !== null && answer !== undefined && answer < 300 ? "" : "wait"}>
                  <Told text={text} />
                </small>
              </li>
            ))}
          </ul>
        </details>
      </div>
    </li>
  )
}

const Happened = ({ timeline }: { readonly timeline: ReadonlyArray<Entry> }) => {
  const [first] = timeline
  const hooks = timeline.filter(({ kind }) => kind === "webhook")
  return (
    <Card
      title="What happened"
      beside={first === undefined ? undefined : `${dayOf(first.at)}, ${zoneName()}`}
    >
      <ol class="story">
        {timeline
          .filter(({ kind }) => kind !== "webhook")
          .map((entry) => (
            <Step entry={entry} key={entry.at + entry.kind + entry.title} />
          ))}
        <Webhooks of={hooks} />
      </ol>
    </Card>
  )
}

const Content = ({ message }: { readonly message: Message }) => {
  const { content, content_expired_at, is_erased, status, template } = message
  const name =
    template === null
      ? "a direct message"
      : `${template.name ?? template.template_id} (${template.language ?? "?"})`
  return (
    <Card title={status === "delivered" || status === "read" ? "What arrived" : "What it says"} beside={name}>
      {is_erased || content_expired_at !== null || content.body === null ? (
        <p>
          {is_erased
            ? "The person was erased, and what was said with them."
            : content_expired_at === null
              ? "Its content is not kept."
              : "Its content was deleted when its time to be kept was over."}
        </p>
      ) : (
        <Bubble
          header={content.header}
          body={content.body}
          footer={content.footer}
          buttons={content.buttons}
        />
      )}
    </Card>
  )
}

const consentNote = "It stands from now on, for what waits, too; another account's consent stays as it is."

const OptOut = ({ message }: { readonly message: Message }) => (
  <Act
    label="Record an opt-out…"
    title={`Send ${personOf(message)} nothing more?`}
    confirm="Record it"
    done="The opt-out is recorded."
    fields={[
      {
        name: "source",
        label: "How do you know?",
        value: "support",
        hint: "Such as: support, letter, call."
      },
      { name: "proof", label: "Proof", optional: true, hint: "A ticket, a reference: what shows it later." }
    ]}
    run={({ proof = "", source = "support" }) =>
      api.POST("/admin/v1/accounts/{id}/consents", {
        params: { path: { id: message.account_id } },
        body: {
          consents: [
            {
              ...(message.phone === null ? { user_id: message.user_id ?? "" } : { phone: message.phone }),
              status: "revoked",
              source,
              ...(proof === "" ? {} : { proof })
            }
          ]
        }
      })
    }
  >
    <p>
      A refusal of {message.account ?? "the account"}'s messages of every purpose. {consentNote}
    </p>
  </Act>
)

const SendAgain = ({
  message,
  refresh,
  why
}: {
  readonly message: Message
  readonly why: string
  readonly refresh: () => void
}) => {
  const isUnknown = message.status === "unknown"
  const { phone } = message
  if (phone === null) return null
  return (
    <Act
      label="Send again…"
      title={`Send it to ${phoneOf(phone)} again?`}
      confirm={isUnknown ? "Send it, maybe twice" : "Send it again"}
      done="It is sent again."
      tone={isUnknown ? "d" : ""}
      run={async () => {
        const done = await api.POST("/admin/v1/jobs/{id}/retry", {
          params: { path: { id: message.job_id } },
          body: { phones: [phone], statuses: isUnknown ? ["unknown"] : ["failed"] }
        })
        refresh()
        return done
      }}
    >
      <p>{why}</p>
      {isUnknown && (
        <p class="unk">
          <b>The platform may have it already: the person may get it twice.</b>
        </p>
      )}
    </Act>
  )
}

const ToDo = ({
  refresh,
  story: { message, next }
}: {
  readonly story: Story
  readonly refresh: () => void
}) => {
  const retry = next.find(({ action }) => action === "retry")
  return (
    <Card title="What you can do">
      <div class="do">
        {may("support") && retry?.allowed === true && (
          <SendAgain message={message} why={retry.why} refresh={refresh} />
        )}
        {retry !== undefined && (!retry.allowed || !may("support")) && (
          <>
            <button type="button" class="btn" disabled>
              Send again
            </button>
            <p>Not offered: {retry.allowed ? "your role reads alone." : retry.why}</p>
          </>
        )}
        <a class="btn" href={href("people", { q: message.phone ?? message.user_id })}>
          All of this person
        </a>
        {may("support") && !message.is_erased && <OptOut message={message} />}
        <button type="button" class="btn" onClick={copyMarkdown}>
          Copy for a ticket
        </button>
      </div>
    </Card>
  )
}

const Of = ({ story: { message, timeline } }: { readonly story: Story }) => {
  const accepted = timeline.find(({ kind }) => kind === "accepted")
  return (
    <Card title="Of what">
      <Facts
        of={[
          [
            "Job",
            <a class="l" href={href(`jobs/${message.job_id}`)}>
              {message.reference ?? shortId(message.job_id)}
            </a>
          ],
          [
            "Session",
            <a class="l" href={href(`sessions/${message.session_id}`)}>
              {message.session ?? shortId(message.session_id)}
            </a>
          ],
          ["Account", message.account],
          ["Priority", message.priority === "normal" ? null : message.priority],
          ...textsOf(message).map(([title, text]) => [title, <Code key={title}>{text}</Code>] as const),
          ["Message", <Code>{message.message_id}</Code>],
          ["Key", accepted?.key ? <Code>{accepted.key}</Code> : null],
          ["Request", accepted?.request_id ? <Code>{accepted.request_id}</Code> : null],
          ["Webhooks", <Deliveries about={message.message_id} />],
          ["Asked from", accepted?.address ? <Code>{accepted.address}</Code> : null],
          [
            "Content deleted",
            message.content_expired_at === null ? null : <At at={message.content_expired_at} />
          ]
        ]}
      />
    </Card>
  )
}

/** The whole story of one message to one person. */
export const MessageScreen = ({ id }: { readonly id: string }) => {
  const answer = useAnswer(id, (init) =>
    api.GET("/admin/v1/messages/{messageId}/timeline", { ...init, params: { path: { messageId: id } } })
  )
  const name = answer.data === undefined ? "Message" : personOf(answer.data.message)
  return (
    <Screen
      title={name}
      answer={answer}
      json={`/admin/v1/messages/${encodeURIComponent(id)}/timeline`}
      command={`sendwright messages story ${id}`}
    >
      {(story) => (
        <>
          <Head
            crumb={
              <>
                <a href={href("search")}>Messages</a> /{" "}
                <a href={href(`jobs/${story.message.job_id}`)}>
                  {story.message.reference ?? shortId(story.message.job_id)}
                </a>
              </>
            }
          >
            <h1>{name}</h1>
            <Chip tone={statuses[story.message.status][0]}>{statuses[story.message.status][1]}</Chip>
          </Head>
          <Answer story={story} />
          <Spans timeline={story.timeline} />
          <div class="grid g2 top2">
            <Happened timeline={story.timeline} />
            <div class="side">
              <Content message={story.message} />
              <Of story={story} />
              <ToDo story={story} refresh={answer.refresh} />
            </div>
          </div>
        </>
      )}
    </Screen>
  )
}
