/** A quote: what a batch would cost and what would become of it, without running anything. */
import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { BatchQuote, BatchView } from '@sluice/shared/admin-api';
import { toFile } from 'openai';
import { adminOf } from '../helpers/admin.js';
import { batchEnd, createBatch, line, toJsonl } from '../helpers/batches.js';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { sdkFor } from '../helpers/sdk.js';
import { sluiceOf } from '../helpers/sluice.js';
import { until } from '../helpers/until.js';
import { fits, measureQuotes } from '../quotes/measure.js';

let gateway: Gateway;

test.before(async () => {
  gateway = await startGateway({
    workspaces: {
      poor: {
        routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
        limits: { budget_usd_per_month: 0.000001 },
      },
      slow: {
        routes: { fast: [{ provider: 'openai', model: 'gpt-4o-mini' }] },
        limits: { requests_per_minute: 2, when_full: 'refuse' },
      },
    },
  });
});
test.after.always(() => gateway?.stop());

async function quote(content: string, more: object = {}, key = gateway.key): Promise<BatchQuote> {
  const client = sdkFor({ ...gateway, key });
  const file = await client.files.create({
    file: await toFile(Buffer.from(content), 'a.jsonl'),
    purpose: 'batch',
  });
  const body = { input_file_id: file.id, endpoint: '/v1/chat/completions', dry_run: true, ...more };
  return client.post('/batches', { body }) as Promise<BatchQuote>;
}

test.serial(
  'a quote says what the lines are, what they cost and what would be refused, and runs nothing',
  async (t) => {
    const before = gateway.simulator.calls.length;
    const broken = { ...line('c', 'x'), body: { model: 'fast', messages: 'no list' } };
    const lines = [
      line('a', 'word '.repeat(400)),
      line('b', 'hi', 'nobody'),
      broken,
      line('d', 'hi', 'nobody'),
    ];
    const quoted = await quote(toJsonl(lines));
    t.like(quoted, { object: 'batch.quote', lines: 4, lines_read: 4, errors: null });
    const [model, ...others] = quoted.models;
    t.deepEqual(others, []);
    t.like(model, {
      model: 'fast',
      provider: 'openai',
      provider_model: 'gpt-4o-mini',
      lines: 1,
      is_priced: true,
    });
    t.true(quoted.input_tokens >= 500 && quoted.input_tokens < 600);
    t.deepEqual(
      quoted.refused.map(({ code, lines: count, first_line: first }) => [code, count, first]),
      [
        ['model_not_found', 2, 2],
        ['invalid_request', 1, 3],
      ],
    );
    const [window] = quoted.windows;
    t.like(window, { completion_window: '1h', by: 'gateway' });
    t.deepEqual(
      quoted.windows.map(({ completion_window }) => completion_window),
      ['1h', '24h', '48h'],
    );
    const [expected, most, bound] = [
      window?.expected_cost_usd,
      window?.most_cost_usd,
      window?.bound_cost_usd,
    ].map(Number) as [number, number, number];
    t.true(expected > 0 && expected < most && most <= bound, `${expected} ${most} ${bound}`);
    t.is(gateway.simulator.calls.length, before);
    t.deepEqual((await sdkFor(gateway).batches.list()).data, []);
  },
);

test.serial('a quote reckons with flex where the window leaves time for it', async (t) => {
  const ask = () => gateway.chat({ model: 'o4-mini', messages: [{ role: 'user', content: 'Hello' }] });
  t.is((await ask()).status, 200);
  const lines = [line('a', 'word '.repeat(400), 'o4-mini')];
  const [long, short] = await until('the pace is known', async () => {
    const windows = await Promise.all(
      ['24h', '15m'].map(async (window) => {
        const quoted = await until('the other quote is over', () =>
          quote(toJsonl(lines), { completion_window: window }).catch(() => undefined),
        );
        return { ...quoted.windows[0], model: quoted.models[0] };
      }),
    );
    return windows.every(({ ends_at }) => ends_at != null) && windows;
  });
  const standard = Number(long?.model?.expected_cost_usd);
  t.is(Number(long?.expected_cost_usd), standard / 2);
  t.is(Number(short?.expected_cost_usd), standard / 2, 'a line takes no quarter of an hour');
  t.is(Number(long?.most_cost_usd), Number(long?.model?.most_cost_usd), 'flex may refuse it');
  const body = { model: 'o4-mini', messages: [{ role: 'user', content: 'Hello' }], service_tier: 'priority' };
  const other = await until('the other quote is over', () =>
    quote(toJsonl([{ ...line('b', ''), body }]), { completion_window: '24h' }).catch(() => undefined),
  );
  t.is(other.windows[0]?.expected_cost_usd, other.models[0]?.expected_cost_usd, 'the caller names a tier');
});

test.serial('a quote names the lines for which the batch would fail', async (t) => {
  const quoted = await quote(`${toJsonl([line('a', 'hi')])}no JSON\n${toJsonl([line('a', 'hi')])}`);
  t.deepEqual(
    quoted.errors?.data.map(({ code, line: number }) => [code, number]),
    [
      ['invalid_json_line', 2],
      ['duplicate_custom_id', 3],
    ],
  );
});

test.serial('a quote says that a budget does not cover the batch', async (t) => {
  const quoted = await quote(toJsonl([line('a', 'word '.repeat(4_000))]), {}, gateway.keys.poor);
  t.like(quoted.refused, [{ code: 'budget_exceeded', lines: 1, first_line: null }]);
});

test.serial('a quote counts as a request of its workspace', async (t) => {
  const ask = () => quote(toJsonl([line('a', 'hi')]), {}, gateway.keys.slow);
  const client = sdkFor({ ...gateway, key: gateway.keys.slow as string });
  await ask();
  await ask();
  const file = await client.files.create({
    file: await toFile(Buffer.from('x'), 'a.jsonl'),
    purpose: 'batch',
  });
  const body = { input_file_id: file.id, endpoint: '/v1/chat/completions', dry_run: true };
  const error = await t.throwsAsync(client.post('/batches', { body, maxRetries: 0 }));
  t.like(error, { status: 429, code: 'rate_limited' });
});

test.serial('a batch that has a wrong dry_run or window is refused', async (t) => {
  for (const [more, param] of [
    [{ dry_run: 'yes' }, 'dry_run'],
    [{ completion_window: '49h' }, 'completion_window'],
    [{ dry_run: false }, 'completion_window'],
  ] as const)
    t.like(await t.throwsAsync(quote(toJsonl([line('a', 'hi')]), more)), { status: 400, param });
});

test.serial('a quote that names a window is for that one', async (t) => {
  const { windows } = await quote(toJsonl([line('a', 'hi')]), { completion_window: '25h' });
  t.deepEqual(
    windows.map(({ completion_window }) => completion_window),
    ['25h'],
  );
});

test.serial('sluice batches quote reads a file and keeps nothing', async (t) => {
  const path = join(dirname(gateway.configPath), 'quoted.jsonl');
  writeFileSync(path, toJsonl([line('a', 'hi'), line('b', 'hi')]));
  const run = await sluiceOf(gateway)(['batches', 'quote', path, '--workspace', 'demo', '--json']);
  t.like(run.json(), { object: 'batch.quote', lines: 2, input_file_id: null, refused: [] });
  const text = await sluiceOf(gateway)(['batches', 'quote', path, '--workspace', 'demo']);
  t.regex(text.out, /2 lines[\s\S]*openai\/gpt-4o-mini[\s\S]*24h/);
});

test.serial('the pace tells when a batch would end', async (t) => {
  const client = sdkFor(gateway);
  await batchEnd(client, (await createBatch(client, toJsonl([line('a', 'hi')]))).id);
  // The log has been read for an earlier quote, and is read again after a while.
  const window = await until('a pace', async () => {
    const [first] = (await quote(toJsonl([line('a', 'hi')]))).windows;
    return first?.ends_at != null && first;
  });
  t.true(window.in_time);
  t.true((window.ends_at ?? 0) * 1000 >= Date.now() - 1_000);
});

test.serial('what batches cost lies within their quotes', async (t) => {
  const measured = await measureQuotes({ gateway, runs: 12, seed: 7 });
  t.true(measured.every(fits), JSON.stringify(measured.filter((each) => !fits(each))));
  const { body } = await adminOf(gateway)('GET', '/batches');
  t.true((body.data as BatchView[]).length >= 12);
});
