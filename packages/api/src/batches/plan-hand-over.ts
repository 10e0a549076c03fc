import { batchApiOf } from '@sluice/shared/config/batch-api';
import { EMBEDDINGS } from '@sluice/shared/process/protocol';
import { type Resolved, resolveModel } from '../chat/resolve-model.js';
import type { BatchRecord, HandedOver } from './batch-record.js';
import type { GatherParts } from './gather-part.js';

/** A provider may take so long for its own batch. A batch with less time is not handed over. */
export const PROVIDER_WINDOW_MS = 24 * 3_600_000;

/** Whether the batch is handed over, and if its route asks for that and it is not: why. */
export async function planHandOver(
  { directory, providers, protocol }: Pick<GatherParts, 'directory' | 'providers' | 'protocol'>,
  {
    id,
    workspace,
    endpoint,
    created,
    expires,
  }: Pick<BatchRecord, 'id' | 'workspace' | 'created' | 'expires'> & {
    endpoint?: BatchRecord['endpoint'] | undefined;
  },
  models: ReadonlySet<string>,
): Promise<HandedOver | undefined> {
  const found: Resolved[] = [];
  for (const model of models) {
    const resolved = await resolveModel(model, workspace, directory, providers, id).catch(() => undefined);
    if (resolved?.providerBatches) found.push(resolved);
  }
  const [entry] = found[0]?.chain ?? [];
  if (!entry) return undefined;
  const plan: HandedOver = {
    provider: entry.provider,
    model: entry.model,
    lines: 0,
    ended: 0,
    endedEarlier: 0,
    parts: [],
    ids: [],
  };
  const config = providers.get(entry.provider);
  if (expires - created < PROVIDER_WINDOW_MS)
    plan.oneByOne = 'The completion window is shorter than the 24 hours that a provider takes.';
  else if (models.size > 1) plan.oneByOne = 'The lines name several models.';
  else if ((await directory.findWorkspace(workspace))?.limits.budgets?.length)
    plan.oneByOne = 'The workspace has budgets that are kept for each line.';
  else if (!config || !batchApiOf(config))
    plan.oneByOne = `${entry.provider} has no batch API that the gateway speaks.`;
  else if (endpoint && config.embeddingsPath === undefined)
    plan.oneByOne = `${entry.provider} has no embeddings.`;
  else if (endpoint && protocol() < EMBEDDINGS) plan.oneByOne = 'A worker of an older version is running.';
  return plan;
}
