/** The admin API of contract.md §8, under `/admin/v1`: operations of the REST API and of the command line. */
import * as Accounts from "./Accounts.ts"
import * as ApiKeys from "./ApiKeys.ts"
import * as Consents from "./Consents.ts"
import * as Events from "./Events.ts"
import * as Exports from "./Exports.ts"
import * as Jobs from "./Jobs.ts"
import * as Messages from "./Messages.ts"
import * as Operators from "./Operators.ts"
import * as Overview from "./Overview.ts"
import * as People from "./People.ts"
import * as RateCards from "./RateCards.ts"
import * as Restore from "./Restore.ts"
import * as Retries from "./Retries.ts"
import * as Search from "./Search.ts"
import * as Secrets from "./Secrets.ts"
import * as Sessions from "./Sessions.ts"
import * as Storage from "./Storage.ts"
import * as Templates from "./Templates.ts"
import * as Timelines from "./Timelines.ts"
import * as Webhooks from "./Webhooks.ts"

export const operations = [
  ...Overview.admin,
  ...Search.admin,
  ...Accounts.admin,
  ...Sessions.admin,
  ...ApiKeys.admin,
  ...Templates.admin,
  ...Consents.admin,
  ...People.admin,
  ...Webhooks.admin,
  ...RateCards.admin,
  ...Messages.admin,
  ...Timelines.admin,
  ...Jobs.admin,
  ...Retries.admin,
  ...Restore.admin,
  ...Storage.admin,
  ...Secrets.admin,
  ...Operators.admin,
  ...Events.admin,
  ...Exports.admin
]
