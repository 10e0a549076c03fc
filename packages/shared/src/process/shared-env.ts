import { REDIS_PROTOCOLS } from '../redis/address.js';
import { MOST_SHARDS } from '../redis/shard.js';
import { cellName, choice, integer, port, secretKeys, text, url } from './env.js';

/** Only for the processes that prompts and answers pass through. */
export const payloadEnv = {
  PAYLOAD_KEY: secretKeys({
    description:
      'key that encrypts prompts and answers in Redis, 32 bytes in base64 or hex; several with commas while it changes: the first encrypts, all decrypt',
  }),
};

/** For the processes that look up or write workspace keys. */
export const pepperEnv = {
  KEY_PEPPER: secretKeys({
    description:
      'secret that workspace keys are digested with, 32 bytes in base64 or hex; without it by plain SHA-256. Several with commas while it changes',
  }),
};

/** For the processes that write the archive, or read it. */
export const databaseEnv = {
  DATABASE_URL: url({
    protocols: ['postgres', 'postgresql'],
    description: 'a PostgreSQL database that keeps the request log and the spend',
  }),
};

/** The environment that api and worker processes have in common. */
export const sharedEnv = {
  REDIS_URL: url({
    protocols: REDIS_PROTOCOLS,
    required: true,
    description:
      'the Redis that all processes share; redis+sentinel://<name>?sentinels=<host:port>,… and redis+cluster://<host:port>,… find its primary',
  }),
  REDIS_EVICTION: choice(['refuse', 'allow'], {
    default: 'refuse',
    description:
      'whether a process starts with a Redis that throws any key away when it is full (maxmemory-policy allkeys-…)',
  }),
  SLUICE_CELL: cellName({ default: 'sluice', description: 'name of the cell, the tag in every Redis key' }),
  SLUICE_SHARDS: integer({
    default: 1,
    min: 1,
    max: MOST_SHARDS,
    description:
      'number of shards that the workspaces of the cell are divided among; the same for all processes',
  }),
  GATEWAY_CONFIG: text({ description: 'path of gateway.yaml (default: the one in the working directory)' }),
  LOG_LEVEL: choice(['trace', 'debug', 'info', 'warn', 'error', 'silent'], {
    default: 'info',
    description: 'least level that is logged',
  }),
  OTEL_EXPORTER_OTLP_ENDPOINT: url({
    protocols: ['http', 'https'],
    description: 'a collector of spans (OTLP over HTTP)',
  }),
  METRICS_HOST: text({ default: '127.0.0.1', description: 'address of the metrics and health listener' }),
  METRICS_PORT: port({ default: 9464, description: 'port of the metrics and health listener' }),
  METRICS_TOP_WORKSPACES: integer({
    default: 50,
    min: 1,
    max: 10_000,
    description: 'how many workspaces have a label of their own in metrics; the rest is `other`',
  }),
  METRICS_LINGER_MS: integer({
    default: 20_000,
    min: 0,
    max: 600_000,
    description: 'how long a drained process waits for its last scrape, if it is scraped',
  }),
};
