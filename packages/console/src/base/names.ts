/** The names of accounts and sessions, for where the API tells their ids alone. */
import { signal } from "@preact/signals"
import { useEffect } from "preact/hooks"
import { api, type Schemas } from "./api.ts"
import { useAnswer } from "./live.ts"

/** Of the newest of them, as many as one page has. */
const most = 100
const every = 30_000

export const accounts = signal<
  ReadonlyArray<Pick<Schemas["Account"], "id" | "name" | "currency">> | undefined
>(undefined)
export const sessions = signal<ReadonlyArray<Schemas["Session"]> | undefined>(undefined)

export const accountOf = (id: string | null): string =>
  accounts.value?.find((account) => account.id === id)?.name ?? (id === null ? "no account" : id.slice(0, 8))
export const sessionOf = (id: string | null): string =>
  sessions.value?.find((session) => session.id === id)?.name ?? (id === null ? "no session" : id.slice(0, 8))

/** Learns the names while it is there. */
export const Names = () => {
  const query = { params: { query: { limit: most } } }
  const told = useAnswer("accounts", (init) => api.GET("/admin/v1/accounts", { ...init, ...query }), {
    every
  })
  const open = useAnswer("sessions", (init) => api.GET("/admin/v1/sessions", { ...init, ...query }), {
    every
  })
  useEffect(() => {
    accounts.value = told.data?.accounts ?? accounts.peek()
  }, [told.data])
  useEffect(() => {
    sessions.value = open.data?.sessions ?? sessions.peek()
  }, [open.data])
  return null
}
