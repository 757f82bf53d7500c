import { useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import { api, may, type Schemas } from "../base/api.ts"
import { pageWith, useAnswer } from "../base/live.ts"
import { accountOf, sessionOf, sessions } from "../base/names.ts"
import { go, here, href, param } from "../base/place.ts"
import { Ago, At } from "../base/time.tsx"
import { count, n, type Tone } from "../base/words.ts"
import { Act } from "../ui/Acts.tsx"
import { Card, Chip, Choose, Code, Empty, Facts, Pager, Say, Table } from "../ui/Parts.tsx"
import { Bubble } from "../ui/Phone.tsx"
import { Head, Screen } from "../ui/Screen.tsx"

type Template = Schemas["OwnedTemplate"]

/** The platform lets it go, and we can send what it is made of. */
const maySend = ({ sendable, status }: Template): boolean => sendable && /^approved$/i.test(status)

const toneOf = (template: Template): Tone =>
  maySend(template) ? "ok" : /pause|pending|limit/i.test(template.status) ? "wt" : "bd"

const wordOf = (text: string): string =>
  text.charAt(0).toUpperCase() + text.slice(1).toLowerCase().replaceAll("_", " ")

const infoOf = (info: Readonly<Record<string, unknown>> | null): string | null =>
  info === null
    ? null
    : Object.values(info)
        .filter((each) => typeof each === "string")
        .join(" ") || null

/** Why it may not be sent, as the platform said it and as we see it. */
const whyOf = ({
  disable_info,
  other_info,
  reason,
  rejection_info,
  unsendable_reason
}: Template): string | null =>
  [
    reason === null ? null : wordOf(reason),
    infoOf(rejection_info),
    infoOf(disable_info),
    infoOf(other_info),
    unsendable_reason
  ]
    .filter((each) => each !== null)
    .join(". ") || null

const bodyOf = (template: Template): string =>
  template.components.flatMap((each) => (each.type === "body" ? [each.text] : []))[0] ?? ""

const Row = ({ of }: { readonly of: Template }) => (
  <tr class="row" data-row>
    <td>
      <a class="name" href={href(`templates/${of.template_id}`, { session_id: of.session_id })}>
        {of.name}
      </a>
      <small>
        {of.language} · {of.category}
      </small>
    </td>
    <td>
      <Chip tone={toneOf(of)}>{wordOf(of.status)}</Chip>
      {of.quality !== null && <small>quality {of.quality.toLowerCase()}</small>}
    </td>
    <td class="x">{maySend(of) ? <small class="clamp">{bodyOf(of)}</small> : whyOf(of)}</td>
    <td class="x">
      {sessionOf(of.session_id)}
      <small>{accountOf(sessions.value?.find(({ id }) => id === of.session_id)?.account_id ?? null)}</small>
    </td>
    <td class="r nw x">
      <Ago at={of.updated_at} />
    </td>
  </tr>
)

const List = () => {
  const sessionId = param("session_id")
  const cursor = param("cursor")
  const answer = useAnswer(`${sessionId} ${cursor}`, (init) =>
    api.GET("/admin/v1/templates", {
      ...init,
      params: { query: { limit: 100, cursor, session_id: sessionId } }
    })
  )
  const status = param("status")
  return (
    <Screen
      title="Templates"
      answer={answer}
      json={`/admin/v1/templates${sessionId === undefined ? "" : `?session_id=${encodeURIComponent(sessionId)}`}`}
      command={`sendwright templates all${sessionId === undefined ? "" : ` --session-id ${sessionId}`}`}
    >
      {({ next_cursor, templates: all }) => {
        const shown = all.filter(
          (template) => status === undefined || (status === "sendable") === maySend(template)
        )
        const barred = all.filter((template) => !maySend(template)).length
        return (
          <>
            <h1 class="sr">Templates</h1>
            <Say>
              <b>{n(all.length - barred)}</b> of {count(all.length, "template")}
              {next_cursor === null && cursor === undefined ? "" : " on this page"} may be sent.{" "}
              {barred > 0 && (
                <>
                  <span class="wait">{n(barred)} may not</span>, and say why.
                </>
              )}
            </Say>
            <div class="filters">
              <Choose
                label="Session"
                name="session_id"
                all="Every session"
                options={(sessions.value ?? []).map(({ account_id, id, name }) => ({
                  value: id,
                  text: `${name} (${accountOf(account_id)})`
                }))}
              />
              <Choose
                label="Status"
                name="status"
                all="All"
                options={[
                  { value: "sendable", text: "May be sent" },
                  { value: "barred", text: "May not be sent" }
                ]}
              />
              {sessionId !== undefined && may("admin") && (
                <Act
                  label="Ask the platform…"
                  title="Take its templates anew?"
                  confirm="Ask the platform"
                  done="They are as the platform has them."
                  run={async () => {
                    const done = await api.POST("/admin/v1/sessions/{id}/templates/sync", {
                      params: { path: { id: sessionId } }
                    })
                    answer.refresh()
                    return done
                  }}
                >
                  <p>
                    What the platform has of {sessionOf(sessionId)} is taken, with its status and why it was
                    rejected.
                  </p>
                </Act>
              )}
            </div>
            <div class="grid">
              <Card title="Templates">
                {shown.length === 0 ? (
                  <Empty title="No template">
                    A platform's templates come by <Code>sendwright templates sync</Code>, others by{" "}
                    <Code>sendwright templates import</Code>.
                  </Empty>
                ) : (
                  <Table
                    label="Templates"
                    columns={[
                      { text: "Template" },
                      { text: "Status" },
                      { text: "What it says, or why not", kind: "x" },
                      { text: "Session", kind: "x" },
                      { text: "Changed", kind: "r x" }
                    ]}
                    rows={shown.map((template) => <Row of={template} key={template.template_id} />)}
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

type Values = Readonly<Record<string, string>>

/** The values of the address; what is no such thing counts as none. */
const valuesOf = (text: string | undefined): Values => {
  try {
    const found: unknown = JSON.parse(text ?? "{}")
    if (typeof found !== "object" || found === null) return {}
    return Object.fromEntries(
      Object.entries(found).filter((each): each is [string, string] => typeof each[1] === "string")
    )
  } catch {
    return {}
  }
}

const Preview = ({ id, values }: { readonly id: number; readonly values: Values }) => {
  const { data, problem } = useAnswer(
    JSON.stringify([id, values]),
    (init) =>
      api.GET("/admin/v1/templates/{templateId}/preview", {
        ...init,
        params: { path: { templateId: id }, query: { variables: JSON.stringify(values) } }
      }),
    { every: 0 }
  )
  if (data === undefined) return problem === undefined ? <p>…</p> : <p class="bad">{problem.detail}</p>
  const { body, buttons, footer, header, missing } = data.preview
  return (
    <>
      <Bubble header={header} body={body} footer={footer} buttons={buttons} />
      {missing.length > 0 && (
        <p>
          A send must give <Code>{missing.join(", ")}</Code>.
        </p>
      )}
    </>
  )
}

const Try = ({ children, of }: { readonly of: Template; readonly children: ComponentChildren }) => {
  const values = useSignal<Values>(valuesOf(param("values")))
  const text = JSON.stringify(values.value)
  useEffect(() => {
    const timer = setTimeout(() => go(here({ values: text === "{}" ? undefined : text }), true), 400)
    return () => clearTimeout(timer)
  }, [text])
  return (
    <div class="grid g2 top2">
      <Card title="Values to try" beside={count(of.variables.length, "variable")}>
        {of.variables.length === 0 ? (
          <Empty title="It has no variables">Everybody gets the same text.</Empty>
        ) : (
          <div class="inside">
            {of.variables.map(({ key, max_length, name, required, type }) => (
              <div class="field" key={key}>
                <label for={`value-${key}`}>
                  {name ?? key} · {type.replace("_", " ")}
                  {required ? "" : ", optional"}
                  {max_length === undefined ? "" : `, at most ${n(max_length)}`}
                </label>
                <input
                  id={`value-${key}`}
                  value={values.value[key] ?? ""}
                  onInput={(event) => {
                    const { [key]: _, ...rest } = values.value
                    const value = event.currentTarget.value
                    values.value = value === "" ? rest : { ...rest, [key]: value }
                  }}
                />
              </div>
            ))}
          </div>
        )}
      </Card>
      <div class="side">
        <Card title="As a phone shows it">
          <Preview id={of.template_id} values={values.value} />
        </Card>
        {children}
      </div>
    </div>
  )
}

const Detail = ({ id }: { readonly id: string }) => {
  const session_id = param("session_id")
  const isIt = ({ template_id }: Template) => String(template_id) === id
  const answer = useAnswer(`${id} ${session_id}`, ({ signal }) =>
    pageWith(
      (cursor) =>
        api.GET("/admin/v1/templates", { signal, params: { query: { limit: 100, cursor, session_id } } }),
      ({ templates }) => templates.some(isIt)
    )
  )
  return (
    <Screen
      title="Template"
      answer={answer}
      json={`/admin/v1/templates/${encodeURIComponent(id)}/preview`}
      command={`sendwright templates preview ${id}`}
    >
      {({ templates }) => {
        const template = templates.find(isIt)
        if (template === undefined)
          return <Empty title="There is no such template">Look for it by its name among the templates.</Empty>
        const sessionId = template.session_id
        const why = whyOf(template)
        return (
          <>
            <Head
              crumb={
                <a href={href("templates", { session_id: sessionId })}>Templates of {sessionOf(sessionId)}</a>
              }
            >
              <h1>
                {template.name} ({template.language})
              </h1>
              <Chip tone={toneOf(template)}>{wordOf(template.status)}</Chip>
            </Head>
            <Say>
              {maySend(template) ? (
                <span class="ok">It may be sent.</span>
              ) : (
                <span class="bad">It may not be sent.</span>
              )}{" "}
              {why}
            </Say>
            <Try of={template}>
              <Card title="Of what">
                <Facts
                  of={[
                    ["Category", template.category],
                    ["Quality", template.quality],
                    ["Why", why],
                    [
                      "Session",
                      <a class="l" href={href(`sessions/${sessionId}`)}>
                        {sessionOf(sessionId)}
                      </a>
                    ],
                    [
                      "Jobs with it",
                      <a class="l" href={href("jobs", { template_id: template.template_id })}>
                        Look
                      </a>
                    ],
                    ["Changed", <At at={template.updated_at} />],
                    ["Template", <Code>{template.template_id}</Code>]
                  ]}
                />
              </Card>
            </Try>
          </>
        )
      }}
    </Screen>
  )
}

export const Templates = ({ id }: { readonly id: string | undefined }) =>
  id === undefined ? <List /> : <Detail id={id} key={id} />
