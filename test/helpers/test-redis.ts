import { findOrInstallRedis } from '@sluice/cli/start/find-redis';
import { type RedisServer, type RedisServerOptions, startRedis } from '@sluice/cli/start/redis-server';
import { withParent } from './with-parent.js';

/** The Redis of this machine as a server of this process alone: it ends with it. */
export function startTestRedis({
  wrapper = [],
  ...options
}: Omit<RedisServerOptions, 'program'>): Promise<RedisServer> {
  return startRedis({
    ...options,
    program: findOrInstallRedis(() => {}),
    wrapper: [...withParent(), ...wrapper],
  });
}
