/** What is asked again every two seconds while somebody looks, and not at all while nobody does. */
import { computed, effect, signal, useSignal } from "@preact/signals"
import { useEffect, useRef } from "preact/hooks"
import { type Problem, problemOf, type Schemas } from "./api.ts"
import { countedOf } from "./words.ts"

export const isPaused = signal(false)
const isVisible = signal(document.visibilityState === "visible")
document.addEventListener("visibilitychange", () => {
  isVisible.value = document.visibilityState === "visible"
})
const isWatching = computed(() => isVisible.value && !isPaused.value)

/** The browser's time, by the second, for what is told relative to it. */
export const clock = signal(Date.now())
setInterval(() => {
  if (isVisible.value) clock.value = Date.now()
}, 1000)

export type Init = {
  readonly headers: Readonly<Record<string, string>>
  readonly signal: AbortSignal
}

/** The answer of a call, of which only what is read here is named. */
export type Asked<Data> = Promise<{
  readonly data?: Data
  readonly error?: unknown
  readonly response: Response
}>

export interface Answer<Data> {
  readonly data: Data | undefined
  readonly problem: Problem | undefined
  /** What it is as it was last answered, for a change of the same. */
  readonly tag: string | null
  /** When it was last answered, in the browser's time. */
  readonly at: number | null
  /** Milliseconds between two questions; 0 where it is asked once. */
  readonly every: number
  readonly refresh: () => void
}

/**
 * Asks while the component is there; what was answered stays until the next answer, also while the host is away.
 *
 * @param key what the question depends on
 * @param every milliseconds; 0 asks once
 */
export const useAnswer = <Data>(
  key: string,
  ask: (init: Init) => Asked<Data>,
  { every = 2000 }: { readonly every?: number } = {}
): Answer<Data> => {
  const state = useSignal<Omit<Answer<Data>, "every" | "refresh">>({
    data: undefined,
    problem: undefined,
    tag: null,
    at: null
  })
  const again = useRef(() => {})
  useEffect(() => {
    const gone = new AbortController()
    let timer: ReturnType<typeof setTimeout> | undefined
    let tag: string | null = null
    let turn = 0
    const run = async (): Promise<void> => {
      clearTimeout(timer)
      turn += 1
      const mine = turn
      const headers: Record<string, string> = tag === null ? {} : { "if-none-match": tag }
      const next = await ask({ headers, signal: gone.signal }).then(
        ({ data, error, response }) => {
          if (response.status === 304) return { ...state.peek(), problem: undefined, at: Date.now() }
          tag = response.headers.get("etag")
          return data === undefined
            ? { data: undefined, problem: problemOf(error, response.status), tag, at: Date.now() }
            : { data, problem: undefined, tag, at: Date.now() }
        },
        () => ({ ...state.peek(), problem: problemOf(undefined) })
      )
      if (gone.signal.aborted || mine !== turn) return
      state.value = next
      if (isWatching.peek() && every > 0) timer = setTimeout(run, every)
    }
    again.current = run
    let isFirst = true
    const stop = effect(() => {
      const isOn = isWatching.value
      if (isFirst || (isOn && every > 0)) void run()
      else clearTimeout(timer)
      isFirst = false
    })
    return () => {
      gone.abort()
      clearTimeout(timer)
      stop()
    }
  }, [key])
  return { ...state.value, every, refresh: () => again.current() }
}

/** The first page that has what is looked for, else the last. */
export const pageWith = async <Data extends { readonly next_cursor: string | null }>(
  ask: (cursor: string | undefined) => Asked<Data>,
  has: (data: Data) => boolean
): Asked<Data> => {
  let answer = await ask(undefined)
  while (answer.data !== undefined && answer.data.next_cursor !== null && !has(answer.data))
    answer = await ask(answer.data.next_cursor)
  return answer
}

/** How many each of several lists has, as far as that was counted; it is asked less often than a list. */
export const useCounts = (
  key: string,
  ask: (init: Pick<Init, "signal">) => ReadonlyArray<Asked<Schemas["Counted"]>>
): ReadonlyArray<string> =>
  (useAnswer(key, (init) => together(ask({ signal: init.signal })), { every: 30_000 }).data ?? []).map(
    countedOf
  )

/** Several calls as one answer: the first that is refused is what all of them are told as. */
export const together = async <Data>(
  calls: ReadonlyArray<Asked<Data>>
): Promise<Awaited<Asked<ReadonlyArray<Data>>>> => {
  const answers = await Promise.all(calls)
  const refused = answers.find(({ data }) => data === undefined)
  if (refused !== undefined) return { error: refused.error, response: refused.response }
  const data = answers.flatMap(({ data }) => (data === undefined ? [] : [data]))
  return { data, response: answers[0]?.response ?? new Response() }
}
