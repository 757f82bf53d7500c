import { useSignal } from "@preact/signals"
import { api, may, problemOf, type Schemas } from "../base/api.ts"
import { clock, useAnswer, useCounts } from "../base/live.ts"
import { accountOf } from "../base/names.ts"
import { href, param, paramOf, submitFilters, valuesOf } from "../base/place.ts"
import { Ago, At, spanOf } from "../base/time.tsx"
import { count, n, shortId, type Tone } from "../base/words.ts"
import { Act, type Values } from "../ui/Acts.tsx"
import { Card, Chip, Choices, Code, Empty, Facts, Pager, Say, Table } from "../ui/Parts.tsx"
import { Head, Screen } from "../ui/Screen.tsx"

type Webhook = Schemas["Webhook"]
type Delivery = Schemas["Delivery"]
type Attempt = Delivery["attempts"][number]

const stateOf = ({ enabled, failing_since }: Webhook): readonly [Tone, string] => {
  if (!enabled) return ["of", "Disabled"]
  return failing_since === null ? ["ok", "Healthy"] : ["bd", "Fails"]
}

const statuses: Readonly<Record<Delivery["status"], readonly [Tone, string]>> = {
  delivered: ["ok", "Answered"],
  pending: ["wt", "Waits"],
  exhausted: ["bd", "Given up"]
}

const reasons: Readonly<Record<NonNullable<Attempt["reason"]>, string>> = {
  status: "no 2xx",
  timeout: "no answer in time",
  connection: "no connection",
  address_refused: "its address is refused",
  secret_unreadable: "its secret cannot be read"
}
const answerOf = ({ reason, status }: Attempt): string =>
  [status === null ? null : `status ${status}`, reason === null ? null : reasons[reason]]
    .filter((each) => each !== null)
    .join(", ")

const Row = ({ of }: { readonly of: Webhook }) => {
  const [tone, word] = stateOf(of)
  return (
    <tr class="row" data-row>
      <td>
        <a class="name" href={href(`webhooks/${of.id}`)}>
          {of.url}
        </a>
        <small>
          {accountOf(of.account_id)}
          {of.description === null ? "" : ` · ${of.description}`}
        </small>
      </td>
      <td>
        <Chip tone={tone}>{word}</Chip>
      </td>
      <td class="x">{of.events.join(", ")}</td>
      <td class="r nw">{of.failing_since === null ? "–" : <Ago at={of.failing_since} />}</td>
    </tr>
  )
}

const Endpoints = () => {
  const cursor = param("cursor")
  const failing = paramOf("failing", ["true"])
  const answer = useAnswer(`${failing} ${cursor}`, (init) =>
    api.GET("/admin/v1/webhooks", { ...init, params: { query: { limit: 50, cursor, failing } } })
  )
  return (
    <Screen
      title="Webhooks"
      answer={answer}
      json={`/admin/v1/webhooks${failing === undefined ? "" : "?failing=true"}`}
      command={`sendwright webhooks all${failing === undefined ? "" : " --failing true"}`}
    >
      {({ next_cursor, webhooks }) => {
        const wrong = webhooks.filter((webhook) => stateOf(webhook)[0] === "bd")
        const [first] = wrong.toSorted((a, b) => ((a.failing_since ?? "") < (b.failing_since ?? "") ? -1 : 1))
        return (
          <>
            <Say>
              {webhooks.length === 0 ? (
                failing === undefined ? (
                  "Nobody listens yet."
                ) : (
                  "No endpoint fails."
                )
              ) : first === undefined ? (
                <>
                  <span class="ok">All {count(webhooks.length, "endpoint")} answer</span> what they are sent.
                </>
              ) : (
                <>
                  <span class="bad">
                    {n(wrong.length)} of {count(webhooks.length, "endpoint")}{" "}
                    {wrong.length === 1 ? "fails" : "fail"}
                  </span>
                  : <b>{first.url}</b> since <At at={first.failing_since} />. What is for it waits and is
                  tried again for 8 days.
                </>
              )}
            </Say>
            <div class="filters">
              <Choices
                label="Which endpoints"
                name="failing"
                of={[
                  ["", "All"],
                  ["true", "Those that fail"]
                ]}
              />
              <a class="l" href={href("webhooks/deliveries", { status: "pending" })}>
                All deliveries that wait
              </a>
            </div>
            <div class="grid">
              <Card title="Endpoints" beside="newest first">
                {webhooks.length === 0 ? (
                  <Empty title={failing === undefined ? "No endpoint yet" : "Nothing to mend"}>
                    {failing === undefined ? (
                      <>
                        An endpoint hears what becomes of an account's messages:{" "}
                        <Code>sendwright webhooks create</Code>.
                      </>
                    ) : (
                      "Each endpoint answered what it was sent last."
                    )}
                  </Empty>
                ) : (
                  <Table
                    label="Endpoints"
                    columns={[
                      { text: "Endpoint" },
                      { text: "State" },
                      { text: "Events", kind: "x" },
                      { text: "Fails since", kind: "r" }
                    ]}
                    rows={webhooks.map((webhook) => <Row of={webhook} key={webhook.id} />)}
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

const DeliveryRow = ({ of }: { readonly of: Delivery }) => {
  const [tone, word] = statuses[of.status]
  const last = of.attempts.at(-1)
  return (
    <tr class="row" data-row>
      <td>
        <a class="name" href={href(`webhooks/deliveries/${of.id}`)}>
          {of.event_type}
        </a>
        <small class="m">{shortId(of.id)}</small>
      </td>
      <td>
        <Chip tone={tone}>{word}</Chip>
      </td>
      <td class="r x">{n(of.attempts.length)}</td>
      <td class="x">
        {last === undefined ? "not tried yet" : `${answerOf(last)}, after ${spanOf(last.duration_ms)}`}
      </td>
      <td class="r nw">
        {of.status !== "pending" ? (
          <Ago at={of.created_at} />
        ) : of.next_attempt_at === null || Date.parse(of.next_attempt_at) <= clock.value ? (
          "due"
        ) : (
          <Ago at={of.next_attempt_at} />
        )}
      </td>
    </tr>
  )
}

const deliveryStatuses = ["pending", "exhausted", "delivered"] as const

const filterOf = (webhook_id: string | undefined) => ({
  webhook_id,
  about: param("about"),
  after: param("after"),
  before: param("before")
})

const useDeliveries = (webhookId: string | undefined) => {
  const cursor = param("cursor")
  const query = { ...filterOf(webhookId), status: paramOf("status", deliveryStatuses) }
  return useAnswer(JSON.stringify([query, cursor]), (init) =>
    api.GET("/admin/v1/deliveries", { ...init, params: { query: { limit: 50, cursor, ...query } } })
  )
}

const StatusChoices = ({ webhookId }: { readonly webhookId: string | undefined }) => {
  const filter = filterOf(webhookId)
  const counts = useCounts(JSON.stringify(filter), (init) =>
    [undefined, ...deliveryStatuses].map((status) =>
      api.GET("/admin/v1/counts/deliveries", { ...init, params: { query: { ...filter, status } } })
    )
  )
  return (
    <Choices
      label="Which deliveries"
      name="status"
      of={[
        ["", "All", counts[0]],
        ["pending", "Waiting", counts[1]],
        ["exhausted", "Given up", counts[2]],
        ["delivered", "Answered", counts[3]]
      ]}
    />
  )
}

const DeliveryTable = ({ of }: { readonly of: ReadonlyArray<Delivery> }) =>
  of.length === 0 ? (
    <Empty title="No such delivery">
      An event is delivered when something becomes of a message. A test sends one now.
    </Empty>
  ) : (
    <Table
      label="Deliveries"
      columns={[
        { text: "Event" },
        { text: "State" },
        { text: "Attempts", kind: "r x" },
        { text: "The last answer", kind: "x" },
        { text: "When", kind: "r" }
      ]}
      rows={of.map((delivery) => <DeliveryRow of={delivery} key={delivery.id} />)}
    />
  )

/** Between which times; a text that is no time is told by the API's refusal. */
const Times = () => (
  <form class="filters times" onSubmit={submitFilters}>
    {(["after", "before"] as const).map((name) => (
      <label class="choose" key={name}>
        <span>{name === "after" ? "Made since (UTC)" : "and before"}</span>
        <input name={name} placeholder="2026-11-29T08:00:00Z" value={param(name) ?? ""} />
      </label>
    ))}
    <button type="submit" class="btn">
      Look
    </button>
  </form>
)

const AllDeliveries = () => {
  const webhookId = param("webhook_id")
  const about = param("about")
  const answer = useDeliveries(webhookId)
  return (
    <Screen
      title="Deliveries"
      answer={answer}
      json="/admin/v1/deliveries"
      command="sendwright deliveries list"
    >
      {({ deliveries, next_cursor }) => (
        <>
          <Head crumb={<a href={href("webhooks")}>Webhooks</a>}>
            <h1>Deliveries</h1>
          </Head>
          <Say>
            <b>{next_cursor === null ? n(deliveries.length) : `${n(deliveries.length)} or more`}</b>{" "}
            {deliveries.length === 1 ? "delivery" : "deliveries"}{" "}
            {about === undefined ? (
              "of all endpoints"
            ) : (
              <>
                that tell of <b>{shortId(about)}</b>
              </>
            )}
            , the newest first.
          </Say>
          <div class="filters">
            <StatusChoices webhookId={webhookId} />
            <Times />
          </div>
          <div class="grid">
            <Card title="Deliveries">
              <DeliveryTable of={deliveries} />
              <Pager next={next_cursor} />
            </Card>
          </div>
        </>
      )}
    </Screen>
  )
}

const after = async <Done,>(done: Promise<Done>, refresh: () => void): Promise<Done> => {
  const answer = await done
  refresh()
  return answer
}

const replay = (id: string, { since = "", which }: Values, dry_run = false) =>
  api.POST("/admin/v1/webhooks/{id}/replay", {
    params: { path: { id } },
    body: {
      since: since.replace(/^(\d{4}-\d\d-\d\dT\d\d:\d\d)Z$/, "$1:00Z"),
      which: which === "missing" ? "missing" : "failed",
      dry_run
    }
  })

/** How many a replay would be, by what its form has. */
const Counted = ({ id }: { readonly id: string }) => {
  const told = useSignal("")
  return (
    <p>
      <button
        type="button"
        class="btn"
        onClick={async ({ currentTarget: { form } }) => {
          const { data, error } = await replay(id, form === null ? {} : valuesOf(form), true)
          told.value =
            data === undefined
              ? problemOf(error).detail
              : `It would be ${data.replayed < 1000 ? "" : "at least "}${count(data.replayed, "event")}.`
        }}
      >
        Count them
      </button>{" "}
      <span role="status">{told}</span>
    </p>
  )
}

const Acts = ({
  of,
  refresh,
  tag
}: {
  readonly of: Webhook
  readonly tag: string | null
  readonly refresh: () => void
}) => {
  const path = { params: { path: { id: of.id } } }
  return (
    <>
      {may("admin") && (
        <Act
          label="Send a test…"
          title="Send it a test event?"
          confirm="Send it"
          done="The test is on its way."
          run={() => after(api.POST("/admin/v1/webhooks/{id}/test", path), refresh)}
        >
          <p>
            A <Code>webhook.test</Code> event, signed as all others. It appears among the deliveries with its
            answer.
          </p>
        </Act>
      )}
      {may("support") && (
        <Act
          label="Replay…"
          title="Send events again?"
          confirm="Replay them"
          done="They are sent again."
          fields={[
            {
              name: "since",
              label: "Since (UTC)",
              value: `${(of.failing_since ?? new Date(Date.now() - 86_400_000).toISOString()).slice(0, 16)}Z`
            },
            {
              name: "which",
              label: "Which",
              options: [
                ["failed", "those that were given up"],
                ["missing", "those that it never had, too"]
              ]
            }
          ]}
          run={(values) => after(replay(of.id, values), refresh)}
          footer={<Counted id={of.id} />}
        >
          <p>
            Each is a new delivery of an event that it may have taken already: a receiver knows it by its id.
          </p>
        </Act>
      )}
      {may("admin") && (
        <Act
          label={of.enabled ? "Disable…" : "Enable…"}
          title={of.enabled ? "Disable the endpoint?" : "Enable the endpoint?"}
          confirm={of.enabled ? "Disable it" : "Enable it"}
          tone={of.enabled ? "d" : "p"}
          done={of.enabled ? "It is disabled." : "It is enabled."}
          tag={tag}
          run={(_, match) =>
            after(
              api.PATCH("/admin/v1/webhooks/{id}", { ...path, ...match, body: { enabled: !of.enabled } }),
              refresh
            )
          }
        >
          <p>
            {of.enabled
              ? "Nothing is lost: what comes meanwhile waits, and is sent when it is enabled."
              : "What waits is sent, the oldest first, each with a new schedule."}
          </p>
        </Act>
      )}
    </>
  )
}

const Endpoint = ({ id }: { readonly id: string }) => {
  const answer = useAnswer(id, (init) =>
    api.GET("/admin/v1/webhooks/{id}", { ...init, params: { path: { id } } })
  )
  const deliveries = useDeliveries(id)
  const refresh = () => {
    answer.refresh()
    deliveries.refresh()
  }
  return (
    <Screen
      title="Webhook"
      answer={answer}
      json={`/admin/v1/webhooks/${encodeURIComponent(id)}`}
      command={`sendwright webhooks deliveries ${id}`}
    >
      {({ webhook }) => {
        const [tone, word] = stateOf(webhook)
        const last = (deliveries.data?.deliveries ?? [])
          .flatMap(({ attempts }) => attempts)
          .toSorted((a, b) => (a.at < b.at ? 1 : -1))[0]
        return (
          <>
            <Head
              crumb={<a href={href("webhooks")}>Webhooks</a>}
              acts={<Acts of={webhook} refresh={refresh} tag={answer.tag} />}
            >
              <h1>{webhook.url}</h1>
              <Chip tone={tone}>{word}</Chip>
            </Head>
            <Say>
              {tone === "bd" ? (
                <>
                  <span class="bad">
                    It fails since <At at={webhook.failing_since} />
                  </span>
                  , <Ago at={webhook.failing_since} />
                  {last === undefined ? "" : ` (${answerOf(last)})`}. Mend the receiver: what waits is tried
                  again by itself for 8 days, and nothing is lost.
                </>
              ) : tone === "of" ? (
                <>
                  <b>It is disabled</b>
                  {webhook.disabled_reason === null
                    ? ""
                    : `: ${webhook.disabled_reason.replaceAll("_", " ")}`}
                  . What comes meanwhile waits.
                </>
              ) : (
                <>
                  <span class="ok">It answers</span> what it is sent.
                </>
              )}
            </Say>
            <div class="grid g2 top2">
              <Card title="Deliveries" beside="newest first">
                <div class="inside">
                  <StatusChoices webhookId={id} />
                </div>
                {deliveries.data !== undefined && (
                  <>
                    <DeliveryTable of={deliveries.data.deliveries} />
                    <Pager next={deliveries.data.next_cursor} />
                  </>
                )}
              </Card>
              <Card title="Of what">
                <Facts
                  of={[
                    ["Account", accountOf(webhook.account_id)],
                    ["For", webhook.description],
                    ["Events", webhook.events.join(", ")],
                    [
                      "Pace",
                      webhook.deliveries_per_second === null
                        ? "as fast as it answers"
                        : `${webhook.deliveries_per_second} a second`
                    ],
                    [
                      "Recipients",
                      webhook.batch_recipients ? "up to a hundred in one event" : "one in each event"
                    ],
                    ["Secret since", <At at={webhook.secrets.at(-1)?.created_at ?? null} />],
                    ["Made", <At at={webhook.created_at} />],
                    ["Webhook", <Code>{webhook.id}</Code>]
                  ]}
                />
              </Card>
            </div>
          </>
        )
      }}
    </Screen>
  )
}

/** As it is read best: indented where it is JSON. */
const readable = (text: string): string => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

const AttemptStep = ({ of }: { readonly of: Attempt }) => (
  <li class={of.reason === null ? "ok" : "bd"}>
    <At at={of.at} />
    <span>
      <span class="pin" />
    </span>
    <div class="what">
      <b>
        Attempt {of.number}: {answerOf(of)}
      </b>
      <p>After {spanOf(of.duration_ms)}.</p>
      {of.response !== "" && <pre>{of.response}</pre>}
    </div>
  </li>
)

const DeliveryScreen = ({ id }: { readonly id: string }) => {
  const answer = useAnswer(id, (init) =>
    api.GET("/admin/v1/deliveries/{id}", { ...init, params: { path: { id } } })
  )
  return (
    <Screen
      title="Delivery"
      answer={answer}
      json={`/admin/v1/deliveries/${encodeURIComponent(id)}`}
      command={`sendwright deliveries show ${id}`}
    >
      {({ delivery }) => {
        const [tone, word] = statuses[delivery.status]
        const last = delivery.attempts.at(-1)
        return (
          <>
            <Head
              crumb={
                <>
                  <a href={href("webhooks")}>Webhooks</a> /{" "}
                  <a href={href(`webhooks/${delivery.webhook_id}`)}>its endpoint</a>
                </>
              }
              acts={
                may("support") && (
                  <Act
                    label="Replay…"
                    title="Send it again?"
                    confirm="Send it"
                    done="It is sent again."
                    run={() =>
                      after(
                        api.POST("/admin/v1/deliveries/{id}/replay", { params: { path: { id } } }),
                        answer.refresh
                      )
                    }
                  >
                    <p>The same event with the same id: a receiver that has it already knows that.</p>
                  </Act>
                )
              }
            >
              <h1>{delivery.event_type}</h1>
              <Chip tone={tone}>{word}</Chip>
            </Head>
            <Say>
              {delivery.status === "delivered" ? (
                <span class="ok">It was answered</span>
              ) : delivery.status === "pending" ? (
                <b>It waits</b>
              ) : (
                <span class="bad">It was given up</span>
              )}
              {last === undefined
                ? " and was not tried yet"
                : `: ${answerOf(last)}, after ${count(delivery.attempts.length, "attempt")}`}
              {delivery.status === "pending" && (
                <>
                  ; tried next <Ago at={delivery.next_attempt_at} />
                </>
              )}
              .
            </Say>
            <div class="grid g2 top2">
              <Card title="Its payload" beside="byte for byte what is signed and sent, indented here">
                <pre>{readable(delivery.payload)}</pre>
              </Card>
              <div class="side">
                <Card title="Attempts" beside={n(delivery.attempts.length)}>
                  {delivery.attempts.length === 0 ? (
                    <Empty title="None yet">It is tried when its turn comes.</Empty>
                  ) : (
                    <ol class="story">
                      {delivery.attempts.map((attempt) => (
                        <AttemptStep of={attempt} key={attempt.number} />
                      ))}
                    </ol>
                  )}
                </Card>
                <Card title="Of what">
                  <Facts
                    of={[
                      ["Event", <Code>{delivery.event_id}</Code>],
                      ["Delivery", <Code>{delivery.id}</Code>],
                      ["Made", <At at={delivery.created_at} />]
                    ]}
                  />
                </Card>
              </div>
            </div>
          </>
        )
      }}
    </Screen>
  )
}

export const Webhooks = ({
  id,
  of
}: {
  readonly id: string | undefined
  readonly of: string | undefined
}) => {
  if (id === undefined) return <Endpoints />
  if (id !== "deliveries") return <Endpoint id={id} key={id} />
  return of === undefined ? <AllDeliveries /> : <DeliveryScreen id={of} key={of} />
}
