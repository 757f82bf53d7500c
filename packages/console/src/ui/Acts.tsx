/** What changes something: first told with its effect, then done, then told that it is done. */

import { signal, useSignal } from "@preact/signals"
import type { ComponentChildren } from "preact"
import { useEffect, useId, useRef } from "preact/hooks"
import { type Problem, problemOf } from "../base/api.ts"
import { valuesOf } from "../base/place.ts"
import { Trouble } from "./Parts.tsx"

const told = signal("")
let clearing: ReturnType<typeof setTimeout> | undefined
export const tell = (text: string): void => {
  told.value = text
  clearTimeout(clearing)
  clearing = setTimeout(() => {
    told.value = ""
  }, 5000)
}
export const Toast = () => (
  <div class="toast" role="status" data-on={told.value !== ""}>
    {told}
  </div>
)

export interface Field {
  readonly name: string
  readonly label: string
  readonly value?: string
  readonly hint?: string
  readonly optional?: boolean
  readonly options?: ReadonlyArray<readonly [value: string, text: string]>
}

export type Values = Readonly<Record<string, string>>
export type Done = Promise<{ readonly error?: unknown; readonly response: Response; readonly data?: unknown }>

/** A dialog over the page, which Escape and its button close. */
export const Dialog = ({
  children,
  onClose,
  title
}: {
  readonly title: string
  readonly onClose: () => void
  readonly children: ComponentChildren
}) => {
  const dialog = useRef<HTMLDialogElement>(null)
  const name = useId()
  useEffect(() => {
    dialog.current?.showModal()
  }, [])
  return (
    <dialog ref={dialog} onClose={onClose} aria-labelledby={name}>
      <header>
        <h2 id={name}>{title}</h2>
        <button type="button" class="close" aria-label="Close" onClick={() => dialog.current?.close()}>
          ×
        </button>
      </header>
      {children}
    </dialog>
  )
}

const FieldOf = ({ field }: { readonly field: Field }) => {
  const id = useId()
  return (
    <div class="field">
      <label for={id}>{field.label}</label>
      {field.options === undefined ? (
        <input
          id={id}
          name={field.name}
          defaultValue={field.value ?? ""}
          required={field.optional !== true}
        />
      ) : (
        <select id={id} name={field.name} defaultValue={field.value ?? ""}>
          {field.options.map(([value, text]) => (
            <option value={value} key={value}>
              {text}
            </option>
          ))}
        </select>
      )}
      {field.hint !== undefined && <small>{field.hint}</small>}
    </div>
  )
}

const changed: Problem = {
  title: "It was changed meanwhile",
  detail:
    "Somebody else changed it, or something happened to it, since you opened this. Nothing was done. Behind this it is shown as it is now: press again if you still mean it.",
  status: 412,
  code: "precondition_failed"
}

/**
 * A button, behind it what it will do, and a second one that does it.
 *
 * @param tag of what is changed, as it is shown: nothing is done where it is another by the time that somebody presses
 * @param after what is shown of the answer in the place of a short word, such as a secret that is shown once
 */
export const Act = ({
  after,
  children,
  confirm,
  done,
  fields = [],
  footer,
  label,
  run,
  tag = null,
  title,
  tone = ""
}: {
  readonly label: string
  readonly title: string
  readonly confirm: string
  readonly done?: string
  readonly fields?: ReadonlyArray<Field>
  readonly tone?: "" | "p" | "d"
  readonly run: (values: Values, match: { readonly headers: { readonly "if-match": string | null } }) => Done
  readonly tag?: string | null
  readonly after?: (data: unknown) => ComponentChildren
  readonly children?: ComponentChildren
  /** What stands under the fields. */
  readonly footer?: ComponentChildren
}) => {
  const isOpen = useSignal(false)
  const isBusy = useSignal(false)
  const problem = useSignal<Problem | undefined>(undefined)
  const result = useSignal<unknown>(undefined)
  const seen = useRef<string | null>(null)
  const close = () => {
    isOpen.value = false
    problem.value = undefined
    result.value = undefined
  }
  const submit = async (form: HTMLFormElement) => {
    isBusy.value = true
    const values = valuesOf(form)
    try {
      const { data, error, response } = await run(values, {
        headers: { "if-match": seen.current ?? tag }
      })
      problem.value = response.ok
        ? undefined
        : response.status === changed.status
          ? changed
          : problemOf(error, response.status)
      if (response.status === changed.status) seen.current = null
      if (response.ok) {
        if (after === undefined) close()
        else result.value = data
        tell(done ?? "Done.")
      }
    } catch {
      problem.value = problemOf(undefined)
    }
    isBusy.value = false
  }
  return (
    <>
      <button
        type="button"
        class={`btn ${tone}`}
        onClick={() => {
          seen.current = tag
          isOpen.value = true
        }}
      >
        {label}
      </button>
      {isOpen.value && (
        <Dialog title={title} onClose={close}>
          {result.value !== undefined && after !== undefined ? (
            <div class="inside">{after(result.value)}</div>
          ) : (
            <form
              onSubmit={(event) => {
                event.preventDefault()
                void submit(event.currentTarget)
              }}
            >
              <div class="inside">
                {children}
                {fields.map((field) => (
                  <FieldOf field={field} key={field.name} />
                ))}
                {footer}
                {problem.value !== undefined && <Trouble problem={problem.value} />}
              </div>
              <footer>
                <button type="button" class="btn" onClick={close}>
                  Leave it
                </button>
                <button type="submit" class={`btn ${tone === "d" ? "d" : "p"}`} disabled={isBusy.value}>
                  {confirm}
                </button>
              </footer>
            </form>
          )}
        </Dialog>
      )}
    </>
  )
}
