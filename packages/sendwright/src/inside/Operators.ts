/** The operator's side: core's operations, with one object for each call. */
import type { Admin as Core, Engine, Fault, People } from "@sendwright/core"
import { Erasure, Instant, RetryPlan } from "@sendwright/core"
import * as Effect from "effect/Effect"
import type * as Admin from "../api/Admin.ts"
import type { JobQuery, Retry } from "../api/Messages.ts"
import * as Failures from "./Failures.ts"
import * as Glances from "./Glances.ts"
import * as Inputs from "./Inputs.ts"
import type { Running } from "./Running.ts"
import type { Parts } from "./Stores.ts"
import { transactionOf } from "./Transactions.ts"
import * as Views from "./Views.ts"

export const queryOf = ({ createdAfter, createdBefore, reference, status }: JobQuery) => ({
  status,
  reference,
  createdAfter: createdAfter && Instant.ofDate(createdAfter),
  createdBefore: createdBefore && Instant.ofDate(createdBefore)
})

/** The faults of one item of a list, from the item on. */
const ofItem = (faults: ReadonlyArray<Fault.Fault>, list: "consents" | "templates") =>
  faults.map((fault) => {
    const { path, ...issue } = Failures.issueOf(fault)
    return { ...issue, path: fault.path[0] === list ? path.replace(/^\/\w+\/\d+/, "") : path }
  })

const importedOf = ({ results, templates }: Core.Imported): Admin.ImportedTemplates => ({
  templates: templates.map(Views.template),
  refused: results.flatMap((result) =>
    result._tag === "Refused"
      ? [{ name: result.name, language: result.language, issues: ofItem(result.faults, "templates") }]
      : []
  )
})

const consentOf = (result: Core.ConsentResult): Admin.ConsentOutcome =>
  result._tag === "Recorded"
    ? { recorded: true, record: Views.consent(result.record) }
    : {
        recorded: false,
        keptRefused: result._tag === "KeptRefused",
        phone: result.phone,
        issues: ofItem(result.faults, "consents")
      }

const verdicts = { Granted: "granted", Revoked: "revoked", Missing: "missing" } as const

const stateOf = ({ current, history, phone, userId }: Core.ConsentState): Admin.ConsentState => {
  const of = (purpose: (typeof current)[number]["purpose"]) =>
    verdicts[current.find((each) => each.purpose === purpose)?.verdict._tag ?? "Missing"]
  return {
    phone,
    userId,
    current: {
      marketing: of("marketing"),
      utility: of("utility"),
      authentication: of("authentication"),
      direct: of("direct")
    },
    history: history.map(Views.consent)
  }
}

/** A job has at most as many recipients. */
export const wholeJob = { limit: 250, after: null }

/** Core's, as the engine has it. */
export type CoreAdmin = Engine.Engine["Type"]["admin"]

type Restored = Awaited<ReturnType<Admin.Restore["hold"]>>

async function* mapped<A, B>(items: AsyncIterable<A>, view: (item: A) => B): AsyncGenerator<B, void> {
  for await (const item of items) yield view(item)
}

/** The engine's own around the operations. */
export interface Place {
  readonly store: Pick<Parts, "within">
  /** True of a provider whose sender is one of ours: the names of its `config` are core's, in camelCase. */
  readonly isOurs: (provider: string) => boolean
}

type Group<A> = (admin: CoreAdmin, running: Running, place: Place) => A

const issued = ({
  key,
  secretKey
}: {
  readonly key: Parameters<typeof Views.apiKey>[0]
  readonly secretKey: string
}) => ({
  ...Views.apiKey(key),
  secretKey
})

const registered = ({
  endpoint,
  secret
}: {
  readonly endpoint: Parameters<typeof Views.webhook>[0]
  readonly secret: string
}) => ({ ...Views.webhook(endpoint), secret })

const appointed = ({
  operator,
  token
}: {
  readonly operator: Parameters<typeof Views.operator>[0]
  readonly token: string
}) => ({ ...Views.operator(operator), token })

const accounts: Group<Admin.Accounts> = (admin, { pages, run }) => ({
  create: async (given) => Views.account(await run(admin.accounts.create(Inputs.account(given)))),
  find: async (given) => Views.account(await run(admin.accounts.find(Inputs.byId(given).id))),
  list: () => mapped(pages(admin.accounts.list), Views.account),
  change: async (given) => {
    const { id, ...change } = Inputs.accountChange(given)
    return Views.account(await run(admin.accounts.change(id, change)))
  },
  usage: async (given) => {
    const { resetsAt, ...usage } = await run(admin.accounts.usage(Inputs.byId(given).id))
    return { ...usage, resetsAt: Views.date(resetsAt) }
  },
  usageBy: async (given) => {
    const { by, from, id, to } = Inputs.usage(given)
    const asked = { by, from: from && Instant.ofDate(from), to: to && Instant.ofDate(to) }
    const { groups, ...found } = await run(admin.accounts.spending(id, asked))
    return {
      from: Views.date(found.from),
      to: Views.date(found.to),
      wholeSince: Views.date(found.wholeSince),
      groups
    }
  }
})

/** Settings with the names of core. */
const settingsOf = <Settings extends Admin.SessionSettings>(
  settings: Settings,
  provider: string,
  { isOurs }: Place
): Settings =>
  settings.config === undefined || !isOurs(provider)
    ? settings
    : { ...settings, config: Failures.configOf(settings.config) }

const sessions: Group<Admin.Sessions> = (admin, { pages, run }, place) => ({
  create: async (given) => {
    const { accountId, ...session } = Inputs.session(given)
    const settings = settingsOf(session, session.provider, place)
    return Views.session(await run(admin.sessions.create(accountId, settings)))
  },
  change: async (given) => {
    const { id, ...change } = Inputs.sessionChange(given)
    const changing = Effect.flatMap(admin.sessions.find(id), ({ provider }) =>
      admin.sessions.change(id, settingsOf(change, provider, place))
    )
    return Views.session(await run(changing))
  },
  find: async (given) => Views.session(await run(admin.sessions.find(Inputs.byId(given).id))),
  list: (given) => {
    const { accountId } = Inputs.byAccount(given)
    return mapped(
      pages((page) => admin.sessions.list(accountId, page)),
      Views.session
    )
  },
  connect: async (given) => Views.session(await run(admin.sessions.connect(Inputs.byId(given).id))),
  disconnect: async (given) => Views.session(await run(admin.sessions.disconnect(Inputs.byId(given).id))),
  unreadHooks: (given) => {
    const { id } = Inputs.byId(given)
    return mapped(
      pages((page) => admin.sessions.unreadHooks(id, page)),
      Views.unreadHook
    )
  }
})

const keys: Group<Admin.Keys> = (admin, { pages, run }) => ({
  issue: async (given) => {
    const { sessionId, ...rest } = Inputs.key(given)
    return issued(await run(admin.keys.issue(sessionId, rest)))
  },
  list: (given) => {
    const { sessionId } = Inputs.bySession(given)
    return mapped(
      pages((page) => admin.keys.list(sessionId, page)),
      Views.apiKey
    )
  },
  rotate: async (given) => {
    const { publicKey, ...rest } = Inputs.keyRotation(given)
    return issued(await run(admin.keys.rotate(publicKey, rest)))
  },
  revoke: async (given) => Views.apiKey(await run(admin.keys.revoke(Inputs.byKey(given).publicKey))),
  change: async (given) => {
    const { publicKey, ...rest } = Inputs.keyChange(given)
    return Views.apiKey(await run(admin.keys.change(publicKey, rest)))
  }
})

const templates: Group<Admin.Templates> = (admin, { pages, run }) => ({
  list: (given) => {
    const { sessionId, status } = Inputs.templatesOf(given)
    return mapped(
      pages((page) => admin.templates.list(sessionId, { status, page })),
      Views.template
    )
  },
  import: async (given) => {
    const { sessionId, templates } = Inputs.templates(given)
    return importedOf(await run(admin.templates.importAll(sessionId, templates)))
  },
  sync: async (given) => importedOf(await run(admin.templates.sync(Inputs.bySession(given).sessionId)))
})

const consents: Group<Admin.Consents> = (admin, { pages, run }, { store }) => ({
  record: async (given, options) => {
    const { accountId, consents, importedAt } = Inputs.consents(given)
    const tx = transactionOf(options)
    const written = (at: Date | undefined) =>
      at === undefined ? undefined : Instant.format(Instant.ofDate(at))
    const items = consents.map(({ occurredAt, ...consent }) => ({
      ...consent,
      occurredAt: written(occurredAt)
    }))
    const recording = admin.consents.record(accountId, items, written(importedAt))
    return (await run(tx === undefined ? recording : store.within(tx)(recording))).map(consentOf)
  },
  move: async (given) => {
    const { accountId, ...move } = Inputs.move(given)
    return (await run(admin.consents.move(accountId, move))).records.map(Views.consent)
  },
  find: async (given) => {
    const { accountId, ...whose } = Inputs.person(given)
    return stateOf(await run(admin.consents.find(accountId, whose)))
  },
  unattributed: (given) => {
    const { accountId } = Inputs.byAccount(given)
    return mapped(
      pages((page) => admin.consents.unattributed(accountId, page)),
      Views.unattributed
    )
  },
  perhapsRefusals: (given) => {
    const { accountId } = Inputs.byAccount(given)
    return mapped(
      pages((page) => admin.consents.perhapsRefusals(accountId, page)),
      Views.perhapsRefusal
    )
  },
  recordRefusal: async (given) =>
    Views.perhapsRefusal(await run(admin.consents.recordRefusal(Inputs.byId(given).id))),
  dismissRefusal: async (given) =>
    Views.perhapsRefusal(await run(admin.consents.dismissRefusal(Inputs.byId(given).id)))
})

const textsOf = (names: ReadonlyArray<Erasure.Name>) => {
  const of = (kind: Erasure.Name["kind"]) => names.flatMap((name) => (name.kind === kind ? [name.text] : []))
  return { phones: of("phone"), userIds: of("user") }
}

const namesOf = (names: People.Erased["names"]) => ({
  ...textsOf(Erasure.allNames(names)),
  accounts: Object.entries(names.ofAccounts).map(([accountId, some]) => ({ accountId, ...textsOf(some) }))
})

const people: Group<Admin.People> = (admin, { pages, run }) => ({
  erase: async (given) => {
    const { counts, erasure, names, remains } = await run(admin.people.erase(Inputs.erasure(given)))
    return {
      erasure: erasure === null ? null : Views.erasure(erasure),
      ...namesOf(names),
      counts: Views.erasureCounts(counts),
      remains
    }
  },
  export: async (given) => {
    const { cut, names, sections } = await run(admin.people.export(Inputs.whom(given)))
    return { ...namesOf(names), ...sections, cut }
  },
  erasures: () => mapped(pages(admin.people.erasures), Views.erasure)
})

const webhooks: Group<Admin.Webhooks> = (admin, { pages, run }) => ({
  create: async (given) => {
    const { accountId, ...rest } = Inputs.webhook(given)
    return registered(await run(admin.webhooks.create(accountId, rest)))
  },
  list: (given) => {
    const { accountId } = Inputs.byAccount(given)
    return mapped(
      pages((page) => admin.webhooks.list(accountId, page)),
      Views.webhook
    )
  },
  change: async (given) => {
    const { id, ...rest } = Inputs.webhookChange(given)
    return Views.webhook(await run(admin.webhooks.change(id, rest)))
  },
  remove: (given) => run(admin.webhooks.remove(Inputs.byId(given).id)),
  rotate: async (given) => {
    const { id, ...rest } = Inputs.webhookRotation(given)
    return registered(await run(admin.webhooks.rotate(id, rest)))
  },
  test: (given) => run(admin.webhooks.test(Inputs.byId(given).id)),
  deliveries: (given) => {
    const { id } = Inputs.byId(given)
    return mapped(
      pages((page) => admin.webhooks.deliveries(id, page)),
      Views.delivery
    )
  },
  replay: async (given) =>
    Views.delivery(await run(admin.webhooks.replay(Inputs.byDelivery(given).deliveryId))),
  replaySince: (given) => {
    const { id, since, which } = Inputs.replay(given)
    return run(admin.webhooks.replaySince(id, Instant.ofDate(since), which))
  }
})

const rateCards: Group<Admin.RateCards> = (admin, { pages, run }) => ({
  add: async (given) => {
    const { currency, effectiveFrom, prices } = Inputs.rateCard(given)
    const card = {
      currency,
      effectiveFrom: Instant.ofDate(effectiveFrom),
      prices: prices.map((price) => ({ ...price, prefixes: price.prefixes ?? null }))
    }
    return Views.rateCard(await run(admin.rateCards.add(card)))
  },
  importCsv: async (given) => {
    const { csv, currency, effectiveFrom } = Inputs.rateCardFile(given)
    const { card, skipped } = await run(
      admin.rateCards.importList({ csv, currency, effectiveFrom: Instant.ofDate(effectiveFrom) })
    )
    return { card: Views.rateCard(card), skipped }
  },
  list: () => mapped(pages(admin.rateCards.list), Views.rateCard)
})

/** How often a retry is looked at while its end is awaited. */
const followedMs = 250

const followed = (
  admin: CoreAdmin,
  { run }: Running,
  id: string
): Omit<Admin.BegunRetry, "counted" | "isExact" | "why"> => {
  const ended = Effect.repeat(Effect.zipLeft(admin.retries.find(id), Effect.sleep(followedMs)), {
    until: ({ endedAt }) => endedAt !== null
  })
  return {
    id,
    progress: async () => Views.retryOfJobs(await run(admin.retries.find(id))),
    ended: async () => Views.retryOfJobs(await run(ended)),
    cancel: async () => Views.retryOfJobs(await run(admin.retries.cancel(id)))
  }
}

/** Of one job by its id, and of many by a filter. */
const retrying = (admin: CoreAdmin, running: Running): Admin.Jobs["retry"] => {
  const { run } = running
  function retry(given: { readonly id: string } & Retry): Promise<Admin.RetriedJob>
  function retry(given: {
    readonly filter: Admin.RetryFilter
    readonly dryRun: true
  }): Promise<Admin.CountedRetry>
  function retry(given: { readonly filter: Admin.RetryFilter }): Promise<Admin.BegunRetry>
  async function retry(given: object): Promise<Admin.BegunRetry | Admin.CountedRetry | Admin.RetriedJob> {
    if (!Object.hasOwn(given, "filter")) {
      const { id, ...which } = Inputs.retryOfJob(given)
      const { counts, dryRun, job, sums } = await run(admin.jobs.retry(id, which))
      return {
        counts,
        dryRun,
        job: Views.job(job),
        counted: Views.retrySums(sums),
        why: RetryPlan.whyNobody(sums)
      }
    }
    const { filter, ...how } = Inputs.retryOfJobs(given)
    const { codes, completedAfter, completedBefore, createdAfter, createdBefore, statuses, ...rest } = filter
    const times = {
      completedAfter: completedAfter && Instant.ofDate(completedAfter),
      completedBefore: completedBefore && Instant.ofDate(completedBefore),
      createdAfter: createdAfter && Instant.ofDate(createdAfter),
      createdBefore: createdBefore && Instant.ofDate(createdBefore)
    }
    const begun = await run(
      admin.retries.begin({ ...how, filter: { ...rest, ...times }, selection: { codes, statuses } })
    )
    const counted = {
      counted: Views.retrySums(begun.sums),
      isExact: begun.isExact,
      why: RetryPlan.whyNobody(begun.sums)
    }
    return begun.plan === null ? counted : { ...counted, ...followed(admin, running, begun.plan.id) }
  }
  return retry
}

const jobs: Group<Admin.Jobs> = (admin, running) => {
  const { pages, run } = running
  return {
    list: (given) => {
      const { completedAfter, completedBefore, ...rest } = Inputs.adminJobs(given ?? {})
      const query = {
        ...rest,
        ...queryOf(rest),
        completedAfter: completedAfter && Instant.ofDate(completedAfter),
        completedBefore: completedBefore && Instant.ofDate(completedBefore)
      }
      return mapped(
        pages((page) => admin.jobs.list({ ...query, page })),
        Views.job
      )
    },
    find: async (given) => {
      const { id } = Inputs.byId(given)
      const found = await run(admin.jobs.find(id, { page: wholeJob }))
      return Views.jobDetail(
        found,
        found.results.items.map((each) => Views.result(id, each))
      )
    },
    cancel: async (given) => Views.job(await run(admin.jobs.cancel(Inputs.byId(given).id))),
    pause: async (given) => Views.job(await run(admin.jobs.pause(Inputs.byId(given).id))),
    resume: async (given) => Views.job(await run(admin.jobs.resume(Inputs.byId(given).id))),
    retry: retrying(admin, running),
    retries: () => mapped(pages(admin.retries.list), Views.retryOfJobs),
    messages: (given) => {
      const { accountId } = Inputs.byAccount(given)
      return mapped(
        pages((page) => admin.jobs.messages(accountId, page)),
        Views.message
      )
    },
    timeline: async (given) =>
      Views.timeline(await run(admin.jobs.timeline(Inputs.byMessage(given).messageId)))
  }
}

const operators: Group<Admin.Operators> = (admin, { pages, run }) => ({
  create: async (given) => appointed(await run(admin.operators.create(Inputs.operator(given)))),
  list: () => mapped(pages(admin.operators.list), Views.operator),
  rotate: async (given) => {
    const { name, ...rest } = Inputs.operatorRotation(given)
    return appointed(await run(admin.operators.rotate(name, rest)))
  },
  revoke: async (given) => Views.operator(await run(admin.operators.revoke(Inputs.byName(given).name)))
})

const restore: Group<Admin.Restore> = (admin, { run }) => {
  const decide = async (command: Parameters<CoreAdmin["restore"]["decide"]>[0]): Promise<Restored> => {
    const { counts, dryRun, isQuarantined, quarantine } = await run(admin.restore.decide(command))
    const { jobs, unknown, canceled, sent } = counts
    return {
      isHeld: isQuarantined,
      dryRun,
      hold: quarantine === null ? null : { reason: quarantine.reason, since: Views.date(quarantine.since) },
      counts: { jobs, unknown, canceled, sent }
    }
  }
  return { open: (given) => decide(Inputs.restore(given)), hold: () => decide({ quarantine: true }) }
}

const storage: Group<Admin.Storage> = (admin, { run }) => ({
  size: async () => Views.storageSize(await run(admin.storage.size)),
  purge: async (given = {}) => {
    const { dryRun, heldAt, isComplete, shares } = await run(admin.storage.purge(Inputs.purge(given)))
    return {
      dryRun,
      isComplete,
      shares,
      ...(heldAt === undefined ? {} : { heldAt: Views.date(heldAt) })
    }
  }
})

const secrets: Group<Admin.Secrets> = (admin, { run }) => ({
  reseal: async () => {
    const { dependents: _, ...resealed } = await run(admin.secrets.reseal)
    return resealed
  }
})

const audit: Group<Admin.Audit> = (admin, { pages }) => ({
  list: (given = {}) => {
    const { from, to, ...rest } = Inputs.auditQuery(given)
    const query = { ...rest, from: from && Instant.ofDate(from), to: to && Instant.ofDate(to) }
    return mapped(
      pages((page) => admin.audit.list({ ...query, page })),
      Views.auditEntry
    )
  }
})

const search: Group<Admin.Admin["search"]> =
  (admin, { pages }) =>
  (given) => {
    const text = Inputs.sought(given)
    return mapped(
      pages((page) => admin.search.find({ text, page })),
      Views.found
    )
  }

export const make: Group<Admin.Admin> = (admin, running, place) => ({
  accounts: accounts(admin, running, place),
  sessions: sessions(admin, running, place),
  keys: keys(admin, running, place),
  templates: templates(admin, running, place),
  consents: consents(admin, running, place),
  people: people(admin, running, place),
  webhooks: webhooks(admin, running, place),
  rateCards: rateCards(admin, running, place),
  jobs: jobs(admin, running, place),
  restore: restore(admin, running, place),
  storage: storage(admin, running, place),
  secrets: secrets(admin, running, place),
  operators: operators(admin, running, place),
  audit: audit(admin, running, place),
  overview: async () => Glances.overview(await running.run(admin.overview.now)),
  health: async () => Glances.health(await running.run(admin.overview.health)),
  search: search(admin, running, place)
})
