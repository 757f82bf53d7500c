/** What is around each screen: where one may go, the search, the clock, and whether the host is there. */
import { signal, useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect, useRef } from "preact/hooks"
import { api, awaySince, operator, type Schemas, signOut } from "../base/api.ts"
import { clock, isPaused, useAnswer } from "../base/live.ts"
import { Names } from "../base/names.ts"
import { go, href, isOfApp, param, path } from "../base/place.ts"
import { isLocal, ownPlace, setLocal, spanOf, timeOf } from "../base/time.tsx"
import { toneOfAttention } from "../base/words.ts"
import { Dialog, Toast } from "./Acts.tsx"
import { isHelpOpen, keys } from "./Keys.ts"
import { Icon, Mark } from "./Parts.tsx"

/** What needs somebody, as the overview told it last. */
export const attention = signal<ReadonlyArray<Schemas["AttentionItem"]>>([])
export const version = signal<string | null>(null)

const screens: ReadonlyArray<
  readonly [to: string, name: string, kinds: ReadonlyArray<Schemas["AttentionItem"]["kind"]>]
> = [
  ["", "Now", []],
  ["search", "Messages", []],
  ["jobs", "Jobs", ["failures_rising", "queue_slow"]],
  ["schedule", "Schedule", []],
  ["sessions", "Sessions", ["session_unavailable", "session_blocked", "session_disconnected"]],
  ["templates", "Templates", ["template_paused"]],
  ["webhooks", "Webhooks", ["webhook_failing", "webhook_disabled"]],
  ["people", "People", ["erasure_stuck"]],
  ["doubts", "Doubts", ["refusals_doubtful", "hooks_unread"]],
  ["usage", "Usage and cost", ["quota_full"]],
  ["access", "Access", []]
]

const isIn = (to: string): boolean => {
  const [first = ""] = path.value.split("/")
  return to === (first === "messages" ? "search" : first)
}

const Links = () => (
  <>
    {screens.map(([to, name, kinds]) => {
      const items = attention.value.filter(({ kind }) => kinds.includes(kind))
      const tone = items.some(({ kind }) => toneOfAttention(kind) === "bd") ? "bd" : "wt"
      return (
        <a class="n" href={href(to)} aria-current={isIn(to) ? "page" : undefined} key={to}>
          {name}
          {items.length > 0 && (
            <span class={`badge ${tone}`} title={items.map(({ title }) => title).join("\n")}>
              {items.length}
            </span>
          )}
        </a>
      )
    })}
  </>
)

const may: Readonly<Record<string, string>> = {
  read: "reads",
  support: "reads and mends",
  admin: "may change everything",
  metrics: "reads metrics alone"
}

const Who = () => (
  <small>
    {operator.value?.name} · {may[operator.value?.role ?? ""]}
    <br />
    {version.value !== null && <>v{version} · </>}
    <button type="button" class="l" onClick={() => (isHelpOpen.value = true)}>
      Keys: press ?
    </button>
    {!isOfApp && (
      <>
        <br />
        <button type="button" class="l" onClick={() => void signOut()}>
          Sign out
        </button>
      </>
    )}
  </small>
)

const Search = () => {
  const input = useRef<HTMLInputElement>(null)
  const asked = path.value === "search" ? (param("q") ?? "") : ""
  useEffect(() => {
    if (input.current !== null && asked !== "") input.current.value = asked
  }, [asked])
  return (
    <search class="search">
      <form
        onSubmit={(event) => {
          event.preventDefault()
          const q = input.current?.value.trim() ?? ""
          if (q !== "") go(href("search", { q, go: "first" }))
          input.current?.blur()
        }}
      >
        <svg
          width="15"
          height="15"
          viewBox="0 0 16 16"
          fill="none"
          stroke="currentColor"
          stroke-width="1.7"
          aria-hidden="true"
        >
          <circle cx="7" cy="7" r="4.6" />
          <path d="m10.5 10.5 4 4" />
        </svg>
        <input
          ref={input}
          id="search"
          type="search"
          placeholder="A phone number, reference or any id"
          aria-label="Search"
          autocomplete="off"
          spellcheck={false}
          maxLength={255}
        />
        <kbd>/</kbd>
      </form>
    </search>
  )
}

const Live = () => {
  const since = awaySince.value
  const [kind, text] =
    since !== null ? ["bd", "No answer"] : isPaused.value ? ["of", "Paused"] : ["ok", "Live"]
  return (
    <button
      type="button"
      class="live"
      aria-pressed={isPaused.value}
      title="p pauses"
      onClick={() => (isPaused.value = !isPaused.value)}
    >
      <span class={`dot ${kind}`} />
      {text}
    </button>
  )
}

const Away = () =>
  awaySince.value === null ? null : (
    <div class="away" role="alert">
      The host gives no answer since <b>{timeOf(awaySince.value)}</b>, for{" "}
      {spanOf(Math.max(1000, clock.value - awaySince.value), 2)}. What is shown is older; it is asked again
      every 2 seconds, and this page goes on by itself.
    </div>
  )

const Help = () =>
  isHelpOpen.value ? (
    <Dialog title="Keys" onClose={() => (isHelpOpen.value = false)}>
      <dl class="inside">
        {keys.map(([key, what]) => (
          <>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{what}</dd>
          </>
        ))}
      </dl>
    </Dialog>
  ) : null

/** Tells the badges; on *Now* the screen does. */
const Watch = () => {
  const { data } = useAnswer("attention", (init) => api.GET("/admin/v1/overview", init), { every: 15_000 })
  useEffect(() => {
    if (data === undefined) return
    attention.value = data.overview.attention
    version.value = data.overview.version
  }, [data])
  return null
}

export const Shell = ({ children }: { readonly children: ComponentChildren }) => {
  const isMore = useSignal(false)
  useEffect(() => {
    isMore.value = false
  }, [path.value])
  return (
    <div class="app">
      <button
        type="button"
        class="past"
        onClick={() => document.querySelector<HTMLElement>("#main")?.focus()}
      >
        To the screen
      </button>
      <nav class="rail" data-open={isMore.value} aria-label="Screens">
        <a class="brand" href={href("")}>
          <Mark />
          Sendwright
        </a>
        <Links />
        <div class="grow" />
        <Who />
      </nav>
      <div class="page">
        <header class="top">
          <a class="brand" href={href("")}>
            <Mark />
            Sendwright
          </a>
          <Search />
          <fieldset class="zone" aria-label="Times in">
            <button type="button" aria-pressed={!isLocal.value} onClick={() => setLocal(false)}>
              UTC
            </button>
            <button type="button" aria-pressed={isLocal.value} onClick={() => setLocal(true)}>
              {ownPlace === "UTC" ? "Local" : ownPlace}
            </button>
          </fieldset>
          <Live />
        </header>
        <Away />
        <main id="main" tabIndex={-1}>
          {children}
        </main>
      </div>
      <nav class="tabs" aria-label="Screens, in short">
        {tabs.map(([to, name, d]) => (
          <a href={href(to)} aria-current={isIn(to) ? "page" : undefined} key={to}>
            <Icon d={d} />
            {name}
          </a>
        ))}
        <button type="button" aria-expanded={isMore.value} onClick={() => (isMore.value = !isMore.value)}>
          <Icon d="M4 10h.01M10 10h.01M16 10h.01" />
          More
        </button>
      </nav>
      {path.value !== "" && <Watch />}
      <Names />
      <Help />
      <Toast />
    </div>
  )
}

const tabs = [
  ["", "Now", "M2 11h4l2.5-6 4 11L15 9h3"],
  ["search", "Messages", "M3 4h14v10H8l-4 3v-3H3z"],
  ["jobs", "Jobs", "M3 5h14M3 10h14M3 15h9"],
  ["webhooks", "Webhooks", "M5 10a5 5 0 0 1 10 0M10 10v6M7 13l3 3 3-3"]
] as const
