/** The keys: none of them does anything while one writes. */
import { signal } from "@preact/signals"
import { isPaused } from "../base/live.ts"

export const isHelpOpen = signal(false)

export const keys: ReadonlyArray<readonly [key: string, what: string]> = [
  ["/", "Search"],
  ["j", "The next row"],
  ["k", "The row before"],
  ["Enter", "Open the row"],
  ["p", "Pause, or go on"],
  ["?", "These keys"]
]

/** Moves from row to row; the browser opens on Enter what has the focus. */
const move = (by: 1 | -1): void => {
  const links = [
    ...document.querySelectorAll<HTMLElement>("main [data-row] a[href], main [data-row] button")
  ].filter((link) => link.closest("[data-row]")?.querySelector("a[href], button") === link)
  const current = links.findIndex((link) => link.closest("[data-row]")?.contains(document.activeElement))
  links[
    current === -1 ? (by === 1 ? 0 : links.length - 1) : Math.min(links.length - 1, Math.max(0, current + by))
  ]?.focus()
}

const isWriting = (target: EventTarget | null): boolean =>
  target instanceof HTMLElement &&
  (/^(?:INPUT|TEXTAREA|SELECT)$/.test(target.tagName) || target.isContentEditable)

const acts: Readonly<Record<string, () => void>> = {
  "/": () => {
    const search = document.querySelector<HTMLInputElement>("#search")
    search?.focus()
    search?.select()
  },
  j: () => move(1),
  k: () => move(-1),
  p: () => {
    isPaused.value = !isPaused.value
  },
  "?": () => {
    isHelpOpen.value = true
  }
}

export const listen = (): void =>
  document.addEventListener("keydown", (event) => {
    if (event.metaKey || event.ctrlKey || event.altKey || isWriting(event.target)) return
    if (document.querySelector("dialog[open]") !== null) return
    const row = document.activeElement?.closest("[data-row]")
    const own = Array.from(row?.querySelectorAll<HTMLElement>("[data-key]") ?? []).find(
      (button) => button.dataset["key"] === event.key
    )
    const act = own === undefined ? acts[event.key] : () => own.click()
    if (act === undefined) return
    event.preventDefault()
    act()
  })
