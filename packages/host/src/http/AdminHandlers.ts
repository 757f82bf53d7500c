/** The handlers of the admin API: call the engine's operator side, shape the answer. */
import { type Engine, Instant } from "@sendwright/core"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Api from "../api/AdminApi.ts"
import { page } from "../api/Parameters.ts"
import type { Route } from "./Route.ts"
import { forOperator, reply } from "./Route.ts"
import * as Views from "./Views.ts"

const ok = { ok: true } as const
const jobPage = 250

const endpointChange = <
  Payload extends {
    readonly batch_recipients?: boolean | undefined
    readonly deliveries_per_second?: number | null | undefined
  }
>({
  batch_recipients: batchRecipients,
  deliveries_per_second: deliveriesPerSecond,
  ...rest
}: Payload) => ({ ...rest, batchRecipients, deliveriesPerSecond })

export const make = ({ admin }: Context.Tag.Service<Engine.Engine>): ReadonlyArray<Route> => [
  forOperator(Api.createAccount, ({ payload }) =>
    Effect.map(admin.accounts.create(payload), (found) => reply({ ...ok, account: Views.account(found) }))
  ),
  forOperator(Api.accounts, ({ after, cursor, query }) =>
    Effect.map(admin.accounts.list(page(query, after)), ({ items, next }) =>
      reply({ ...ok, accounts: items.map(Views.account), next_cursor: cursor(next) })
    )
  ),
  forOperator(Api.account, ({ path }) =>
    Effect.map(admin.accounts.find(path.id), (found) => reply({ ...ok, account: Views.account(found) }))
  ),
  forOperator(Api.changeAccount, ({ path, payload }) =>
    Effect.map(admin.accounts.change(path.id, payload), (found) =>
      reply({ ...ok, account: Views.account(found) })
    )
  ),
  forOperator(Api.usage, ({ path }) =>
    Effect.map(admin.accounts.usage(path.id), ({ day, directMessages, resetsAt, templateRecipients }) =>
      reply({
        ...ok,
        usage: {
          day,
          template_recipients: templateRecipients,
          direct_messages: directMessages,
          resets_at: Instant.format(resetsAt)
        }
      })
    )
  ),

  forOperator(
    Api.createSession,
    ({ path, payload }) =>
      Effect.map(admin.sessions.create(path.id, payload), (found) =>
        reply({ ...ok, session: Views.session(found) })
      ),
    ({ payload }) => Effect.succeed(admin.sessions.createFaults(payload))
  ),
  forOperator(Api.sessions, ({ after, cursor, path, query }) =>
    Effect.map(admin.sessions.list(path.id, page(query, after)), ({ items, next }) =>
      reply({ ...ok, sessions: items.map(Views.session), next_cursor: cursor(next) })
    )
  ),
  forOperator(Api.session, ({ path }) =>
    Effect.map(admin.sessions.find(path.id), (found) => reply({ ...ok, session: Views.session(found) }))
  ),
  forOperator(
    Api.changeSession,
    ({ path, payload }) =>
      Effect.map(admin.sessions.change(path.id, payload), (found) =>
        reply({ ...ok, session: Views.session(found) })
      ),
    ({ path, payload }) =>
      path === undefined ? Effect.succeed([]) : admin.sessions.changeFaults(path.id, payload)
  ),
  forOperator(Api.connect, ({ path }) =>
    Effect.map(admin.sessions.connect(path.id), (found) => reply({ ...ok, session: Views.session(found) }))
  ),
  forOperator(Api.disconnect, ({ path }) =>
    Effect.map(admin.sessions.disconnect(path.id), (found) => reply({ ...ok, session: Views.session(found) }))
  ),

  forOperator(Api.issueKey, ({ path, payload }) =>
    Effect.map(admin.keys.issue(path.id, payload), ({ key, secretKey }) =>
      reply({ ...ok, key: Views.key(key), secret_key: secretKey })
    )
  ),
  forOperator(Api.keys, ({ after, cursor, path, query }) =>
    Effect.map(admin.keys.list(path.id, page(query, after)), ({ items, next }) =>
      reply({ ...ok, keys: items.map(Views.key), next_cursor: cursor(next) })
    )
  ),
  forOperator(Api.rotateKey, ({ path, payload }) =>
    Effect.map(
      admin.keys.rotate(path.publicKey, { overlapSeconds: payload.overlap_seconds }),
      ({ key, secretKey }) => reply({ ...ok, key: Views.key(key), secret_key: secretKey })
    )
  ),
  forOperator(Api.revokeKey, ({ path }) =>
    Effect.map(admin.keys.revoke(path.publicKey), (found) => reply({ ...ok, key: Views.key(found) }))
  ),
  forOperator(Api.changeKey, ({ path, payload }) =>
    Effect.map(admin.keys.change(path.publicKey, payload), (found) => reply({ ...ok, key: Views.key(found) }))
  ),

  forOperator(
    Api.importTemplates,
    ({ path, payload }) =>
      Effect.map(admin.templates.importAll(path.id, payload.templates), (imported) =>
        reply(Views.importedTemplates(imported))
      ),
    ({ payload: { templates = [] } }) => admin.templates.faults(templates)
  ),

  forOperator(Api.syncTemplates, ({ path }) =>
    Effect.map(admin.templates.sync(path.id), (imported) => reply(Views.syncedTemplates(imported)))
  ),

  forOperator(
    Api.recordConsents,
    ({ path, payload }) =>
      Effect.map(admin.consents.record(path.id, payload.consents), (results) =>
        reply({
          ...ok,
          recorded: results.filter(({ _tag }) => _tag === "Recorded").length,
          results: results.map((result, index) =>
            result._tag === "Recorded"
              ? { index, phone: result.record.phone, ok: true, consent_id: result.record.id }
              : { index, phone: result.phone, ok: false, errors: result.faults.map(Views.fault) }
          )
        })
      ),
    ({ payload: { consents = [] } }) => admin.consents.faults(consents)
  ),
  forOperator(Api.consents, ({ path, query }) =>
    Effect.map(
      admin.consents.find(path.id, { phone: query.phone, userId: query.user_id }),
      ({ current, history, phone, userId }) =>
        reply({
          ...ok,
          phone,
          user_id: userId,
          current: current.map(({ purpose, verdict }) => ({
            purpose,
            status: Views.verdictStatus(verdict),
            consent_id: verdict._tag === "Missing" ? null : verdict.record.id
          })),
          history: history.map(Views.consentRecord)
        })
    )
  ),

  forOperator(Api.unattributed, ({ after, cursor, path, query }) =>
    Effect.map(admin.consents.unattributed(path.id, page(query, after)), ({ items, next }) =>
      reply({ ...ok, unattributed: items.map(Views.unattributed), next_cursor: cursor(next) })
    )
  ),

  forOperator(
    Api.createWebhook,
    ({ path, payload }) =>
      Effect.map(admin.webhooks.create(path.id, endpointChange(payload)), ({ endpoint, secret }) =>
        reply({ ...ok, webhook: Views.webhook(endpoint), secret })
      ),
    ({ payload }) => Effect.succeed(admin.webhooks.faults(endpointChange(payload)))
  ),
  forOperator(Api.webhooks, ({ after, cursor, path, query }) =>
    Effect.map(admin.webhooks.list(path.id, page(query, after)), ({ items, next }) =>
      reply({ ...ok, webhooks: items.map(Views.webhook), next_cursor: cursor(next) })
    )
  ),
  forOperator(
    Api.changeWebhook,
    ({ path, payload }) =>
      Effect.map(admin.webhooks.change(path.id, endpointChange(payload)), (found) =>
        reply({ ...ok, webhook: Views.webhook(found) })
      ),
    ({ payload }) => Effect.succeed(admin.webhooks.faults(endpointChange(payload)))
  ),
  forOperator(Api.removeWebhook, ({ path }) => Effect.as(admin.webhooks.remove(path.id), reply(ok))),
  forOperator(Api.rotateWebhook, ({ path, payload }) =>
    Effect.map(
      admin.webhooks.rotate(path.id, { overlapSeconds: payload.overlap_seconds }),
      ({ endpoint, secret }) => reply({ ...ok, webhook: Views.webhook(endpoint), secret })
    )
  ),
  forOperator(Api.testWebhook, ({ path }) =>
    Effect.map(admin.webhooks.test(path.id), (deliveryId) => reply({ ...ok, delivery_id: deliveryId }))
  ),
  forOperator(Api.deliveries, ({ after, cursor, path, query }) =>
    Effect.map(admin.webhooks.deliveries(path.id, page(query, after)), ({ items, next }) =>
      reply({ ...ok, deliveries: items.map(Views.delivery), next_cursor: cursor(next) })
    )
  ),
  forOperator(Api.replayWebhook, ({ path, payload }) =>
    Effect.map(
      admin.webhooks.replaySince(path.id, Instant.parse(payload.since) ?? 0, payload.which ?? "failed"),
      (replayed) => reply({ ...ok, replayed })
    )
  ),
  forOperator(Api.replayDelivery, ({ path }) =>
    Effect.map(admin.webhooks.replay(path.id), (found) => reply({ ...ok, delivery: Views.delivery(found) }))
  ),

  forOperator(
    Api.addRateCard,
    ({ payload }) =>
      Effect.map(
        admin.rateCards.add({
          currency: payload.currency,
          effectiveFrom: Instant.parse(payload.effective_from) ?? 0,
          prices: payload.prices.map(({ category, market, prefixes = null, price }) => ({
            market,
            prefixes,
            category,
            price
          }))
        }),
        (found) => reply({ ...ok, rate_card: Views.rateCard(found) })
      ),
    ({ payload: { prices = [] } }) =>
      Effect.succeed(
        admin.rateCards.faults({ prices: prices.map((each) => each && { prefixes: null, ...each }) })
      )
  ),
  forOperator(
    Api.importRateCard,
    ({ payload }) =>
      Effect.map(
        admin.rateCards.importList({
          currency: payload.currency,
          effectiveFrom: Instant.parse(payload.effective_from) ?? 0,
          csv: payload.csv
        }),
        (found) => reply({ ...ok, rate_card: Views.rateCard(found) })
      ),
    ({ payload: { csv, currency } }) => Effect.succeed(admin.rateCards.faults({ csv, currency }))
  ),
  forOperator(Api.rateCards, ({ after, cursor, query }) =>
    Effect.map(admin.rateCards.list(page(query, after)), ({ items, next }) =>
      reply({ ...ok, rate_cards: items.map(Views.rateCard), next_cursor: cursor(next) })
    )
  ),

  forOperator(Api.messages, ({ after, cursor, query }) =>
    Effect.map(admin.jobs.messages(query.account_id, page(query, after)), ({ items, next }) =>
      reply({ ...ok, messages: items.map(Views.message), next_cursor: cursor(next) })
    )
  ),
  forOperator(Api.adminJobs, ({ after, cursor, query }) =>
    Views.jobFilter(query).pipe(
      Effect.flatMap((filter) => admin.jobs.list(query.account_id, { ...filter, page: page(query, after) })),
      Effect.map((found) => reply(Views.jobs(found, cursor)))
    )
  ),
  forOperator(Api.adminJob, ({ after, cursor, path, query }) =>
    Effect.map(
      admin.jobs.find(path.id, {
        recipientStatus: query.recipient_status,
        page: page(query, after, jobPage)
      }),
      (found) => reply(Views.jobDetail(found, cursor))
    )
  ),
  forOperator(Api.cancelJob, ({ path }) =>
    Effect.map(admin.jobs.cancel(path.id), (found) => reply({ ...ok, job: Views.job(found) }))
  ),
  forOperator(
    Api.retryJob,
    ({ path, payload: { dry_run: dryRun, ...selection } }) =>
      Effect.map(admin.jobs.retry(path.id, { ...selection, dryRun }), ({ counts, dryRun, job }) =>
        reply({
          ...ok,
          job: Views.job(job),
          retried: counts.failed + counts.unknown,
          counts,
          dry_run: dryRun
        })
      ),
    ({ payload }) => Effect.succeed(admin.jobs.retryFaults(payload))
  ),

  forOperator(Api.resealSecrets, ({ query }) =>
    Effect.map(admin.secrets.reseal, (found) => reply(Views.resealed(found, query.list === "true")))
  ),

  forOperator(Api.createOperator, ({ payload }) =>
    Effect.map(admin.operators.create(payload), ({ operator, token }) =>
      reply({ ...ok, operator: Views.operator(operator), token })
    )
  ),
  forOperator(Api.operators, ({ after, cursor, query }) =>
    Effect.map(admin.operators.list(page(query, after)), ({ items, next }) =>
      reply({ ...ok, operators: items.map(Views.operator), next_cursor: cursor(next) })
    )
  ),
  forOperator(Api.rotateOperator, ({ path, payload }) =>
    Effect.map(
      admin.operators.rotate(path.name, { overlapSeconds: payload.overlap_seconds }),
      ({ operator, token }) => reply({ ...ok, operator: Views.operator(operator), token })
    )
  ),
  forOperator(Api.revokeOperator, ({ path }) =>
    Effect.map(admin.operators.revoke(path.name), (found) =>
      reply({ ...ok, operator: Views.operator(found) })
    )
  ),
  forOperator(Api.audit, ({ after, cursor, query: { from, operation, operator, target, to, ...query } }) =>
    Effect.map(
      admin.audit.list({
        operation,
        operator,
        target,
        from: from === undefined ? undefined : Instant.parse(from),
        to: to === undefined ? undefined : Instant.parse(to),
        page: page(query, after)
      }),
      ({ items, next }) => reply({ ...ok, entries: items.map(Views.auditEntry), next_cursor: cursor(next) })
    )
  )
]
