/** Findings as they are told: JSON for programs, a line of each and its mend at a terminal. */
import { Diagnosis } from "@sendwright/core/adapter"
import * as Logs from "../../Logs.ts"
import * as Screen from "../Screen.ts"

/** 0, 1 and 2, as the worst of them. */
export const codeOf = (findings: ReadonlyArray<Diagnosis.Finding>): number =>
  Diagnosis.verdicts.indexOf(Diagnosis.worst(findings))

/** Where its words begin. A longer name, such as that of a session, has a line of its own. */
const wordsAt = 24

/** A finding's verdict, name and words, and below what mends it. */
const lines = (
  { check, mend, says, verdict }: Diagnosis.Finding,
  stream: Screen.Stream
): ReadonlyArray<string> => {
  const wrap = (text: string) => Screen.wrap(Logs.printable(text), Math.max(40, stream.columns - wordsAt))
  const words = [...wrap(says), ...(mend === null ? [] : wrap(`→ ${mend}`))]
  const name = `${verdict.padEnd(7)}  ${Logs.printable(check)}`
  const bold = verdict === "ok" ? name : Screen.strong(name, stream)
  const isShort = name.length + 2 <= wordsAt
  return words
    .map((line, at) =>
      at === 0 && isShort
        ? `${bold}${" ".repeat(wordsAt - name.length)}${line}`
        : `${" ".repeat(wordsAt)}${line}`
    )
    .toSpliced(0, 0, ...(isShort ? [] : [bold]))
}

export const text = (findings: ReadonlyArray<Diagnosis.Finding>, stream: Screen.Stream): string =>
  stream.isTerminal
    ? findings.flatMap((finding) => lines(finding, stream)).join("\n")
    : Logs.printable(JSON.stringify({ ok: true, verdict: Diagnosis.worst(findings), checks: findings }))
