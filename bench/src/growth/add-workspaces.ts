import { lastFour, makeGatewayKey } from '@sluice/shared/contract/gateway-key';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Caller } from '../load/load.js';
import { CHAIN, type Sluice } from '../sluice.js';

const AT_ONCE = 200;

/** So many further workspaces, each with a key and a route of its own. */
export async function addWorkspaces(sluice: Sluice, count: number): Promise<Caller[]> {
  return inBatches(count, async (i) => {
    const { directory, digests, clock } = sluice;
    const [id, key, model, created] = [`workspace-${i}`, makeGatewayKey(), `route-${i}`, clock.now()];
    await directory.createWorkspace({ id, name: id, created, limits: noLimits() });
    const record = {
      id: `key_${makeRequestId()}`,
      workspace: id,
      name: 'default',
      lastFour: lastFour(key),
      created,
    };
    await directory.putKey(digests.of(key), record);
    await directory.putRoute(id, model, { chain: CHAIN, onCrash: 'rerun', created });
    return { key, model };
  });
}

/** So many further routes of the bench's own workspace. */
export async function addRoutes(sluice: Sluice, count: number): Promise<Caller[]> {
  return inBatches(count, async (i) => {
    const model = `route-${i}`;
    await sluice.directory.putRoute('bench', model, {
      chain: CHAIN,
      onCrash: 'rerun',
      created: sluice.clock.now(),
    });
    return { key: sluice.caller.key, model };
  });
}

function noLimits() {
  return { requestsPerMinute: undefined, concurrentRequests: undefined, budgetUsdPerMonth: undefined };
}

async function inBatches<Made>(count: number, make: (i: number) => Promise<Made>): Promise<Made[]> {
  const made: Made[] = [];
  for (let i = 0; i < count; i += AT_ONCE) {
    const batch = Array.from({ length: Math.min(AT_ONCE, count - i) }, (_, j) => make(i + j));
    made.push(...(await Promise.all(batch)));
  }
  return made;
}
