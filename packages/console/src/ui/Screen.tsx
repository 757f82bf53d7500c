/** A screen: its answer first, and under it where the same is for machines. */
import type { ComponentChildren } from "preact"
import { useEffect } from "preact/hooks"
import { type Answer, isPaused } from "../base/live.ts"
import { apiPrefix } from "../base/place.ts"
import { timeOf, zoneName } from "../base/time.tsx"
import { copyMarkdown } from "./Markdown.ts"
import { Code, Trouble } from "./Parts.tsx"

export const Screen = <Data,>({
  answer,
  children,
  command,
  json,
  title
}: {
  readonly title: string
  readonly answer: Answer<Data>
  /** The path of the API that answers the same. */
  readonly json: string
  /** The command that answers the same. */
  readonly command: string
  readonly children: (data: Data) => ComponentChildren
}) => {
  useEffect(() => {
    document.title = `${title} · Sendwright`
  }, [title])
  const { at, data, every, problem } = answer
  return (
    <>
      {data === undefined && <h1 class="sr">{title}</h1>}
      {data !== undefined ? (
        children(data)
      ) : problem !== undefined ? (
        <Trouble problem={problem} />
      ) : (
        <div class="waits" aria-label="Loading" role="status" />
      )}
      <p class="foot">
        {at !== null && (
          <span>
            As of {timeOf(at)} {zoneName()},{" "}
            {isPaused.value ? "and paused" : `renewed every ${every / 1000} seconds`}.{" "}
          </span>
        )}
        <a class="l" href={`${apiPrefix}${json}`} target="_blank" rel="noreferrer">
          The same as JSON
        </a>{" "}
        · <Code>{command}</Code> ·{" "}
        <button type="button" class="l" onClick={copyMarkdown}>
          Copy as Markdown
        </button>
      </p>
    </>
  )
}

export const Head = ({
  acts,
  children,
  crumb
}: {
  readonly children: ComponentChildren
  readonly crumb?: ComponentChildren
  readonly acts?: ComponentChildren
}) => (
  <>
    {crumb !== undefined && <div class="crumb">{crumb}</div>}
    <div class="head">
      {children}
      <div class="acts">{acts}</div>
    </div>
  </>
)
