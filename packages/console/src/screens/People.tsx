import { useSignal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { api, apiLink, may, type Problem, problemOf, type Schemas } from "../base/api.ts"
import { type Asked, type Init, useAnswer } from "../base/live.ts"
import { accountOf, accounts as allAccounts, sessionOf } from "../base/names.ts"
import { go, href, param, screenOf, valuesOf } from "../base/place.ts"
import { Ago, At } from "../base/time.tsx"
import { count, n, phoneOf, type Status, statuses, type Tone } from "../base/words.ts"
import { Act } from "../ui/Acts.tsx"
import { Card, Chip, Code, Empty, Say, Table, Trouble } from "../ui/Parts.tsx"
import { Head, Screen } from "../ui/Screen.tsx"

type Known = Schemas["KnownPerson"]["accounts"][number]

interface Sent {
  readonly id: string
  readonly title: string
  readonly status: string | null
  readonly at: string
  readonly link: string
}
interface Found {
  readonly accounts: ReadonlyArray<Known>
  readonly sent: ReadonlyArray<Sent>
  readonly isMore: boolean
}

/** A number is digits, however it was written; else it is a platform's id of a person. */
const whoOf = (q: string): { readonly phone: string } | { readonly user_id: string } => {
  const digits = q.replace(/[\s()+.-]/g, "")
  return /^\d{6,15}$/.test(digits) ? { phone: digits } : { user_id: q }
}

/** What was sent, and what each account knows of the person. */
const found = async (q: string, { signal }: Init): Asked<Found> => {
  const who = whoOf(q)
  const [person, { data, error, response }] = await Promise.all([
    api.GET("/admin/v1/people", { signal, params: { query: who } }),
    api.GET("/admin/v1/search", {
      signal,
      params: { query: { q: "phone" in who ? who.phone : who.user_id, limit: 100 } }
    })
  ])
  if (person.data === undefined) return { error: person.error, response: person.response }
  if (data === undefined) return { error, response }
  return {
    data: {
      accounts: person.data.person.accounts,
      sent: data.results.filter(({ kind }) => kind === "message"),
      isMore: data.next_cursor !== null
    },
    response
  }
}

const consentTones: Readonly<Record<string, Tone>> = { granted: "ok", revoked: "bd", missing: "of" }

const purposes = ["all", "marketing", "utility", "authentication", "direct"] as const

const AccountCard = ({ of }: { readonly of: Known }) => (
  <Card
    title={`Consent at ${accountOf(of.account_id)}`}
    beside={`${count(of.history.length, "record")}, the newest first`}
  >
    <div class="inside chips">
      {of.current.map(({ purpose, status }) => (
        <Chip tone={consentTones[status] ?? "of"} key={purpose}>
          {purpose}: {status}
        </Chip>
      ))}
    </div>
    {of.history.length === 0 ? (
      <Empty title="Nothing was recorded">Without consent nothing that needs it is sent.</Empty>
    ) : (
      <Table
        label={`Consent at ${accountOf(of.account_id)}`}
        columns={[{ text: "What" }, { text: "How we know" }, { text: "Said", kind: "r" }]}
        rows={of.history.map((record) => (
          <tr key={record.consent_id}>
            <td>
              <Chip tone={consentTones[record.status] ?? "of"}>{record.status}</Chip>
              <small>for {record.purpose}</small>
            </td>
            <td>
              {record.source}
              <small>
                {record.proof !== null && (
                  <>
                    Proof: {record.proof}
                    <br />
                  </>
                )}
                <Code>{record.consent_id}</Code>
              </small>
            </td>
            <td class="r nw">
              <At at={record.occurred_at} />
              <small class="x">
                recorded <At at={record.recorded_at} />
              </small>
            </td>
          </tr>
        ))}
      />
    )}
    {of.windows.map(({ free_until, open, session_id, until }) => (
      <p class="inside" key={session_id}>
        <Chip tone={open ? "ok" : "of"}>{open ? "Free text" : "Templates alone"}</Chip> by{" "}
        {sessionOf(session_id)}
        {until !== null && (
          <>
            {open ? ", until " : ", since "}
            <At at={until} />
          </>
        )}
        {free_until !== null && (
          <>
            , free of charge until <At at={free_until} />
          </>
        )}
      </p>
    ))}
    {of.perhaps_refusals.map(({ id, occurred_at, text }) => (
      <p class="inside" key={id}>
        They may have refused <Ago at={occurred_at} />: “{text}”{" "}
        <a class="l" href={href("doubts", { account_id: of.account_id })}>
          Decide
        </a>
      </p>
    ))}
  </Card>
)

const isStatus = (status: string | null): status is Status => status !== null && status in statuses

const SentCard = ({ isMore, sent }: { readonly sent: ReadonlyArray<Sent>; readonly isMore: boolean }) => (
  <Card title="Messages" beside={`${n(sent.length)}${isMore ? " or more" : ""}, the newest first`}>
    {sent.length === 0 ? (
      <Empty title="Nothing was sent">No message to this person is kept.</Empty>
    ) : (
      <Table
        label="Messages"
        columns={[{ text: "Message" }, { text: "Status", kind: "r" }]}
        rows={sent.map(({ at, id, link, status, title }) => (
          <tr class="row" data-row key={id}>
            <td>
              <a class="name" href={screenOf(link) ?? href(`messages/${id}`)}>
                {title.replace(/ to \+?\d+$/, "")}
              </a>
              <small>
                <Ago at={at} />
              </small>
            </td>
            <td class="r nw">
              {isStatus(status) && <Chip tone={statuses[status][0]}>{statuses[status][1]}</Chip>}
            </td>
          </tr>
        ))}
      />
    )}
  </Card>
)

const Record = ({
  ids,
  q,
  refresh
}: {
  readonly q: string
  readonly ids: ReadonlyArray<string>
  readonly refresh: () => void
}) => {
  const shown = ids.length > 0 ? ids : (allAccounts.value ?? []).map(({ id }) => id)
  return (
    <Act
      label="Record by hand…"
      title={`Record what ${phoneOf(q)} said`}
      confirm="Record it"
      done="It is recorded."
      tone="p"
      fields={[
        {
          name: "status",
          label: "They",
          options: [
            ["revoked", "want nothing more"],
            ...(may("admin") ? [["granted", "consent"] as const] : [])
          ]
        },
        {
          name: "purpose",
          label: "For messages of",
          options: purposes.map((purpose) => [purpose, purpose === "all" ? "every purpose" : purpose])
        },
        { name: "account", label: "Of the account", options: shown.map((id) => [id, accountOf(id)]) },
        {
          name: "source",
          label: "How do you know?",
          value: "support",
          hint: "Such as: support, letter, call."
        },
        { name: "proof", label: "Reason and proof", hint: "A ticket, a reference: what shows it later." }
      ]}
      run={async ({ account = "", proof, purpose, source = "", status }) => {
        const done = await api.POST("/admin/v1/accounts/{id}/consents", {
          params: { path: { id: account } },
          body: {
            consents: [
              {
                ...whoOf(q),
                status: status === "granted" ? "granted" : "revoked",
                purpose: purposes.find((each) => each === purpose) ?? "all",
                source,
                proof: proof === "" ? undefined : proof
              }
            ]
          }
        })
        refresh()
        return done
      }}
    />
  )
}

/** What an erasure would take, which changes nothing. */
const Taken = ({ q }: { readonly q: string }) => {
  const taken = useSignal<Readonly<Record<string, number>> | undefined>(undefined)
  const problem = useSignal<Problem | undefined>(undefined)
  useEffect(() => {
    api
      .POST("/admin/v1/people/erase", { body: { ...whoOf(q), reason: "a look before", dry_run: true } })
      .then(
        ({ data, error, response }) => {
          taken.value = data?.erasure.counts
          problem.value = data === undefined ? problemOf(error, response.status) : undefined
        },
        () => {
          problem.value = problemOf(undefined)
        }
      )
  }, [q])
  if (problem.value !== undefined) return <Trouble problem={problem.value} />
  if (taken.value === undefined) return <p>Counting …</p>
  const some = Object.entries(taken.value).filter(([, value]) => value > 0)
  return (
    <p>
      It would take out of all accounts:{" "}
      {some.length === 0
        ? "nothing"
        : some.map(([name, value]) => `${n(value)} ${name.replaceAll("_", " ")}`).join(", ")}
      .
    </p>
  )
}

const Erase = ({ q, refresh }: { readonly q: string; readonly refresh: () => void }) => (
  <Act
    label="Erase…"
    title={`Erase ${phoneOf(q)}?`}
    confirm="Erase for good"
    tone="d"
    fields={[{ name: "reason", label: "Why, for the audit log", hint: "Such as: request 4711 of 12 May." }]}
    run={async ({ reason = "" }) => {
      const done = await api.POST("/admin/v1/people/erase", { body: { ...whoOf(q), reason } })
      refresh()
      return done
    }}
    after={() => (
      <>
        <p>
          It is done. What others say later of this person is erased as it comes; each erasure and how far it
          is stands in the list of erasures.
        </p>
        <p>
          <a class="l" href={href("people")}>
            The erasures, which are the proof
          </a>
        </p>
      </>
    )}
  >
    <Taken q={q} />
    <p>
      Counts and costs of jobs stay. It cannot be undone. That a person refused is kept as a hash, so that
      nobody is sent to by mistake.
    </p>
  </Act>
)

const Person = ({ q }: { readonly q: string }) => {
  const answer = useAnswer(q, (init) => found(q, init))
  const who = whoOf(q)
  const id = "phone" in who ? who.phone : who.user_id
  return (
    <Screen
      title={phoneOf(q)}
      answer={answer}
      json={`/admin/v1/people?${new URLSearchParams(who)}`}
      command={`sendwright people show ${"phone" in who ? "--phone" : "--user-id"} ${id}`}
    >
      {({ accounts, isMore, sent }) => {
        const refused = accounts.filter(({ current }) => current.some(({ status }) => status === "revoked"))
        const isKnown = accounts.length > 0 || sent.length > 0
        return (
          <>
            <Head
              crumb={<a href={href("people")}>People</a>}
              acts={
                <>
                  <a
                    class="btn"
                    href={apiLink(`/admin/v1/people/${encodeURIComponent(id)}/export`)}
                    download={`person-${id}.json`}
                  >
                    Export
                  </a>
                  {may("support") && (
                    <Record
                      q={q}
                      ids={accounts.map(({ account_id }) => account_id)}
                      refresh={answer.refresh}
                    />
                  )}
                  {may("admin") && <Erase q={q} refresh={answer.refresh} />}
                </>
              }
            >
              <h1>{phoneOf(q)}</h1>
            </Head>
            <Say>
              {!isKnown ? (
                "Nothing is known of this person."
              ) : (
                <>
                  {refused.length > 0 ? (
                    <span class="bad">
                      Refused at {refused.map(({ account_id }) => accountOf(account_id)).join(", ")}
                    </span>
                  ) : (
                    <b>Known to {count(accounts.length, "account")}</b>
                  )}
                  ; <b>{isMore ? `${n(sent.length)} or more` : n(sent.length)}</b>{" "}
                  {sent.length === 1 && !isMore ? "message is" : "messages are"} kept.
                </>
              )}
            </Say>
            <div class="grid g2 top2">
              <div class="side">
                {accounts.map((account) => (
                  <AccountCard of={account} key={account.account_id} />
                ))}
                {accounts.length === 0 && (
                  <Empty title="No account knows them">
                    A consent that you record is the first thing known.
                  </Empty>
                )}
              </div>
              <SentCard sent={sent} isMore={isMore} />
            </div>
          </>
        )
      }}
    </Screen>
  )
}

const Erasures = () => {
  const answer = useAnswer("erasures", (init) =>
    api.GET("/admin/v1/people/erasures", { ...init, params: { query: { limit: 50 } } })
  )
  return (
    <Screen
      title="People"
      answer={answer}
      json="/admin/v1/people/erasures"
      command="sendwright people erased"
    >
      {({ erasures }) => {
        const open = erasures.filter(({ state }) => state !== "done").length
        return (
          <>
            <h1 class="sr">People</h1>
            <Say>
              What is known of one person: type a number with its calling code.{" "}
              {erasures.length === 0
                ? "Nobody was erased yet."
                : `${count(erasures.length, "person was", "people were")} erased${open === 0 ? "" : `, ${n(open)} not wholly yet`}.`}
            </Say>
            <form
              class="filters"
              onSubmit={(event) => {
                event.preventDefault()
                const { q = "" } = valuesOf(event.currentTarget)
                if (q !== "") go(href("people", { q }))
              }}
            >
              <label class="choose">
                <span>A phone number, or a platform's id of a person</span>
                <input name="q" required maxLength={255} autocomplete="off" />
              </label>
              <button type="submit" class="btn p">
                Look
              </button>
            </form>
            <div class="grid">
              <Card title="Erasures" beside="newest first">
                {erasures.length === 0 ? (
                  <Empty title="Nobody was erased">
                    A person's screen has the act; each erasure stands here with its reason, without the
                    person.
                  </Empty>
                ) : (
                  <Table
                    label="Erasures"
                    columns={[
                      { text: "Why" },
                      { text: "State" },
                      { text: "What was taken", kind: "x" },
                      { text: "Begun", kind: "r" }
                    ]}
                    rows={erasures.map((erasure) => (
                      <tr key={erasure.id}>
                        <td>
                          {erasure.reason}
                          <small class="m">{erasure.id}</small>
                        </td>
                        <td>
                          <Chip tone={erasure.state === "done" ? "ok" : "wt"}>
                            {erasure.state === "done" ? "Done" : "Goes on"}
                          </Chip>
                        </td>
                        <td class="x">
                          {Object.entries(erasure.counts)
                            .filter(([, value]) => value > 0)
                            .map(([name, value]) => `${n(value)} ${name.replaceAll("_", " ")}`)
                            .join(", ")}
                        </td>
                        <td class="r nw">
                          <Ago at={erasure.begun_at} />
                        </td>
                      </tr>
                    ))}
                  />
                )}
              </Card>
            </div>
          </>
        )
      }}
    </Screen>
  )
}

export const People = () => {
  const q = param("q")
  return q === undefined ? <Erasures /> : <Person q={q} key={q} />
}
