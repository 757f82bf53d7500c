/** Bars and lines as SVG of our own. Colours are classes, since a page without inline styles has no others. */
import type { ComponentChildren } from "preact"
import { n, shortNumber, type Tone } from "../base/words.ts"

const width = 720
const height = 268
const left = 38
const bottom = 20
const top = 14

export interface Part {
  readonly tone: Tone
  readonly value: number
}

export interface Bar {
  readonly parts: ReadonlyArray<Part>
  /** What it is, for whoever points at it or cannot see it. */
  readonly title: string
  readonly label?: string | undefined
  /** A point of the line over the bars. */
  readonly line?: number
  readonly href?: string | undefined
}

/** The next of 1, 2, 5, 10 … so that three lines of the grid are round. */
const roundStep = (most: number): number => {
  const rough = Math.max(1, most) / 3
  const power = 10 ** Math.floor(Math.log10(rough))
  return power * ([1, 2, 5, 10].find((each) => each * power >= rough) ?? 10)
}

const shortOf = (value: number): string => (value >= 1000 ? `${shortNumber(value / 1000)}k` : n(value))

/** @param shade what lasts since a bar, such as an outage */
export const Bars = ({
  bars,
  label,
  shade
}: {
  readonly bars: ReadonlyArray<Bar>
  readonly label: string
  readonly shade?: { readonly from: number; readonly text: string } | undefined
}) => {
  const most = Math.max(
    ...bars.map(({ line = 0, parts }) =>
      Math.max(
        line,
        parts.reduce((sum, { value }) => sum + value, 0)
      )
    ),
    1
  )
  const step = Math.max(1, roundStep(most))
  const full = Math.max(most * 1.08, step)
  const y = (value: number) => top + (height - bottom - top) * (1 - value / full)
  const each = (width - left - 6) / bars.length
  const x = (at: number) => left + at * each
  const line = bars.flatMap(({ line }, at) => (line === undefined ? [] : [`${x(at) + each / 2},${y(line)}`]))
  const shadeAt = shade === undefined ? 0 : Math.min(x(shade.from), width - 190)
  return (
    <svg class="chart" viewBox={`0 0 ${width} ${height}`} role="img" aria-label={label}>
      {shade !== undefined && (
        <>
          <rect
            class="shade"
            x={x(shade.from)}
            y={2}
            width={width - 6 - x(shade.from)}
            height={height - bottom - 2}
            rx={4}
          />
          <text class="shade" x={shadeAt + 7} y={14}>
            {shade.text}
          </text>
        </>
      )}
      {[step, 2 * step, 3 * step]
        .filter((value) => value <= full)
        .map((value) => (
          <g key={value}>
            <line class="grid" x1={left} x2={width - 4} y1={y(value)} y2={y(value)} />
            <text x={left - 5} y={y(value) + 3.5} text-anchor="end">
              {shortOf(value)}
            </text>
          </g>
        ))}
      {bars.map(({ parts, title }, at) => {
        let sum = 0
        return (
          <g key={title}>
            <title>{title}</title>
            <rect class="none" x={x(at)} y={top} width={each} height={height - bottom - top} />
            {parts.map(({ tone, value }) => {
              if (value === 0) return null
              const low = y(sum)
              sum += value
              const tall = Math.max(low - y(sum), 1.5)
              return (
                <rect
                  class={`bar ${tone}`}
                  x={x(at) + 1}
                  y={low - tall}
                  width={Math.max(1, each - 2.2)}
                  height={tall}
                  key={tone}
                />
              )
            })}
          </g>
        )
      })}
      {line.length > 1 && <polyline class="line" points={line.join(" ")} />}
      {bars.map(({ label: text }, at) =>
        text === undefined ? null : (
          <text x={x(at) + each / 2} y={height - 5} text-anchor="middle" key={text}>
            {text}
          </text>
        )
      )}
    </svg>
  )
}

export const Legend = ({
  of
}: {
  readonly of: ReadonlyArray<readonly [tone: Tone | "line", text: string]>
}) => (
  <div class="legend">
    {of.map(([tone, text]) => (
      <span key={text}>
        <i class={`key ${tone}`} />
        {text}
      </span>
    ))}
  </div>
)

/** One bar of several parts, each as wide as its share. */
export const Split = ({
  of
}: {
  readonly of: ReadonlyArray<{
    readonly tone: string
    readonly value: number
    readonly title: string
    readonly text?: ComponentChildren
  }>
}) => (
  <div class="split">
    {of
      .filter(({ value }) => value > 0)
      .map(({ text, title, tone, value }) => (
        <i class={`key ${tone}`} style={{ flexGrow: value }} title={title} key={title}>
          {text}
        </i>
      ))}
  </div>
)
