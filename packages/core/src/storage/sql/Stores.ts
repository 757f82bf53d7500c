/** The stores whose code is the same over each database; of the others each has its own. */
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Transactions } from "../Transactions.ts"
import * as AccountStore from "./AccountStore.ts"
import * as ApiKeyStore from "./ApiKeyStore.ts"
import * as AuditStore from "./AuditStore.ts"
import * as ConsentStore from "./ConsentStore.ts"
import { Database } from "./Database.ts"
import * as ErasureStore from "./ErasureStore.ts"
import * as ForeignConnection from "./ForeignConnection.ts"
import * as Happenings from "./Happenings.ts"
import * as InboundStore from "./InboundStore.ts"
import * as JobStore from "./JobStore.ts"
import * as KeyringStore from "./KeyringStore.ts"
import * as OperatorStore from "./OperatorStore.ts"
import * as RateCardStore from "./RateCardStore.ts"
import * as RestoreStore from "./RestoreStore.ts"
import * as RetentionStore from "./RetentionStore.ts"
import * as RetryPlanStore from "./RetryPlanStore.ts"
import * as SessionStore from "./SessionStore.ts"
import * as SizeStore from "./SizeStore.ts"
import * as TemplateStore from "./TemplateStore.ts"
import * as WebhookStore from "./WebhookStore.ts"

/** Transactions, as the database's own client knows them. */
export const transactions: Layer.Layer<Transactions, never, Database> = Layer.effect(
  Transactions,
  Effect.map(Database, ({ atomically, isEmbedded, isForeign }) => ({
    atomically,
    isEmbedded,
    isForeign: isForeign ?? ForeignConnection.isAroundThis()
  }))
)

/** @param isShared true where several processes have the database at once */
export const layer = (isShared: boolean) =>
  Layer.mergeAll(
    AccountStore.layer,
    ApiKeyStore.layer,
    AuditStore.layer,
    ConsentStore.layer,
    ErasureStore.layer,
    Happenings.layer,
    InboundStore.layer,
    JobStore.layer,
    KeyringStore.layer(isShared),
    OperatorStore.layer,
    RateCardStore.layer,
    RestoreStore.layer,
    RetentionStore.layer,
    RetryPlanStore.layer,
    SessionStore.layer,
    SizeStore.layer,
    TemplateStore.layer,
    transactions,
    WebhookStore.layer
  )
