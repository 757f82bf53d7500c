/** A few lines over fetch: JSON in, JSON out, and a refusal told in full. */
export interface Answer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

export const call = async (
  url: string,
  options: {
    readonly method?: string
    readonly headers?: Readonly<Record<string, string>>
    readonly body?: unknown
  } = {}
): Promise<Answer> => {
  const response = await fetch(url, {
    method: options.method ?? (options.body === undefined ? "GET" : "POST"),
    headers: {
      ...(options.body === undefined ? {} : { "content-type": "application/json" }),
      ...options.headers
    },
    ...(options.body === undefined ? {} : { body: JSON.stringify(options.body) })
  })
  const body: unknown = await response.json()
  return { status: response.status, body: { ...Object(body) } }
}

export const expectOk = async (answer: Promise<Answer>): Promise<Readonly<Record<string, unknown>>> => {
  const { body, status } = await answer
  if (status < 400) return body
  throw new Error(`${status} ${body["code"]}: ${body["detail"]} ${JSON.stringify(body["errors"] ?? [])}`)
}

/** Calls of the messaging API with a key, as the admin API answered it. */
export const client =
  (base: string, key: unknown) =>
  (path: string, body?: unknown, headers: Readonly<Record<string, string>> = {}) =>
    expectOk(
      call(`${base}${path}`, {
        headers: {
          "x-public-key": text(key, "key", "public_key"),
          "x-secret-key": text(key, "secret_key"),
          ...headers
        },
        ...(body === undefined ? {} : { body })
      })
    )

/** Reads a member of an answer by its path: `text(body, "account", "id")`. */
export const pick = (value: unknown, ...path: ReadonlyArray<string>): unknown =>
  path.reduce<unknown>(
    (at, name) => (typeof at === "object" && at !== null ? Reflect.get(at, name) : undefined),
    value
  )

export const text = (value: unknown, ...path: ReadonlyArray<string>): string =>
  String(pick(value, ...path) ?? "")

export const list = (value: unknown, ...path: ReadonlyArray<string>): ReadonlyArray<unknown> => {
  const found = pick(value, ...path)
  return Array.isArray(found) ? found : []
}
