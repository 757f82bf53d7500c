/** Operators: made, rotated with an overlap, revoked. A token is shown once. */
import * as Effect from "effect/Effect"
import * as ApiKey from "../../domain/account/ApiKey.ts"
import { InvalidCredentials, type InvalidRequest, NotFound } from "../../domain/Errors.ts"
import * as Fault from "../../domain/Fault.ts"
import { RandomBytes } from "../../domain/Ids.ts"
import type { Instant } from "../../domain/Instant.ts"
import * as Time from "../../domain/Instant.ts"
import * as Keyring from "../../domain/Keyring.ts"
import type { Operator, Role } from "../../domain/Operator.ts"
import { isName, isReserved, makeToken, nameOf, nameRule } from "../../domain/Operator.ts"
import type { Page, Paged } from "../../domain/Page.ts"
import { SecretBox } from "../../secret/SecretBox.ts"
import { OperatorStore } from "../../storage/OperatorStore.ts"
import type { StorageError } from "../../storage/StorageError.ts"
import { refuseIf } from "./RefuseIf.ts"

/** An operator with the token that is shown now and never again. */
export interface Appointed {
  readonly operator: Operator
  readonly token: string
}

export interface Operators {
  readonly create: (input: {
    readonly name: string
    readonly role: Role
    /** True when it does not see people's numbers; only of the role `read`. */
    readonly masksPhones?: boolean | undefined
  }) => Effect.Effect<Appointed, InvalidRequest | StorageError>
  readonly list: (page: Page) => Effect.Effect<Paged<Operator>, StorageError>
  /**
   * @param overlapSeconds how long the old token lives on; a day unless said otherwise. Two old ones live at most: a
   * further rotation ends the oldest.
   */
  readonly rotate: (
    name: string,
    input: { readonly overlapSeconds?: number | undefined }
  ) => Effect.Effect<Appointed, InvalidRequest | NotFound | StorageError>
  readonly revoke: (name: string) => Effect.Effect<Operator, NotFound | StorageError>
  /** Finds the operator of the token. An unknown name costs the same work as a wrong token. */
  readonly identify: (token: string) => Effect.Effect<Operator, InvalidCredentials | StorageError>
}

const defaultOverlapSeconds = 24 * 60 * 60

const missing = Effect.fail(new NotFound({ what: "operator" }))

const maskFault = Fault.make(
  ["mask_phones"],
  "invalid_value",
  "`mask_phones` is for the role `read`: whoever acts sees whom it is about, and `metrics` reads of nobody."
)

const nameFault = (message: string) => [Fault.make(["name"], "invalid_value", message)]

export const make = Effect.gen(function* () {
  const box = yield* SecretBox
  const store = yield* OperatorStore
  const randomBytes = yield* RandomBytes

  const fresh = (name: string, now: Instant) => {
    const token = makeToken(name, randomBytes)
    return { token, secret: { hash: box.hash(token), createdAt: now, expiresAt: null } }
  }

  /**
   * Records the use, and moves a hash under an older master key to the one in use. If either fails, the request still
   * passes.
   */
  const noteUse = Effect.fnUntraced(function* (
    { lastUsedAt, name, secrets }: Operator,
    token: string,
    now: Instant
  ) {
    if (ApiKey.wasIdle({ lastUsedAt }, now)) yield* store.touch({ name, now })
    const older = secrets.find(
      ({ hash }) => !Keyring.isUnder(box.inUse(), hash) && box.matches(token, [hash])
    )
    if (older !== undefined) yield* store.rehash({ name, from: older.hash, to: box.hash(token) })
  })

  const operators: Operators = {
    create: Effect.fnUntraced(function* ({ masksPhones = false, name, role }) {
      yield* refuseIf(masksPhones && role !== "read" ? [maskFault] : [])
      yield* refuseIf(isName(name) ? [] : nameFault(`\`name\` must be ${nameRule}.`))
      const reserved = `\`${name}\` is reserved: it would be taken for the token of the environment. Choose another.`
      yield* refuseIf(isReserved(name) ? nameFault(reserved) : [])
      const now = yield* Time.now
      const { secret, token } = fresh(name, now)
      const operator: Operator = {
        name,
        role,
        masksPhones,
        status: "active",
        secrets: [secret],
        createdAt: now,
        lastUsedAt: null
      }
      const isNew = yield* store.create(operator)
      const duplicateName =
        "There is or was an operator of this name, and names are unique for good. Choose another."
      yield* refuseIf(isNew ? [] : nameFault(duplicateName))
      return { operator, token }
    }),
    list: store.list,
    rotate: Effect.fnUntraced(function* (name, { overlapSeconds }) {
      const found = (yield* store.find(name)) ?? (yield* missing)
      const revoked = "The operator is revoked, and that is final. Make a new one."
      yield* refuseIf(found.status === "revoked" ? nameFault(revoked) : [])
      const now = yield* Time.now
      const { secret, token } = fresh(name, now)
      const expireOthersAt = Time.after(now, (overlapSeconds ?? defaultOverlapSeconds) * Time.second)
      const operator = (yield* store.rotate({ name, secret, expireOthersAt, now })) ?? (yield* missing)
      return { operator, token }
    }),
    revoke: Effect.fnUntraced(function* (name) {
      return (yield* store.revoke(name)) ?? (yield* missing)
    }),
    identify: Effect.fnUntraced(function* (token) {
      const now = yield* Time.now
      const found = yield* store.find(nameOf(token) ?? "")
      const matches = box.matches(token, found === null ? [] : ApiKey.validHashes(found, now))
      if (found === null || !matches) return yield* new InvalidCredentials()
      yield* Effect.catchAll(noteUse(found, token, now), (error) => Effect.logWarning(error.message))
      return found
    })
  }
  return operators
})
