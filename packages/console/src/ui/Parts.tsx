/** The parts that screens are made of. */
import type { ComponentChildren, VNode } from "preact"
import type { Problem, Schemas } from "../base/api.ts"
import { go, here, href, param } from "../base/place.ts"
import { shortId, type Tone } from "../base/words.ts"

interface Inside {
  readonly children?: ComponentChildren
}

/** The answer, which each screen begins with. */
export const Say = ({ children }: Inside) => <p class="say">{children}</p>

export const Chip = ({ tone, children }: Inside & { readonly tone: Tone }) => (
  <span class={`chip ${tone}`}>{children}</span>
)

/** A job in a list: a link by its reference, and whose it is. */
export const JobCell = ({
  job
}: {
  readonly job: Pick<Schemas["ToldJob"], "account" | "job_id" | "reference" | "session">
}) => (
  <td>
    <a class="name" href={href(`jobs/${job.job_id}`)}>
      {job.reference ?? shortId(job.job_id)}
    </a>
    <small>
      {job.account} · {job.session}
    </small>
  </td>
)

export const Card = ({
  beside,
  children,
  kind = "",
  title
}: Inside & { readonly title: string; readonly beside?: ComponentChildren; readonly kind?: string }) => (
  <section class={`card ${kind}`}>
    <header>
      <h2>{title}</h2>
      {beside !== undefined && <span>{beside}</span>}
    </header>
    {children}
  </section>
)

/** Names and what they are; those without a value are left out. */
export const Facts = ({ of }: { readonly of: ReadonlyArray<readonly [string, ComponentChildren]> }) => (
  <dl>
    {of.flatMap(([name, value]) =>
      value === null || value === undefined || value === ""
        ? []
        : [<dt key={name}>{name}</dt>, <dd key={`${name} is`}>{value}</dd>]
    )}
  </dl>
)

/** What was delivered to webhooks of a job or a message. */
export const Deliveries = ({ about }: { readonly about: string }) => (
  <a class="l" href={href("webhooks/deliveries", { about })}>
    What was told of it
  </a>
)

/** A text for machines, which one click selects. */
export const Code = ({ children }: Inside) => <code class="m">{children}</code>

/** There is nothing: why, and what to do next. */
export const Empty = ({ children, title }: Inside & { readonly title: string }) => (
  <div class="empty">
    <b>{title}</b>
    <p>{children}</p>
  </div>
)

export const Trouble = ({ problem }: { readonly problem: Problem }) => (
  <div class="trouble" role="alert">
    <b>{problem.title}</b>
    <p>{problem.detail}</p>
    {problem.errors?.map(({ message, pointer }) => (
      <p key={pointer + message}>
        <Code>{pointer}</Code> {message}
      </p>
    ))}
    {problem.request_id !== undefined && (
      <p>
        Request <Code>{problem.request_id}</Code>
      </p>
    )}
  </div>
)

/** Choices of a filter, each a link, so that the address says what is shown. */
export const Choices = ({
  label,
  name,
  of
}: {
  readonly label: string
  readonly name: string
  readonly of: ReadonlyArray<readonly [value: string, text: string, count?: string | undefined]>
}) => (
  <nav class="choices" aria-label={label}>
    {of.map(([value, text, count]) => (
      <a
        href={here({ [name]: value })}
        aria-current={(param(name) ?? "") === value ? "true" : undefined}
        key={value}
      >
        {text} {count !== undefined && <b>{count}</b>}
      </a>
    ))}
  </nav>
)

export interface Option {
  readonly value: string
  readonly text: string
}

/** A choice of many; the address says which. */
export const Choose = ({
  all,
  label,
  name,
  options,
  value = param(name) ?? ""
}: {
  readonly label: string
  readonly name: string
  readonly options: ReadonlyArray<Option>
  readonly value?: string
  /** What the choice of none is called; absent where one is always chosen. */
  readonly all?: string
}) => (
  <label class="choose">
    <span>{label}</span>
    <select value={value} onChange={(event) => go(here({ [name]: event.currentTarget.value }))}>
      {all !== undefined && <option value="">{all}</option>}
      {options.map(({ text, value }) => (
        <option value={value} key={value}>
          {text}
        </option>
      ))}
    </select>
  </label>
)

/** The first page and the next; what changes meanwhile moves nobody from one page to another. */
export const Pager = ({ next }: { readonly next: string | null }) =>
  next === null && param("cursor") === undefined ? null : (
    <nav class="pager" aria-label="Pages">
      {param("cursor") !== undefined && <a href={here({})}>First page</a>}
      {next !== null && <a href={here({ cursor: next })}>Next page</a>}
    </nav>
  )

export interface Column {
  readonly text: string
  /** `r` to the right; `x` is left out on a phone. */
  readonly kind?: string
}

/** Rows by which `j` and `k` move; the first link of each is what Enter opens. */
export const Table = ({
  columns,
  label,
  rows
}: {
  readonly label: string
  readonly columns: ReadonlyArray<Column>
  readonly rows: ReadonlyArray<VNode>
}) => (
  <div class="tw">
    <table aria-label={label}>
      <thead>
        <tr>
          {columns.map(({ kind = "", text }) => (
            <th class={kind} scope="col" key={text}>
              {text}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>{rows}</tbody>
    </table>
  </div>
)

/** A part of a whole, as a bar. */
export const Share = ({ of, tone = "go" }: { readonly of: number; readonly tone?: Tone }) => (
  <span class={`pace ${tone}`} aria-hidden="true">
    <i style={{ width: `${Math.max(0, Math.min(100, 100 * of))}%` }} />
  </span>
)

export const Mark = () => (
  <svg width="22" height="22" viewBox="0 0 22 22" aria-hidden="true" class="mark">
    <rect width="22" height="22" rx="6" />
    <path d="M5 7.5 11 12l6-4.5M5 11.5 11 16l6-4.5" />
  </svg>
)

export const Icon = ({ d }: { readonly d: string }) => (
  <svg
    width="20"
    height="20"
    viewBox="0 0 20 20"
    fill="none"
    stroke="currentColor"
    stroke-width="1.7"
    stroke-linecap="round"
    stroke-linejoin="round"
    aria-hidden="true"
  >
    <path d={d} />
  </svg>
)
