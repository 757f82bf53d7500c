/** `pg` alone: a job and its recipients in one named statement. Given: the URL. */
import { randomUUID } from "node:crypto"
import Pg from "pg"
import { expose } from "../Child.ts"
import { payloads } from "./Queue.ts"
import { during, type Writer } from "./Writer.ts"

const [url = ""] = process.argv.slice(2)
const pool = new Pg.Pool({ connectionString: url, max: 10 })

await pool.query(`
CREATE TABLE job (seq bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY, id uuid NOT NULL UNIQUE, key text NOT NULL,
  idempotency_key text NOT NULL, fingerprint text NOT NULL, template int NOT NULL, status text NOT NULL,
  recipients int NOT NULL, next_at bigint, created_at bigint NOT NULL, UNIQUE (key, idempotency_key));
CREATE INDEX job_due ON job (next_at) WHERE next_at IS NOT NULL;
CREATE TABLE recipient (job bigint NOT NULL, place int NOT NULL, phone text NOT NULL, external_id text, variables text,
  status text NOT NULL DEFAULT 'queued', attempts int NOT NULL DEFAULT 0, next_at bigint, updated_at bigint,
  failure text, provider_id text, PRIMARY KEY (job, place))`)

const text = `WITH job AS (
  INSERT INTO job (id, key, idempotency_key, fingerprint, template, status, recipients, next_at, created_at)
  VALUES ($1, 'pk_bench', $2, $2, 1, 'queued', $3, $4, $4) ON CONFLICT DO NOTHING RETURNING seq
), written AS (
  INSERT INTO recipient (job, place, phone, external_id, variables, next_at, updated_at)
  SELECT job.seq, place - 1, phone, external_id, variables, $4, $4
  FROM job, unnest($5::text[], $6::text[], $7::text[]) WITH ORDINALITY AS one (phone, external_id, variables, place)
) SELECT seq FROM job`

expose<Writer>({
  write: (ms, atOnce) =>
    during(ms, atOnce, () => {
      const id = randomUUID()
      const columns = [
        payloads.map(({ phone }) => phone),
        payloads.map(({ external_id }) => external_id),
        payloads.map(({ variables }) => JSON.stringify(Object.values(variables)))
      ]
      const values = [id, id, payloads.length, Date.now(), ...columns]
      return pool.query({ name: "accept", text, values })
    })
})
