/** Calls of the admin API, typed by its description. */
import { signal } from "@preact/signals"
import createClient from "openapi-fetch"
import type { components, paths } from "../../generated/api.d.ts"
import { apiPrefix } from "./place.ts"

export type Schemas = components["schemas"]
export type Problem = Pick<Schemas["Problem"], "title" | "detail"> & {
  readonly status: number
  readonly code: string
  readonly request_id?: string
  readonly errors?: ReadonlyArray<{ readonly pointer: string; readonly message: string }>
}

export interface Operator {
  readonly name: string
  readonly role: "metrics" | "read" | "support" | "admin"
  readonly mask_phones: boolean
}

/** undefined: not asked yet; null: nobody is signed in. */
export const operator = signal<Operator | null | undefined>(undefined)

/** What the operator may do beyond reading; the API decides, this only hides what it would refuse. */
export const may = (role: "support" | "admin"): boolean => {
  const has = operator.value?.role
  return has === "admin" || (role === "support" && has === "support")
}

/** Since when the host gives no answer, in the browser's time; null: it does. */
export const awaySince = signal<number | null>(null)

/** Calls `fetch` of the page at each call, and tells by it whether the host is there. */
const watched = async (request: Request): Promise<Response> => {
  try {
    const response = await fetch(request)
    // What stands between us and the host answers these for it.
    if (response.status === 502 || response.status === 504) throw new TypeError("The host does not answer.")
    awaySince.value = null
    if (response.status === 401) operator.value = null
    return response
  } catch (error) {
    if (!request.signal.aborted) awaySince.value ??= Date.now()
    throw error
  }
}

export const api = createClient<paths>({
  baseUrl: apiPrefix,
  credentials: "same-origin",
  cache: "no-store",
  fetch: watched
})

/** The address of a reading that the browser follows by itself, such as a file to keep. */
export const apiLink = (path: string, params: Readonly<Record<string, string | undefined>> = {}): string => {
  const given = Object.entries(params).flatMap(([name, value]) =>
    value === undefined ? [] : [[name, value]]
  )
  return `${apiPrefix}${path}${given.length === 0 ? "" : `?${new URLSearchParams(given)}`}`
}

const isObject = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === "object" && value !== null

/** A refusal as it was told, or as far as there is one. */
export const problemOf = (error: unknown, status = 0): Problem => {
  if (isObject(error) && typeof error["detail"] === "string" && typeof error["title"] === "string") {
    const { code, detail, errors, request_id, title } = error
    return {
      title,
      detail,
      status,
      code: String(code ?? ""),
      ...(typeof request_id === "string" ? { request_id } : {}),
      ...(Array.isArray(errors) ? { errors } : {})
    }
  }
  return status === 0
    ? { title: "No answer", detail: "The host does not answer.", status, code: "" }
    : { title: `Status ${status}`, detail: "The answer cannot be read.", status, code: "" }
}

const signing = async (
  what: "sign-in" | "sign-out" | "operators/me",
  body?: unknown
): Promise<Problem | undefined> => {
  try {
    const isRead = what === "operators/me"
    const response = await watched(
      new Request(`${apiPrefix}/admin/v1/${what}`, {
        method: isRead ? "GET" : "POST",
        credentials: "same-origin",
        cache: "no-store",
        ...(body === undefined
          ? {}
          : { headers: { "content-type": "application/json" }, body: JSON.stringify(body) })
      })
    )
    const answer: unknown = await response.json().catch(() => undefined)
    if (!response.ok) return problemOf(answer, response.status)
    operator.value =
      what !== "sign-out" && isObject(answer) && isOperator(answer["operator"]) ? answer["operator"] : null
    return undefined
  } catch {
    return problemOf(undefined)
  }
}

const isOperator = (value: unknown): value is Operator =>
  isObject(value) && typeof value["name"] === "string" && typeof value["role"] === "string"

export const signIn = (token: string) => signing("sign-in", { token })
export const signOut = () => signing("sign-out")
export const whoAmI = () => signing("operators/me")
