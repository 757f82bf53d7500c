/** Where one is: the path below the console's base, and its query. Links are plain; one listener follows them. */
import { computed, signal } from "@preact/signals"

const base = new URL(document.baseURI).pathname

/** What the host has written into the page. */
const written = (name: string): string =>
  document.querySelector<HTMLMetaElement>(`meta[name="sendwright-${name}"]`)?.content ?? ""

/** The prefix of the API. */
export const apiPrefix = written("api").replace(/\/$/, "")

/** True where the console is a part of an app, which says who is an operator: nobody signs in here. */
export const isOfApp = written("sign-in") === "app"

const read = (): URL => new URL(location.href)
const url = signal(read())

/** `jobs/1` of `/console/jobs/1`; empty at its front. */
export const path = computed(() =>
  `${url.value.pathname.replace(/\/?$/, "/")}`.slice(base.length).replace(/\/$/, "")
)
export const query = computed(() => url.value.searchParams)

/** A parameter of the address; undefined where it is absent or empty. */
export const param = (name: string): string | undefined => query.value.get(name) || undefined

/** A parameter, where it is one of the words that are known. */
export const paramOf = <Word extends string>(name: string, words: ReadonlyArray<Word>): Word | undefined =>
  words.find((word) => word === query.value.get(name))

export type Params = Readonly<Record<string, string | number | boolean | null | undefined>>

const queryOf = (params: Params): string => {
  const given = Object.entries(params).flatMap(([name, value]) =>
    value === undefined || value === null || value === "" ? [] : [[name, String(value)]]
  )
  return given.length === 0 ? "" : `?${new URLSearchParams(given)}`
}

/** An address of the console, relative to its base. */
export const href = (to: string, params: Params = {}): string => `${to === "" ? "./" : to}${queryOf(params)}`

/** This screen with other parameters; the page of a list belongs to its filters and goes with them. */
export const here = (params: Params): string =>
  href(path.value, { ...Object.fromEntries(query.value), cursor: undefined, ...params })

export const go = (to: string, replaces = false): void => {
  const next = new URL(to, document.baseURI)
  if (replaces) history.replaceState(null, "", next)
  else history.pushState(null, "", next)
  const isElsewhere = next.pathname !== url.value.pathname
  url.value = next
  if (isElsewhere) scrollTo(0, 0)
}

/** What a form has, without white space around it. */
export const valuesOf = (form: HTMLFormElement): Readonly<Record<string, string>> =>
  Object.fromEntries(
    Array.from(new FormData(form), ([name, value]) => [name, typeof value === "string" ? value.trim() : ""])
  )

/** For a form of filters: this screen with its values. */
export const submitFilters = (event: SubmitEvent & { readonly currentTarget: HTMLFormElement }): void => {
  event.preventDefault()
  go(here(valuesOf(event.currentTarget)))
}

/** Follows links of the console without loading it anew. */
export const followLinks = (): void => {
  addEventListener("popstate", () => {
    url.value = read()
  })
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0) return
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return
    const link = event.target instanceof Element ? event.target.closest("a") : null
    if (link === null || link.target !== "" || link.hasAttribute("download")) return
    const to = new URL(link.href)
    if (to.origin !== location.origin || !`${to.pathname}/`.startsWith(base)) return
    event.preventDefault()
    go(link.href)
  })
}

/** The screen of what a path of the API leads to; undefined where none shows it. */
export const screenOf = (apiPath: string): string | undefined => {
  const { pathname, searchParams } = new URL(apiPath, "http://api")
  const given = Object.fromEntries(searchParams)
  const rest = pathname.slice(Math.max(0, pathname.indexOf("/admin/v1/"))).replace("/admin/v1/", "")
  const [kind = "", id, what, more] = rest.split("/")
  if (kind === "accounts" && id !== undefined) {
    if (what === "consents") return href("people", { q: given["phone"] ?? given["user_id"] })
    return what === "perhaps-refusals" || what === "unattributed"
      ? href("doubts", { account_id: id })
      : href("usage", { account_id: id })
  }
  if (kind === "sessions" && id !== undefined) {
    if (what === "templates") return href("templates", { session_id: id })
    return what === "hooks" && more === "unread" ? href("doubts", { session_id: id }) : href(`sessions/${id}`)
  }
  const screens: Readonly<Record<string, string>> = {
    overview: href(""),
    storage: href(""),
    jobs: href(id === undefined ? "jobs" : `jobs/${id}`, given),
    messages: href(`messages/${id}`),
    webhooks: href(id === undefined ? "webhooks" : `webhooks/${id}`),
    deliveries: href(id === undefined ? "webhooks/deliveries" : `webhooks/deliveries/${id}`, given),
    people: href("people"),
    audit: href("access", { ...given, show: "audit" }),
    keys: href("access", { q: id }),
    templates: href(`templates/${id}`)
  }
  return screens[kind]
}
