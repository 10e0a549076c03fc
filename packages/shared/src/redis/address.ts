/** Redis has a fixed address, or Sentinels that say where the primary is now, or it is a Cluster (cluster.ts). */
import type { RedisOptions } from 'ioredis';

export const REDIS_PROTOCOLS = [
  'redis',
  'rediss',
  'redis+sentinel',
  'rediss+sentinel',
  'redis+cluster',
  'rediss+cluster',
] as const;

const SENTINEL_PORT = 26_379;

/** Without this, ioredis takes a database that is no number for another one, or ends the process. */
export function requireReadable(url: string): void {
  const { pathname, username, password, searchParams } = new URL(url);
  if (!/^\/?\d*$/.test(pathname) || searchParams.has('db'))
    throw new Error(
      'REDIS_URL names a database that is no number; it is written redis://<host>:<port>/<number>',
    );
  try {
    decodeURIComponent(username + password);
  } catch {
    throw new Error('the user or the password in REDIS_URL has a % that is not written as %25');
  }
}

/**
 * The options for `redis+sentinel://user:password@mymaster/0?sentinels=host:26379,host:26379`, whose host is the name that
 * the Sentinels know the primary by (`rediss+sentinel`: TLS to Redis, `sentinel_tls=true`: TLS to the Sentinels); undefined
 * for a plain address.
 */
export function sentinelOptions(url: string): RedisOptions | undefined {
  const { protocol, hostname, username, password, pathname, searchParams } = new URL(url);
  if (!protocol.endsWith('+sentinel:')) return undefined;
  const sentinels = (searchParams.get('sentinels') ?? '').split(',').filter((each) => each !== '');
  if (hostname === '' || sentinels.length === 0)
    throw new Error(
      'REDIS_URL names no Sentinel; it is written redis+sentinel://<name of the primary>?sentinels=<host:port>,<host:port>',
    );
  const sentinelPassword = searchParams.get('sentinel_password');
  return {
    name: hostname,
    sentinels: sentinels.map((each) => {
      const { hostname: host, port } = new URL(`sentinel://${each}`);
      return { host, port: port === '' ? SENTINEL_PORT : Number(port) };
    }),
    ...(username === '' ? {} : { username: decodeURIComponent(username) }),
    ...(password === '' ? {} : { password: decodeURIComponent(password) }),
    ...(searchParams.get('sentinel_tls') === 'true' ? { sentinelTLS: {} } : {}),
    ...(sentinelPassword === null ? {} : { sentinelPassword }),
    ...(/^\/\d+$/.test(pathname) ? { db: Number(pathname.slice(1)) } : {}),
    ...(protocol === 'rediss+sentinel:' ? { enableTLSForSentinelMode: true, tls: {} } : {}),
    // While Sentinels choose a new primary they name the old one or none, so the client asks again soon.
    sentinelRetryStrategy: (times) => Math.min(50 * times, 1_000),
  };
}
