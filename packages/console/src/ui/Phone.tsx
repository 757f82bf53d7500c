/** A message as a phone shows it. */

/** What stands in for a value that was not given. */
const holes = /(\{\{[^{}]+\}\})/

const Filled = ({ text }: { readonly text: string }) => (
  <>{text.split(holes).map((part, at) => (at % 2 === 1 ? <u key={at}>{part}</u> : part))}</>
)

export const Bubble = ({
  body,
  buttons,
  footer,
  header
}: {
  readonly header: string | null
  readonly body: string
  readonly footer: string | null
  readonly buttons: ReadonlyArray<{ readonly text: string; readonly url?: string | null }>
}) => (
  <div class="phone">
    <div class="bubble" dir="auto">
      {header !== null && (
        <strong>
          <Filled text={header} />
        </strong>
      )}
      <div class="body">
        <Filled text={body} />
      </div>
      {footer !== null && <small>{footer}</small>}
      {buttons.map(({ text, url }) => (
        <div class="b" title={url ?? undefined} key={text}>
          {text}
        </div>
      ))}
    </div>
  </div>
)
