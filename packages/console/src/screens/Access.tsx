import { api, may, type Schemas } from "../base/api.ts"
import { pageWith, useAnswer } from "../base/live.ts"
import { sessionOf, sessions } from "../base/names.ts"
import { here, href, param, paramOf, submitFilters } from "../base/place.ts"
import { Ago, At } from "../base/time.tsx"
import { count, n, shortId, type Tone } from "../base/words.ts"
import { Act, type Values } from "../ui/Acts.tsx"
import { Card, Chip, Choices, Code, Empty, Pager, Say, Table } from "../ui/Parts.tsx"
import { Screen } from "../ui/Screen.tsx"

type Key = Schemas["ApiKey"]
type Operator = Schemas["Operator"]
type Entry = Schemas["AuditEntry"]

/** A secret that is shown once, and what to do with it. */
const Once = ({ of, what }: { readonly what: string; readonly of: string }) => (
  <>
    <p>Copy it now: {what} is shown this once, and kept by nobody but you.</p>
    <Code>
      <span class="secret">{of}</span>
    </Code>
  </>
)
const secretIn = (data: unknown, name: string): string =>
  typeof data === "object" && data !== null ? String(Reflect.get(data, name) ?? "") : ""

const after = async <Done,>(done: Promise<Done>, refresh: () => void): Promise<Done> => {
  const answer = await done
  refresh()
  return answer
}

const overlap = {
  name: "overlap",
  label: "The old one lives on for",
  value: "86400",
  options: [
    ["0", "no time: it ends at once"],
    ["3600", "an hour"],
    ["86400", "a day"]
  ]
} as const
const overlapOf = ({ overlap = "86400" }: Values) => ({ overlap_seconds: Number(overlap) })

const keyTones: Readonly<Record<Key["status"], Tone>> = { active: "ok", inactive: "wt", revoked: "of" }

const KeyActs = ({ of, refresh }: { readonly of: Key; readonly refresh: () => void }) => {
  const path = { params: { path: { publicKey: of.public_key } } }
  return (
    <>
      <Act
        label="Rotate…"
        title="Give it a new secret?"
        confirm="Make a new secret"
        fields={[overlap]}
        run={(values) =>
          after(api.POST("/admin/v1/keys/{publicKey}/rotate", { ...path, body: overlapOf(values) }), refresh)
        }
        after={(data) => <Once what="the secret" of={secretIn(data, "secret_key")} />}
      />{" "}
      <Act
        label="Revoke…"
        title={`Revoke ${of.name ?? of.public_key}?`}
        confirm="Revoke it for good"
        tone="d"
        done="The key is revoked."
        run={() => after(api.POST("/admin/v1/keys/{publicKey}/revoke", path), refresh)}
      >
        <p>
          Requests with it are refused at once, and for good. What it has sent goes on. Last used:{" "}
          <Ago at={of.last_used_at} />.
        </p>
      </Act>
    </>
  )
}

const auditOf = ({ public_key }: Key, operation?: string): string =>
  href("access", { show: "audit", target: public_key, operation })

const KeyRow = ({
  isOfAll = false,
  of,
  refresh
}: {
  readonly of: Key
  readonly refresh: () => void
  readonly isOfAll?: boolean
}) => (
  <tr class="row" data-row>
    <td>
      <a class="name" href={auditOf(of)} title="Who did what to it">
        {of.name ?? "Without a name"}
      </a>
      <small class="m nw">{of.public_key}</small>
    </td>
    <td>
      <Chip tone={keyTones[of.status]}>{of.status}</Chip>
    </td>
    {isOfAll && (
      <td class="x">
        {sessionOf(of.session_id)}
        <small>{of.permissions.join(", ")}</small>
      </td>
    )}
    <td class="r x nw">{of.last_used_at === null ? "never used" : <Ago at={of.last_used_at} />}</td>
    <td class="r nw">
      {of.status === "revoked" ? (
        <a class="l" href={auditOf(of, "keys.revoke")}>
          Who revoked it
        </a>
      ) : (
        may("admin") && <KeyActs of={of} refresh={refresh} />
      )}
    </td>
  </tr>
)

const ofSession = "Of the session"
const keyColumns = [
  { text: "Key" },
  { text: "Status" },
  { text: ofSession, kind: "x" },
  { text: "Last used", kind: "r x" },
  { text: "", kind: "r" }
]

const IssueKey = ({ refresh, sessionId }: { readonly sessionId?: string; readonly refresh: () => void }) => (
  <Act
    label="New key…"
    title="Issue an API key"
    confirm="Issue it"
    fields={[
      { name: "name", label: "What is it for?", hint: "Such as: web shop." },
      ...(sessionId === undefined
        ? [
            {
              name: "session",
              label: "Of the session",
              options: (sessions.value ?? []).map(({ id, name }) => [id, name] as const)
            }
          ]
        : [])
    ]}
    run={({ name, session }) =>
      after(
        api.POST("/admin/v1/sessions/{id}/keys", {
          params: { path: { id: sessionId ?? session ?? "" } },
          body: { name }
        }),
        refresh
      )
    }
    after={(data) => <Once what="its secret" of={secretIn(data, "secret_key")} />}
  >
    <p>
      It has every permission of its session; take some away with <Code>sendwright keys change</Code>.
    </p>
  </Act>
)

/** The keys of one session, on its own screen. */
export const Keys = ({ sessionId }: { readonly sessionId: string }) => {
  const { data, refresh } = useAnswer(sessionId, (init) =>
    api.GET("/admin/v1/sessions/{id}/keys", {
      ...init,
      params: { path: { id: sessionId }, query: { limit: 100 } }
    })
  )
  return (
    <Card
      title="Its keys"
      beside={may("admin") ? <IssueKey sessionId={sessionId} refresh={refresh} /> : undefined}
    >
      {data === undefined || data.keys.length === 0 ? (
        <Empty title="No key yet">Whoever sends over this session needs one.</Empty>
      ) : (
        <Table
          label="Keys"
          columns={keyColumns.filter(({ text }) => text !== ofSession)}
          rows={data.keys.map((key) => <KeyRow of={key} refresh={refresh} key={key.public_key} />)}
        />
      )}
    </Card>
  )
}

const AllKeys = () => {
  const q = param("q")
  const first = param("cursor")
  const isIt = (key: Key) => q === undefined || key.public_key === q
  const answer = useAnswer(`${q} ${first}`, ({ signal }) =>
    pageWith(
      (cursor = first) => api.GET("/admin/v1/keys", { signal, params: { query: { limit: 100, cursor } } }),
      ({ keys }) => keys.some(isIt)
    )
  )
  return (
    <Screen title="Keys" answer={answer} json="/admin/v1/keys" command="sendwright keys all">
      {({ keys: all, next_cursor }) => {
        const keys = all.filter(isIt)
        const active = keys.filter(({ status }) => status === "active").length
        return (
          <>
            <Say>
              <b>{count(active, "key")}</b> may send, of {count(keys.length, "key")}
              {next_cursor === null && first === undefined ? "" : " on this page"}.
            </Say>
            <Tabs />
            <div class="grid">
              <Card
                title="API keys"
                beside={
                  may("admin") && (sessions.value ?? []).length > 0 ? (
                    <IssueKey refresh={answer.refresh} />
                  ) : undefined
                }
              >
                {keys.length === 0 ? (
                  <Empty title="No key yet">
                    Whoever sends needs one of a session's: <Code>sendwright keys issue</Code>.
                  </Empty>
                ) : (
                  <Table
                    label="Keys"
                    columns={keyColumns}
                    rows={keys.map((key) => (
                      <KeyRow isOfAll of={key} refresh={answer.refresh} key={key.public_key} />
                    ))}
                  />
                )}
                <Pager next={q === undefined ? next_cursor : null} />
              </Card>
            </div>
          </>
        )
      }}
    </Screen>
  )
}

const roles: Readonly<Record<Operator["role"], string>> = {
  metrics: "reads /metrics",
  read: "reads everything",
  support: "reads, records refusals, sends again, replays, cancels",
  admin: "may do everything"
}

const OperatorActs = ({ of, refresh }: { readonly of: Operator; readonly refresh: () => void }) => {
  const path = { params: { path: { name: of.name } } }
  return (
    <>
      <Act
        label="Rotate…"
        title={`Give ${of.name} a new token?`}
        confirm="Make a new token"
        fields={[overlap]}
        run={(values) =>
          after(api.POST("/admin/v1/operators/{name}/rotate", { ...path, body: overlapOf(values) }), refresh)
        }
        after={(data) => <Once what="the token" of={secretIn(data, "token")} />}
      />{" "}
      <Act
        label="Revoke…"
        title={`Revoke ${of.name}?`}
        confirm="Revoke for good"
        tone="d"
        done="The operator is revoked."
        run={() => after(api.POST("/admin/v1/operators/{name}/revoke", path), refresh)}
      >
        <p>
          Its tokens and its consoles open nothing from then on. The name is given to nobody else, so the
          audit log stays true.
        </p>
      </Act>
    </>
  )
}

const Operators = () => {
  const cursor = param("cursor")
  const answer = useAnswer(`operators ${cursor}`, (init) =>
    api.GET("/admin/v1/operators", { ...init, params: { query: { limit: 50, cursor } } })
  )
  return (
    <Screen title="Operators" answer={answer} json="/admin/v1/operators" command="sendwright operators list">
      {({ next_cursor, operators }) => (
        <>
          <Say>
            <b>{count(operators.filter(({ status }) => status === "active").length, "operator")}</b> may come
            in, besides the host's own <Code>ADMIN_TOKEN</Code>.
          </Say>
          <Tabs />
          <div class="grid">
            <Card
              title="Operators"
              beside={
                may("admin") && (
                  <Act
                    label="New operator…"
                    title="Make an operator"
                    confirm="Make it"
                    fields={[
                      {
                        name: "name",
                        label: "Name",
                        hint: "Lower-case letters, digits and . _ @ -. It is given once, for good."
                      },
                      {
                        name: "role",
                        label: "May do",
                        value: "support",
                        options: Object.entries(roles).map(([role, what]) => [role, `${role}: ${what}`])
                      },
                      {
                        name: "mask",
                        label: "Numbers",
                        options: [
                          ["no", "are shown"],
                          ["yes", "are masked (of the role read alone)"]
                        ]
                      }
                    ]}
                    run={({ mask, name = "", role = "" }) =>
                      after(
                        api.POST("/admin/v1/operators", {
                          body: { name, role: roleOf(role), ...(mask === "yes" ? { mask_phones: true } : {}) }
                        }),
                        answer.refresh
                      )
                    }
                    after={(data) => <Once what="the token" of={secretIn(data, "token")} />}
                  />
                )
              }
            >
              {operators.length === 0 ? (
                <Empty title="Everybody shares one token">
                  Give each person a token of their own, so that the audit log says who did what.
                </Empty>
              ) : (
                <Table
                  label="Operators"
                  columns={[
                    { text: "Operator" },
                    { text: "Status" },
                    { text: "May", kind: "x" },
                    { text: "Last used", kind: "r x" },
                    { text: "", kind: "r" }
                  ]}
                  rows={operators.map((operator) => (
                    <tr class="row" data-row key={operator.name}>
                      <td>
                        <a
                          class="name"
                          href={href("access", { show: "audit", operator: operator.name })}
                          title="What it did"
                        >
                          {operator.name}
                        </a>
                        <small>
                          {operator.role}
                          {operator.mask_phones ? ", numbers masked" : ""}
                        </small>
                      </td>
                      <td>
                        <Chip tone={operator.status === "active" ? "ok" : "of"}>{operator.status}</Chip>
                      </td>
                      <td class="x">{roles[operator.role]}</td>
                      <td class="r x nw">
                        {operator.last_used_at === null ? "never" : <Ago at={operator.last_used_at} />}
                      </td>
                      <td class="r nw">
                        {may("admin") && operator.status === "active" && (
                          <OperatorActs of={operator} refresh={answer.refresh} />
                        )}
                      </td>
                    </tr>
                  ))}
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

const roleOf = (text: string): Operator["role"] =>
  (["metrics", "read", "support", "admin"] as const).find((role) => role === text) ?? "read"

/** Where the audit log leads: an id is searched for, whatever it is of. */
const Target = ({ of }: { readonly of: string | null }) =>
  of === null ? null : (
    <a class="l m" href={href("search", { q: of, go: "first" })} title={of}>
      {shortId(of)}
    </a>
  )

const Shown = ({ of, title }: { readonly title: string; readonly of: Entry["before"] }) =>
  of === null ? null : (
    <div>
      <small>{title}</small>
      <pre>{JSON.stringify(of, null, 2)}</pre>
    </div>
  )

/** A plan is on record as the act is that it plans. */
const isPlan = ({ after }: Entry): boolean => after?.["dry_run"] === true

/** A narrow column breaks it behind its point. */
const operationName = (operation: string) =>
  operation.split(".").flatMap((part, at) => (at === 0 ? [part] : [".", <wbr key={part} />, part]))

const EntryRow = ({ of }: { readonly of: Entry }) => (
  <tr class="row" data-row>
    <td class="nw">
      <At at={of.at} />
    </td>
    <td class="nw">
      <a class="name" href={here({ operator: of.operator })}>
        {of.operator}
      </a>
      <small>{of.address}</small>
    </td>
    <td>
      <a href={here({ operation: of.operation })}>{operationName(of.operation)}</a>
      {isPlan(of) && ", a plan only"}
      <small>
        <Target of={of.target} />
      </small>
    </td>
    <td class="x">
      {(of.before !== null || of.after !== null) && (
        <details>
          <summary>What changed</summary>
          <div class="change">
            <Shown title="before" of={of.before} />
            <Shown title="after" of={of.after} />
          </div>
        </details>
      )}
    </td>
  </tr>
)

const dayStart = (day: string | undefined): string | undefined =>
  day === undefined ? undefined : `${day}T00:00:00Z`

const Audit = () => {
  const filter = {
    operator: param("operator"),
    operation: param("operation"),
    target: param("target"),
    from: dayStart(param("from")),
    to: dayStart(param("to"))
  }
  const cursor = param("cursor")
  const answer = useAnswer(JSON.stringify([filter, cursor]), (init) =>
    api.GET("/admin/v1/audit", { ...init, params: { query: { limit: 50, cursor, ...filter } } })
  )
  const named = Object.entries(filter).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value] as const]
  )
  return (
    <Screen
      title="Audit"
      answer={answer}
      json={`/admin/v1/audit?${new URLSearchParams(Object.fromEntries(named))}`}
      command={["sendwright audit", ...named.map(([name, value]) => `--${name} ${value}`)].join(" ")}
    >
      {({ entries, next_cursor }) => {
        const [last] = entries
        return (
          <>
            <Say>
              {last === undefined ? (
                "Nobody did anything of this kind."
              ) : (
                <>
                  <b>{last.operator}</b> did the last of{" "}
                  {next_cursor === null ? count(entries.length, "act") : `${n(entries.length)} or more acts`},{" "}
                  <Ago at={last.at} />: <b>{last.operation}</b>
                  {isPlan(last) && ", a plan only"}.
                </>
              )}
            </Say>
            <Tabs />
            <form class="filters" onSubmit={submitFilters} key={JSON.stringify(filter)}>
              {(
                [
                  ["operator", "Who", "text"],
                  ["operation", "What, such as keys.revoke", "text"],
                  ["target", "To what (an id)", "text"],
                  ["from", "From", "date"],
                  ["to", "To", "date"]
                ] as const
              ).map(([name, label, type]) => (
                <div class="choose" key={name}>
                  <label for={`audit-${name}`}>{label}</label>
                  {type === "date" ? (
                    <input id={`audit-${name}`} name={name} type="date" defaultValue={param(name) ?? ""} />
                  ) : (
                    <input id={`audit-${name}`} name={name} defaultValue={param(name) ?? ""} />
                  )}
                </div>
              ))}
              <button type="submit" class="btn">
                Find
              </button>
              {named.length > 0 && (
                <a class="l" href={href("access", { show: "audit" })}>
                  All
                </a>
              )}
            </form>
            <div class="grid">
              <Card title="What operators did" beside="newest first">
                {entries.length === 0 ? (
                  <Empty title="No such act">An entry is written with each act. Take a filter away.</Empty>
                ) : (
                  <Table
                    label="Acts"
                    columns={[{ text: "When" }, { text: "Who" }, { text: "What" }, { text: "", kind: "x" }]}
                    rows={entries.map((entry) => <EntryRow of={entry} key={entry.id} />)}
                  />
                )}
                <Pager next={next_cursor} />
              </Card>
            </div>
          </>
        )
      }}
    </Screen>
  )
}

const Tabs = () => (
  <Choices
    label="What of access"
    name="show"
    of={[
      ["", "API keys"],
      ["operators", "Operators"],
      ["audit", "Who did what"]
    ]}
  />
)

export const Access = () => {
  const show = paramOf("show", ["operators", "audit"])
  return (
    <>
      <h1 class="sr">Access</h1>
      {show === "operators" ? <Operators /> : show === "audit" ? <Audit /> : <AllKeys />}
    </>
  )
}
