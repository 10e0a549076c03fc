/**
 * The tables of the archive, step by step. A step that has been released is never changed: what comes later is a new step.
 * `$schema` is the schema of the cell.
 *
 * `requests` has a row for every entry of the request log. Its key is the request's id, with the moment at which it was
 * accepted, because a partitioned table needs its partition's column in the key. Both are fixed when the request is
 * accepted, so that a request has one row however often its entry is written. `logged_ms` and `logged_seq` are the entry's
 * id in the log's stream: the order of the log.
 *
 * `spend` has what was spent in each quarter of an hour, because some time zones are a quarter of an hour off. It is only
 * ever added to; upkeep.ts makes one row of those that are alike. Money is whole picodollars.
 */
export const MIGRATIONS: readonly string[] = [
  `
CREATE TABLE $schema.requests (
  id text COLLATE "C" NOT NULL,
  accepted_at timestamptz NOT NULL,
  settled_at timestamptz NOT NULL,
  logged_ms bigint NOT NULL,
  logged_seq bigint NOT NULL,
  workspace text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  route text COLLATE "C",
  model text COLLATE "C" NOT NULL,
  provider text COLLATE "C",
  provider_model text COLLATE "C",
  status smallint NOT NULL,
  code text COLLATE "C",
  reason text COLLATE "C",
  fallback boolean NOT NULL,
  duration_ms bigint NOT NULL,
  queue_ms double precision NOT NULL,
  cost bigint NOT NULL,
  end_user text COLLATE "C",
  tags jsonb,
  details jsonb NOT NULL,
  PRIMARY KEY (id, accepted_at)
) PARTITION BY RANGE (accepted_at);

CREATE INDEX requests_logged ON $schema.requests (logged_ms, logged_seq);
CREATE INDEX requests_workspace ON $schema.requests (workspace, logged_ms, logged_seq);
CREATE INDEX requests_key ON $schema.requests (key_id, logged_ms, logged_seq);
CREATE INDEX requests_code ON $schema.requests (code, logged_ms, logged_seq) WHERE code IS NOT NULL;
CREATE INDEX requests_user ON $schema.requests (end_user, logged_ms, logged_seq) WHERE end_user IS NOT NULL;
CREATE INDEX requests_tags ON $schema.requests USING gin (tags jsonb_path_ops) WHERE tags IS NOT NULL;
CREATE INDEX requests_duration ON $schema.requests (duration_ms, logged_ms, logged_seq);
CREATE INDEX requests_cost ON $schema.requests (cost, logged_ms, logged_seq);
CREATE TABLE $schema.requests_other PARTITION OF $schema.requests DEFAULT;

CREATE TABLE $schema.spend (
  quarter timestamptz NOT NULL,
  workspace text COLLATE "C" NOT NULL,
  key_id text COLLATE "C" NOT NULL,
  route text COLLATE "C",
  provider text COLLATE "C" NOT NULL,
  model text COLLATE "C" NOT NULL,
  tags jsonb,
  requests bigint NOT NULL,
  cost bigint NOT NULL,
  input bigint NOT NULL,
  cached_input bigint NOT NULL,
  cache_write bigint NOT NULL,
  output bigint NOT NULL,
  unknown bigint NOT NULL,
  estimated bigint NOT NULL
) PARTITION BY RANGE (quarter);

CREATE INDEX spend_quarter ON $schema.spend (quarter);
CREATE INDEX spend_workspace ON $schema.spend (workspace, quarter);
CREATE TABLE $schema.spend_other PARTITION OF $schema.spend DEFAULT;

-- Requests that were settled before this moment are no longer written. An end user is kept as a digest.
CREATE TABLE $schema.erasures (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  workspace text COLLATE "C" NOT NULL,
  end_user text COLLATE "C",
  erased_at timestamptz NOT NULL,
  done_at timestamptz
);

-- Entries that the tables above refused, unchanged.
CREATE TABLE $schema.refused_entries (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  refused_at timestamptz NOT NULL DEFAULT now(),
  problem text NOT NULL,
  entry text NOT NULL
);
`,
  // A value that is rare, or was used long ago, is found by an index of its column alone. PostgreSQL keeps such an index
  // small, because many rows share a value. A common value is found by walking the newest rows, which needs no index of it.
  `
DROP INDEX $schema.requests_key;
DROP INDEX $schema.requests_user;
CREATE INDEX requests_key ON $schema.requests (key_id);
CREATE INDEX requests_user ON $schema.requests (end_user) WHERE end_user IS NOT NULL;
CREATE INDEX requests_route ON $schema.requests (route) WHERE route IS NOT NULL;
CREATE INDEX requests_model ON $schema.requests (model);
CREATE INDEX requests_provider_model ON $schema.requests (provider_model) WHERE provider_model IS NOT NULL;
CREATE INDEX requests_provider ON $schema.requests (provider) WHERE provider IS NOT NULL;
CREATE INDEX requests_failed ON $schema.requests (workspace, logged_ms, logged_seq) WHERE status >= 400;
CREATE INDEX requests_fallback ON $schema.requests (logged_ms, logged_seq) WHERE fallback;
`,
  // What most rows have is in columns, which take a fraction of the room that it takes in `details`. A price is the same for
  // very many requests, and is stored once. `input` and `output` are null for a request that nobody served; of the other
  // tokens 0 is null.
  `
ALTER TABLE $schema.requests
  ADD COLUMN served_entry smallint,
  ADD COLUMN latency_ms integer,
  ADD COLUMN input bigint,
  ADD COLUMN cached_input bigint,
  ADD COLUMN cache_write bigint,
  ADD COLUMN cache_write_1h bigint,
  ADD COLUMN output bigint,
  ADD COLUMN price_id bigint;

CREATE TABLE $schema.prices (
  id bigint PRIMARY KEY,
  price jsonb NOT NULL
);
`,
  // The dearest and the longest requests of a workspace or key: the index itself says whose they are, so that nobody reads the
  // rows of all the others.
  `
DROP INDEX $schema.requests_duration;
DROP INDEX $schema.requests_cost;
CREATE INDEX requests_duration ON $schema.requests (duration_ms, logged_ms, logged_seq, workspace, key_id);
CREATE INDEX requests_cost ON $schema.requests (cost, logged_ms, logged_seq, workspace, key_id);
`,
  // Few requests have a reason, and of those many have the same few. Without this index PostgreSQL reads whole months for a rare
  // one.
  `
CREATE INDEX requests_reason ON $schema.requests (reason, logged_ms, logged_seq) WHERE reason IS NOT NULL;
`,
  // What invoices have settled. Money is whole picodollars; it is negative when the provider bills less than the ledger has.
  `
CREATE TABLE $schema.adjustments (
  id text COLLATE "C" PRIMARY KEY,
  provider text COLLATE "C" NOT NULL,
  day date NOT NULL,
  model text COLLATE "C" NOT NULL,
  amount bigint NOT NULL,
  made_at timestamptz NOT NULL,
  made_by text,
  why jsonb NOT NULL
);
CREATE INDEX adjustments_day ON $schema.adjustments (day);
`,
];
