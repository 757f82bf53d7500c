import { api, may, type Schemas } from "../base/api.ts"
import { useAnswer } from "../base/live.ts"
import { accountOf } from "../base/names.ts"
import { href, param } from "../base/place.ts"
import { Ago, At } from "../base/time.tsx"
import { count, n, type Tone } from "../base/words.ts"
import { Act } from "../ui/Acts.tsx"
import { Card, Chip, Choices, Code, Empty, Facts, Pager, Say, Table } from "../ui/Parts.tsx"
import { Head, Screen } from "../ui/Screen.tsx"
import { Keys } from "./Access.tsx"

type Session = Schemas["Session"]

/** The platform's own end of time. */
const forGood = "9999"

const stateOf = (session: Session): readonly [tone: Tone, word: string, since: string | null] => {
  if (session.state === "disconnected") return ["bd", "Disconnected", session.updated_at]
  if (session.state === "connecting") return ["wt", "Connecting", session.updated_at]
  if (session.unavailable_since !== null) return ["bd", "No answer", session.unavailable_since]
  if (session.blocked_until !== null) return ["bd", "Blocked", session.updated_at]
  return ["ok", "May send", session.connected_since]
}

const why: Readonly<Record<string, string>> = {
  never_connected: "It was never connected.",
  operator: "An operator disconnected it.",
  provider_blocked: "The platform blocked it.",
  platform_restriction: "The platform restricts it.",
  same_failure: "Its messages all failed alike, so nothing more is sent."
}
const reasonOf = ({ block_code, block_reason, reason, unavailable_since }: Session): string | null => {
  if (reason !== null) return why[reason] ?? reason.replaceAll("_", " ")
  if (block_reason !== null) return `${why[block_reason]}${block_code === null ? "" : ` (${block_code})`}`
  return unavailable_since === null ? null : "Its platform does not answer, or cannot be reached from here."
}

const paceOf = ({ pacing: { messages_per_second: pace } }: Session): string =>
  pace === null ? "no limit" : `${n(pace)} a second`

const Row = ({ session }: { readonly session: Session }) => {
  const [tone, word, since] = stateOf(session)
  return (
    <tr class="row" data-row>
      <td>
        <a class="name" href={href(`sessions/${session.id}`)}>
          {session.name}
        </a>
        <small>
          {accountOf(session.account_id)} · {session.provider}
        </small>
      </td>
      <td>
        <Chip tone={tone}>{word}</Chip>
      </td>
      <td class="x">{reasonOf(session)}</td>
      <td class="r x nw">{paceOf(session)}</td>
      <td class="r nw">
        <Ago at={since} />
      </td>
    </tr>
  )
}

const Sentence = ({ down, of }: { readonly of: ReadonlyArray<Session>; readonly down: boolean }) => {
  const wrong = of.filter((session) => stateOf(session)[0] !== "ok").length
  if (of.length === 0) return <Say>{down ? "Every session may send." : "There is no session yet."}</Say>
  return (
    <Say>
      <b>{n(of.length - wrong)}</b> of {count(of.length, "session")} may send.{" "}
      {wrong > 0 && (
        <>
          <span class="bad">{n(wrong)} may not</span>: what is for {wrong === 1 ? "it" : "them"} waits, and
          nobody fails because of it.
        </>
      )}
    </Say>
  )
}

export const Sessions = () => {
  const cursor = param("cursor")
  const down = param("down") === "true"
  const answer = useAnswer(`${down} ${cursor}`, (init) =>
    api.GET("/admin/v1/sessions", {
      ...init,
      params: { query: { limit: 50, cursor, down: down ? "true" : undefined } }
    })
  )
  return (
    <Screen
      title="Sessions"
      answer={answer}
      json={`/admin/v1/sessions${down ? "?down=true" : ""}`}
      command={`sendwright sessions all${down ? " --down true" : ""}`}
    >
      {({ next_cursor, sessions }) => (
        <>
          <h1 class="sr">Sessions</h1>
          <Sentence of={sessions} down={down} />
          <Choices
            label="Which sessions"
            name="down"
            of={[
              ["", "All"],
              ["true", "Those that may not send"]
            ]}
          />
          <div class="grid">
            <Card title="Sessions" beside="newest first">
              {sessions.length === 0 ? (
                <Empty title={down ? "All of them may send" : "No session yet"}>
                  {down ? (
                    "Nothing has to be done here."
                  ) : (
                    <>
                      A session is an account's connection to a platform:{" "}
                      <Code>sendwright sessions create</Code>.
                    </>
                  )}
                </Empty>
              ) : (
                <Table
                  label="Sessions"
                  columns={[
                    { text: "Session" },
                    { text: "State" },
                    { text: "Why", kind: "x" },
                    { text: "Pace", kind: "r x" },
                    { text: "Since", kind: "r" }
                  ]}
                  rows={sessions.map((session) => <Row session={session} key={session.id} />)}
                />
              )}
              <Pager next={next_cursor} />
            </Card>
          </div>
        </>
      )}
    </Screen>
  )
}

const Acts = ({
  refresh,
  session,
  tag
}: {
  readonly session: Session
  readonly tag: string | null
  readonly refresh: () => void
}) => {
  const path = { params: { path: { id: session.id } } }
  const after = async <Done,>(done: Promise<Done>): Promise<Done> => {
    const answer = await done
    refresh()
    return answer
  }
  const { messages_per_second: pace } = session.pacing
  return (
    <>
      <Act
        label="Set its pace…"
        title="How fast may it send?"
        confirm="Set it"
        done="Its pace is set."
        fields={[
          {
            name: "pace",
            label: "Messages a second",
            value: pace === null ? "" : String(pace),
            optional: true,
            hint: "Empty: no limit."
          }
        ]}
        tag={tag}
        run={({ pace = "" }, match) =>
          after(
            api.PATCH("/admin/v1/sessions/{id}", {
              ...path,
              ...match,
              body: { pacing: { messages_per_second: pace === "" ? null : Number(pace) } }
            })
          )
        }
      />
      {session.blocked_until !== null && (
        <Act
          label="End the block…"
          title="Send over it again?"
          confirm="End the block"
          done="The block is ended."
          tag={tag}
          run={(_, match) =>
            after(
              // The client's types leave away a member that can only be null.
              api.PATCH("/admin/v1/sessions/{id}", {
                ...path,
                ...match,
                body: {},
                bodySerializer: () => JSON.stringify({ blocked_until: null })
              })
            )
          }
        >
          <p>{reasonOf(session)} A platform that still does so says so again, and it is blocked again.</p>
        </Act>
      )}
      {(session.state !== "connected" || session.unavailable_since !== null) && (
        <Act
          label="Connect…"
          title={`Connect ${session.name}?`}
          confirm="Ask the platform"
          tone="p"
          done="The platform was asked."
          run={() => after(api.POST("/admin/v1/sessions/{id}/connect", path))}
        >
          <p>
            The platform is asked first. Where it does not know us the session stays as it is, and says why.
            What waits for it goes on then.
          </p>
        </Act>
      )}
      {session.state === "connected" && (
        <Act
          label="Disconnect…"
          title={`Disconnect ${session.name}?`}
          confirm="Disconnect"
          tone="d"
          done="It is disconnected."
          run={() => after(api.POST("/admin/v1/sessions/{id}/disconnect", path))}
        >
          <p>Its jobs are held, and requests with its keys are refused, until somebody connects it again.</p>
        </Act>
      )}
    </>
  )
}

const Limits = ({ session }: { readonly session: Session }) => (
  <Card title="Its limits">
    <Facts
      of={[
        ["Pace", paceOf(session)],
        [
          "To one person",
          session.pacing.pair_interval_ms === null ? null : `once in ${n(session.pacing.pair_interval_ms)} ms`
        ],
        [
          "Tries again for",
          session.retry_for === null
            ? "10 min for authentication, 24 h for the rest"
            : `${n(session.retry_for)} s`
        ],
        [
          "Closed markets",
          session.closed_markets === null
            ? "those of its provider"
            : session.closed_markets
                .map(({ category, prefixes }) => `${category} to ${prefixes.join(", ")}`)
                .join("; ") || "none"
        ],
        [
          "Opt-out words",
          session.keywords.opt_out === null
            ? "those that come with Sendwright"
            : session.keywords.opt_out.join(", ")
        ],
        [
          "Opt-in words",
          session.keywords.opt_in === null
            ? "those that come with Sendwright"
            : session.keywords.opt_in.join(", ")
        ]
      ]}
    />
  </Card>
)

const State = ({ session }: { readonly session: Session }) => (
  <Card title="Its state">
    <Facts
      of={[
        [
          "Account",
          <a class="l" href={href("usage", { account_id: session.account_id })}>
            {accountOf(session.account_id)}
          </a>
        ],
        ["Provider", session.provider],
        ["Connected since", session.connected_since === null ? null : <At at={session.connected_since} />],
        [
          "No answer since",
          session.unavailable_since === null ? null : <At at={session.unavailable_since} />
        ],
        ["Asked again", session.next_probe_at === null ? null : <At at={session.next_probe_at} />],
        [
          "Templates blocked until",
          session.blocked_until === null ? null : session.blocked_until.startsWith(forGood) ? (
            "somebody ends it"
          ) : (
            <At at={session.blocked_until} />
          )
        ],
        [
          "Direct messages blocked until",
          session.replies_blocked_until === null ? null : session.replies_blocked_until.startsWith(
              forGood
            ) ? (
            "somebody ends it"
          ) : (
            <At at={session.replies_blocked_until} />
          )
        ],
        ["Made", <At at={session.created_at} />],
        ["Changed", <At at={session.updated_at} />],
        ["Session", <Code>{session.id}</Code>]
      ]}
    />
  </Card>
)

export const SessionScreen = ({ id }: { readonly id: string }) => {
  const answer = useAnswer(id, (init) =>
    api.GET("/admin/v1/sessions/{id}", { ...init, params: { path: { id } } })
  )
  return (
    <Screen
      title={answer.data?.session.name ?? "Session"}
      answer={answer}
      json={`/admin/v1/sessions/${encodeURIComponent(id)}`}
      command={`sendwright sessions show ${id}`}
    >
      {({ session }) => {
        const [tone, word, since] = stateOf(session)
        return (
          <>
            <Head
              crumb={<a href={href("sessions")}>Sessions</a>}
              acts={may("admin") && <Acts session={session} refresh={answer.refresh} tag={answer.tag} />}
            >
              <h1>{session.name}</h1>
              <Chip tone={tone}>{word}</Chip>
            </Head>
            <Say>
              <span class={tone === "ok" ? "ok" : "bad"}>
                {tone === "ok" ? "It may send" : "It may not send"}
              </span>
              , since <Ago at={since} />. {reasonOf(session)}
              {session.next_probe_at !== null && (
                <>
                  {" "}
                  One message asks the platform again{" "}
                  <b>
                    <Ago at={session.next_probe_at} />
                  </b>
                  ; the others wait, and nobody fails because of it.
                </>
              )}
            </Say>
            <div class="choices">
              <a href={href("jobs", { session_id: id, has: "waiting" })}>Jobs that wait for it</a>
              <a href={href("jobs", { session_id: id, has: "failed" })}>Jobs with failures</a>
              <a href={href("templates", { session_id: id })}>Its templates</a>
              <a href={href("doubts", { session_id: id })}>What it did not understand</a>
              <a href={href("access", { show: "audit", target: id })}>Who changed it</a>
            </div>
            <div class="grid g2 top2">
              <div class="side">
                <Keys sessionId={id} />
              </div>
              <div class="side">
                <State session={session} />
                <Limits session={session} />
              </div>
            </div>
          </>
        )
      }}
    </Screen>
  )
}
