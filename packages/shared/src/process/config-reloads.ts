/** Connects the triggers that make a process read gateway.yaml again. */
import { existsSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { configPath } from '../config/config.js';
import type { ControlNames } from '../redis/key-names.js';
import { LiveConfig, type Loaded } from './live-config.js';
import type { Logger } from './logger.js';

/**
 * `load` gets the path of the file, or undefined while there is none and the defaults hold. Once there was a file, its
 * absence is a mistake: the operator's providers must not disappear with it.
 */
export function startLiveConfig(
  given: string | undefined,
  logger: Logger,
  load: (path: string | undefined) => Loaded,
): LiveConfig {
  const file = configPath(given);
  let path = given;
  return new LiveConfig({
    file,
    logger,
    load() {
      path ??= existsSync(file) ? file : undefined;
      return load(path);
    },
  });
}

/** `sluice apply` asks all processes at once. `subscriber` is a connection in subscriber mode. */
export async function hearReloads(live: LiveConfig, subscriber: Redis, names: ControlNames): Promise<void> {
  subscriber.on('message', (channel) => {
    if (channel === names.reloads) live.reload('sluice apply');
  });
  await subscriber.subscribe(names.reloads);
}
