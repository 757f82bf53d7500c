/**
 * One field of a request is wrong. A refusal lists every fault at once (contract.md §2), each with
 * an RFC 6901 pointer to the field. Messages say what would be right and never repeat a secret.
 */
export const codes = [
  "required",
  "unknown_field",
  "invalid_type",
  "invalid_json",
  "out_of_range",
  "recipient_invalid",
  "recipient_duplicate",
  "recipient_needs_number",
  "variable_missing",
  "variable_unknown",
  "variable_invalid",
  "template_not_found",
  "template_not_approved",
  "template_unsupported",
  "currency_unsupported",
  "idempotency_key_invalid",
  "invalid_value",
  "consent_required",
  "kept_refused"
] as const
export type Code = (typeof codes)[number]

export interface Fault {
  /** Where in the request; headers are below `headers`, query parameters below `query`, path parameters below `path`. */
  readonly path: ReadonlyArray<string | number>
  readonly code: Code
  readonly message: string
}

/** At most this many faults are listed. */
export const maximum = 250

export const make = (path: ReadonlyArray<string | number>, code: Code, message: string): Fault => ({
  path,
  code,
  message
})

/** A list of faults with a maximum. Once it is full, no further faults need to be looked for. */
export class Faults {
  readonly list: Array<Fault>
  private readonly most: number

  constructor(found: ReadonlyArray<Fault> = [], most = maximum) {
    this.list = found.slice(0, most)
    this.most = most
  }

  get isFull(): boolean {
    return this.list.length >= this.most
  }

  add(path: Fault["path"], code: Code, message: string): void {
    if (!this.isFull) this.list.push(make(path, code, message))
  }

  addAll(faults: ReadonlyArray<Fault>): void {
    for (const fault of faults) {
      if (this.isFull) return
      this.list.push(fault)
    }
  }
}

/** The faults at places that have no reported fault yet. Whoever mends a reported fault mends those below it, too. */
export const unreported = (
  reported: ReadonlyArray<Fault>,
  faults: ReadonlyArray<Fault>
): ReadonlyArray<Fault> => {
  const places = new Set(reported.map(pointer))
  const isReported = ({ path }: Fault): boolean =>
    path.some((_, last) => places.has(pointer({ path: path.slice(0, last + 1) })))
  return faults.filter((fault) => !isReported(fault))
}

/** RFC 6901. */
export const pointer = ({ path }: Pick<Fault, "path">): string =>
  path.map((part) => `/${String(part).replaceAll("~", "~0").replaceAll("/", "~1")}`).join("")
