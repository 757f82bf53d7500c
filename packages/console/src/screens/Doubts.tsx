import { api, may, problemOf, type Schemas } from "../base/api.ts"
import { type Asked, type Init, together, useAnswer } from "../base/live.ts"
import { accountOf, accounts, sessionOf, sessions } from "../base/names.ts"
import { href, param } from "../base/place.ts"
import { Ago } from "../base/time.tsx"
import { count, n, personOf } from "../base/words.ts"
import { type Done, tell } from "../ui/Acts.tsx"
import { Card, Choose, Code, Empty, Say } from "../ui/Parts.tsx"
import { Screen } from "../ui/Screen.tsx"

interface Text {
  readonly id: string
  readonly session_id: string
  readonly text: string
  readonly occurred_at: string
}
interface Doubtful extends Text {
  readonly accountId: string
  readonly from: string | null
  readonly user_id: string | null
}
interface Unattributed extends Text {
  readonly accountId: string
  readonly kind: string
}
type Unread = Schemas["UnreadHook"] & { readonly sessionId: string }

interface Doubts_ {
  readonly refusals: ReadonlyArray<Doubtful>
  readonly unattributed: ReadonlyArray<Unattributed>
  readonly unread: ReadonlyArray<Unread>
}

const most = 50

const ofAccount = async (id: string, { signal }: Init): Asked<Pick<Doubts_, "refusals" | "unattributed">> => {
  const asked = { signal, params: { path: { id }, query: { limit: most } } }
  const [refusals, unattributed] = await Promise.all([
    api.GET("/admin/v1/accounts/{id}/perhaps-refusals", asked),
    api.GET("/admin/v1/accounts/{id}/unattributed", asked)
  ])
  if (refusals.data === undefined) return { error: refusals.error, response: refusals.response }
  if (unattributed.data === undefined) return { error: unattributed.error, response: unattributed.response }
  return {
    data: {
      refusals: refusals.data.perhaps_refusals.map((each) => ({ ...each, accountId: id })),
      unattributed: unattributed.data.unattributed.map((each) => ({ ...each, accountId: id }))
    },
    response: refusals.response
  }
}

const ofSession = async (id: string, { signal }: Init): Asked<ReadonlyArray<Unread>> => {
  const { data, error, response } = await api.GET("/admin/v1/sessions/{id}/hooks/unread", {
    signal,
    params: { path: { id }, query: { limit: most } }
  })
  return data === undefined
    ? { error, response }
    : { data: data.unread.map((each) => ({ ...each, sessionId: id })), response }
}

const asked = async (
  accountIds: ReadonlyArray<string>,
  sessionIds: ReadonlyArray<string>,
  init: Init
): Asked<Doubts_> => {
  const [texts, hooks] = await Promise.all([
    together(accountIds.map((id) => ofAccount(id, init))),
    together(sessionIds.map((id) => ofSession(id, init)))
  ])
  if (texts.data === undefined) return { error: texts.error, response: texts.response }
  if (hooks.data === undefined) return { error: hooks.error, response: hooks.response }
  return {
    data: {
      refusals: texts.data.flatMap(({ refusals }) => refusals),
      unattributed: texts.data.flatMap(({ unattributed }) => unattributed),
      unread: hooks.data.flat()
    },
    response: texts.response
  }
}

const decide = async (done: Done, what: string, refresh: () => void): Promise<void> => {
  const { error, response } = await done
  tell(response.ok ? what : problemOf(error, response.status).detail)
  refresh()
}

const Refusals = ({
  of,
  refresh
}: {
  readonly of: ReadonlyArray<Doubtful>
  readonly refresh: () => void
}) => (
  <Card title="May be refusals" beside={count(of.length, "text")}>
    {of.length === 0 ? (
      <Empty title="None">
        A text with an opt-out word among others comes here: somebody who reads it decides.
      </Empty>
    ) : (
      <ul class="texts">
        {of.map((each) => {
          const path = { params: { path: { id: each.id } } }
          return (
            <li data-row key={each.id}>
              <div>
                <blockquote dir="auto">{each.text}</blockquote>
                <small>
                  <a class="l" href={href("people", { q: each.from ?? each.user_id })}>
                    {personOf({ phone: each.from, user_id: each.user_id })}
                  </a>{" "}
                  · {accountOf(each.accountId)}, {sessionOf(each.session_id)} · <Ago at={each.occurred_at} />
                </small>
              </div>
              {may("support") && (
                <div class="keys">
                  <button
                    type="button"
                    class="btn d"
                    data-key="r"
                    onClick={() =>
                      void decide(
                        api.POST("/admin/v1/perhaps-refusals/{id}/record", path),
                        "Recorded: nothing more is sent to them.",
                        refresh
                      )
                    }
                  >
                    It is a refusal <kbd>r</kbd>
                  </button>
                  <button
                    type="button"
                    class="btn"
                    data-key="d"
                    onClick={() =>
                      void decide(
                        api.POST("/admin/v1/perhaps-refusals/{id}/dismiss", path),
                        "Dismissed: it was no refusal.",
                        refresh
                      )
                    }
                  >
                    It is none <kbd>d</kbd>
                  </button>
                </div>
              )}
            </li>
          )
        })}
      </ul>
    )}
  </Card>
)

const Nobody = ({ of }: { readonly of: ReadonlyArray<Unattributed> }) => (
  <Card title="Of nobody whom we know" beside={count(of.length, "text")}>
    {of.length === 0 ? (
      <Empty title="None">What a platform brings without saying from whom stands here.</Empty>
    ) : (
      <ul class="texts">
        {of.map((each) => (
          <li data-row key={each.id}>
            <div>
              <blockquote dir="auto">{each.text}</blockquote>
              <small>
                {each.kind.replace("_", " ")} · {accountOf(each.accountId)},{" "}
                <a class="l" href={href(`sessions/${each.session_id}`)}>
                  {sessionOf(each.session_id)}
                </a>{" "}
                · <Ago at={each.occurred_at} />
              </small>
            </div>
          </li>
        ))}
      </ul>
    )}
  </Card>
)

const Hooks = ({ of }: { readonly of: ReadonlyArray<Unread> }) => (
  <Card title="Not understood" beside={count(of.length, "piece")}>
    {of.length === 0 ? (
      <Empty title="None">
        What a platform posts and we do not understand is kept here for 30 days; what came beside it was
        applied.
      </Empty>
    ) : (
      <ul class="texts">
        {of.map((each) => (
          <li data-row key={each.id}>
            <div>
              <b>{each.field}</b> <small>{each.reason}</small>
              <small>
                <a class="l" href={href(`sessions/${each.sessionId}`)}>
                  {sessionOf(each.sessionId)}
                </a>{" "}
                · <Ago at={each.received_at} />
              </small>
              <details>
                <summary>As it came{each.is_cut ? ", its beginning" : ""}</summary>
                <pre>{each.content}</pre>
              </details>
            </div>
          </li>
        ))}
      </ul>
    )}
  </Card>
)

/** What a machine did not dare to decide, or did not understand. */
const Texts = () => {
  const account = param("account_id")
  const session = param("session_id")
  const accountIds =
    session !== undefined
      ? []
      : account !== undefined
        ? [account]
        : (accounts.value ?? []).map(({ id }) => id)
  const sessionIds =
    session !== undefined
      ? [session]
      : (sessions.value ?? [])
          .filter(({ account_id }) => account === undefined || account_id === account)
          .map(({ id }) => id)
  const answer = useAnswer(JSON.stringify([accountIds, sessionIds]), (init) =>
    asked(accountIds, sessionIds, init)
  )
  return (
    <Screen
      title="Doubts"
      answer={answer}
      json={
        account === undefined
          ? "/admin/v1/accounts"
          : `/admin/v1/accounts/${encodeURIComponent(account)}/perhaps-refusals`
      }
      command={
        session === undefined
          ? `sendwright consents doubtful ${account ?? "<account>"}`
          : `sendwright sessions unread ${session}`
      }
    >
      {({ refusals, unattributed, unread }) => (
        <>
          <h1 class="sr">Doubts</h1>
          <Say>
            {refusals.length === 0 ? (
              "No text waits for somebody who reads it."
            ) : (
              <>
                <span class="wait">
                  {count(refusals.length, "text")} may be {refusals.length === 1 ? "a refusal" : "refusals"}
                </span>
                : whoever meant it gets more messages until somebody decides.
              </>
            )}{" "}
            {unread.length > 0 && <>{n(unread.length)} pieces of news were not understood.</>}
          </Say>
          <div class="filters">
            <Choose
              label="Account"
              name="account_id"
              all="Every account"
              options={(accounts.value ?? []).map(({ id, name }) => ({ value: id, text: name }))}
            />
            {session !== undefined && (
              <a class="l" href={href("doubts")}>
                All sessions
              </a>
            )}
          </div>
          <div class="grid">
            {session === undefined && <Refusals of={refusals} refresh={answer.refresh} />}
            {session === undefined && <Nobody of={unattributed} />}
            <Hooks of={unread} />
          </div>
          {refusals.length > 0 && may("support") && (
            <p class="foot">
              <Code>j</Code> and <Code>k</Code> move, <Code>r</Code> records, <Code>d</Code> dismisses.
            </p>
          )}
        </>
      )}
    </Screen>
  )
}

/** Nothing is said before it is known of whom. */
export const Doubts = () => (accounts.value === undefined || sessions.value === undefined ? null : <Texts />)
