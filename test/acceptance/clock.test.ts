/** A store that was written by a clock of the year 2000, minutes before the clock was set right: a purge by each door. */
import { mkdtempSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { Instant } from "@sendwright/core"
import { Sqlite } from "@sendwright/core/sqlite"
import { AccountStore, ApiKeyStore, JobStore, SessionStore } from "@sendwright/core/storage"
import { Fixtures } from "@sendwright/core/testing"
import * as Effect from "effect/Effect"
import { expect, it, onTestFinished } from "vitest"
import * as InProcess from "../../packages/host/test/cli/InProcess.ts"
import { createSendwright, sandbox } from "../../packages/sendwright/src/index.ts"
import { sqlite } from "../../packages/sendwright/src/sqlite.ts"
import { start } from "../support/TestHost.ts"

const SECRET_KEY = Buffer.alloc(32, 7).toString("base64")
const in2000 = Instant.at(Date.UTC(2000, 0, 1))

/** The file, and the job whose Idempotency-Key is minutes old. */
const written = async () => {
  const folder = mkdtempSync(join(tmpdir(), "sendwright-clock-"))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, "in2000.db")
  const jobId = await Effect.gen(function* () {
    const jobs = yield* JobStore.JobStore
    const account = Fixtures.account()
    const session = Fixtures.session(account.id)
    const key = Fixtures.apiKey(session.id)
    yield* (yield* AccountStore.AccountStore).create(account)
    yield* (yield* SessionStore.SessionStore).create(session)
    yield* (yield* ApiKeyStore.ApiKeyStore).create(key)
    const who = { accountId: account.id, sessionId: session.id, publicKey: key.publicKey }
    const command = Fixtures.send(who, { now: in2000, key: "k" })
    yield* jobs.accept(command)
    yield* jobs.cancel({ jobId: command.jobId, now: in2000 })
    yield* jobs.accept(Fixtures.send(who, { now: in2000 }))
    return command.jobId
  }).pipe(Effect.provide(Sqlite.layer({ filename: file })), Effect.runPromise)
  return { file, jobId }
}

const detail = expect.stringContaining("Nothing younger than 2000-01-01T")

it("the API's purge leaves what is young by the store's own time, and says so", async () => {
  const { file, jobId } = await written()
  const host = await start({ DATABASE_URL: `sqlite:${file}`, SECRET_KEY })
  onTestFinished(() => host.stop())
  const headers = { authorization: `Bearer ${host.adminToken}` }
  for (const dry_run of [true, false]) {
    const { json } = await host.request("/admin/v1/purge", { body: { dry_run }, headers })
    expect(json).toMatchObject({ purge: { dry_run, accounts: [], detail } })
  }
  expect((await host.request(`/admin/v1/jobs/${jobId}`, { headers })).status).toBe(200)
})

it("so does the command line's", async () => {
  const { file, jobId } = await written()
  const sendwright = (...args: ReadonlyArray<string>) =>
    InProcess.run({ DATABASE_URL: `sqlite:${file}`, SECRET_KEY }, args)
  expect((await sendwright("purge", "--dry-run", "true")).json).toMatchObject({
    purge: { accounts: [], detail }
  })
  expect((await sendwright("purge")).json).toMatchObject({ purge: { accounts: [], detail } })
  expect((await sendwright("jobs", "show", jobId)).code).toBe(0)
})

it("so does the promise package's", async () => {
  const { file } = await written()
  const sw = await createSendwright({
    store: sqlite({ file }),
    senders: [sandbox()],
    secretKey: SECRET_KEY,
    logLevel: "none"
  })
  onTestFinished(() => sw.stop({ graceMs: 0 }))
  const held = { isComplete: true, accounts: [], detail: expect.stringContaining("the clock is ahead") }
  expect(await sw.admin.purge({ dryRun: true })).toMatchObject(held)
  expect(await sw.admin.purge()).toMatchObject(held)
})
