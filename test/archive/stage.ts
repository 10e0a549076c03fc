/** A gateway with an archive, for the shows. */
import { join } from 'node:path';
import type { PostgresServer } from '@sluice/cli/start/postgres-server';
import { type Gateway, type GatewayOptions, startRealGateway } from '../helpers/gateway.js';
import { startTestPostgres } from '../helpers/test-postgres.js';

export interface Stage {
  gateway: Gateway;
  postgres(): PostgresServer;
  /** As a crash would; it comes back at the same address. */
  killPostgres(): Promise<void>;
  restartPostgres(): Promise<void>;
  stop(): Promise<void>;
}

export async function startStage(folder: string, options: GatewayOptions = {}): Promise<Stage> {
  const place = join(folder, 'postgres');
  let postgres = await startTestPostgres(place);
  const gateway = await startRealGateway({
    workers: 2,
    ...options,
    env: {
      DATABASE_URL: postgres.url,
      DATABASE_OWNER_URL: postgres.ownerUrl,
      ARCHIVE_SPILL_DIR: join(folder, 'spill'),
      LOG_LEVEL: 'error',
    },
  });
  return {
    gateway,
    postgres: () => postgres,
    killPostgres: () => postgres.stop('SIGKILL'),
    async restartPostgres() {
      postgres = await startTestPostgres(place, postgres.port);
    },
    async stop() {
      await gateway.stop();
      await postgres.stop();
    },
  };
}

/** Sends requests, so many at a time, until `isOver`; tells what callers got. */
export async function callUntil(
  gateway: Gateway,
  callers: number,
  isOver: () => boolean,
  onAnswer: (answer: { id: string; status: number; cost: string | null }) => void,
): Promise<void> {
  const body = { model: 'fast', messages: [{ role: 'user', content: 'archive' }] };
  await Promise.all(
    Array.from({ length: callers }, async () => {
      while (!isOver()) {
        const answer = await gateway.chat(body).catch(() => undefined);
        if (!answer) continue;
        const { status, headers } = answer;
        const id = (headers.get('x-request-id') ?? '').replace('req_', '');
        onAnswer({ id, status, cost: headers.get('x-gateway-cost-usd') });
        // Redis is away, or full: a caller waits before it tries again.
        if (status === 503) await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }),
  );
}
