/** Sets log, ledger, PostgreSQL, FOCUS and counters side by side. */
import type { Budget } from '@sluice/shared/contract/budget';
import { digestOf, prefixOf, toBudgetPicodollars } from '@sluice/shared/queue/budgets';
import type { CallAdmin } from '../helpers/admin.js';
import type { Gateway } from '../helpers/gateway.js';
import { until } from '../helpers/until.js';
import type { Refusal } from './callers.js';

export interface Reconciled {
  values: number;
  overspent: number;
  reserved: bigint;
  /** Refusals of requests that every budget of theirs would still cover in the end. */
  fitting: number;
  sums: Record<string, bigint>;
  differences: string[];
}

export async function reconcile(
  gateway: Gateway,
  admin: CallAdmin,
  hasArchive: boolean,
  budgets: readonly Budget[],
  refusals: readonly Refusal[],
): Promise<Reconciled> {
  const { redis, names } = gateway;
  // What the killed api held lapses by itself. An admission finds that.
  await until('nothing is in flight', async () => {
    const body = { model: 'fast', messages: [{ role: 'user', content: 'The last' }] };
    await gateway.chat(body, { key: gateway.keys.money ?? '' });
    return (await redis.zcard(names.reservations('money'))) === 0;
  });
  const counters = await redis.zrange(names.money('money', 'values'), '0', '-1');
  let [overspent, reserved] = [0, 0n];
  let counted = 0n;
  for (const name of counters) {
    const state = await redis.hgetall(names.money('money', `counter:${name}`));
    const amount = (field: string) => BigInt(state[field] ?? 0);
    if (amount('spent') + amount('estimated') > amount('limit')) overspent += 1;
    reserved += amount('reserved');
    if (name.startsWith('workspace/') && name.includes(`/${digestOf('')}`)) counted += amount('spent');
  }
  const fitting = await countFitting(gateway, budgets, refusals);
  const own = (await gateway.log()).filter(({ workspace }) => workspace === 'money');
  const log = own.reduce((sum, { served }) => sum + BigInt(served?.cost ?? 0), 0n);
  const spend = async (by: string) => (await admin('GET', `/spend?workspace=money&by=${by}&since=2d`)).body;
  const sums: Record<string, bigint> = { log, counters: counted };
  sums.ledger = BigInt((await spend('route')).total.cost_picodollars);
  if (hasArchive) {
    await until(
      'PostgreSQL has everything',
      async () => BigInt((await spend('key')).total.cost_picodollars) === log,
    );
    sums.postgres = BigInt((await spend('key')).total.cost_picodollars);
    sums.users = BigInt((await spend('end_user')).total.cost_picodollars);
  }
  sums.focus = await focusSum(gateway);
  const differences = Object.entries(sums).flatMap(([name, sum]) =>
    sum === log ? [] : [`${name} ${sum - log}`],
  );
  return { values: counters.length, overspent, reserved, fitting, sums, differences };
}

/**
 * What is spent only grows, so a request that fits at the end would have fitted when it was refused. All requests may cost the
 * same, unless they go the cheaper way.
 */
async function countFitting(
  { redis, names }: Gateway,
  budgets: readonly Budget[],
  refusals: readonly Refusal[],
): Promise<number> {
  const known = await redis.zrange(names.money('money', 'values'), '0', '-1');
  const cost = toBudgetPicodollars(Math.max(0, ...refusals.map((refusal) => refusal.cost)));
  const left = new Map<string, bigint>();
  for (const name of known) {
    const [limit, spent, estimated] = await redis.hmget(
      names.money('money', `counter:${name}`),
      ...['limit', 'spent', 'estimated'],
    );
    left.set(name, BigInt(limit ?? 0) - BigInt(spent ?? 0) - BigInt(estimated ?? 0));
  }
  const covers = (budget: Budget, { user = '', tags }: Refusal) => {
    const value = { end_user: user, tag: tags?.project ?? '', run: tags?.run ?? '', workspace: '' };
    // There is one key.
    const end = budget.scope === 'key' ? '' : `/${digestOf(value[budget.scope])}`;
    const isOwn = (name: string) => name.startsWith(prefixOf(budget)) && name.endsWith(end);
    const name = known.find((each) => isOwn(each) && !each.endsWith('+'));
    return name === undefined || (left.get(name) ?? 0n) >= cost;
  };
  return refusals.filter((refusal) => budgets.every((budget) => covers(budget, refusal))).length;
}

async function focusSum({ adminUrl, adminToken }: Gateway): Promise<bigint> {
  const response = await fetch(`${adminUrl}/spend?workspace=money&since=2d&format=focus`, {
    headers: { authorization: `Bearer ${adminToken}` },
  });
  const [head = '', ...lines] = (await response.text()).trim().split(/\r?\n/);
  const at = head.split(',').indexOf('BilledCost');
  return lines.reduce(
    (sum, line) => sum + BigInt((line.split(',')[at] ?? '').replaceAll('"', '').replace('.', '')),
    0n,
  );
}
