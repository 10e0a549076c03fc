/** What the lines of a batch will cost, for a quote. */
import type { ChatRequest } from '@sluice/shared/chat';
import { CostEstimate } from '@sluice/shared/registry/cost-estimate';
import { type LineEstimate, mostOf, type PastUse } from '@sluice/shared/registry/line-estimate';
import { parseRegistry } from '@sluice/shared/registry/model-registry';
import { measurePrompt } from '@sluice/shared/registry/prompt-size';
import test from 'ava';

const registry = parseRegistry({
  version: '1',
  unit: 'usd_per_million_tokens',
  models: ['gpt-big', 'gpt-4o-mini'].map((id) => ({
    id,
    provider: 'openai',
    prices: { input: 2, cached_input: 1, output: 10 },
    context_window: 100_000,
    max_output_tokens: 50_000,
  })),
});
const openai = { kind: 'openai', baseUrl: 'https://api.openai.com/v1', prices: 'openai' } as const;
const estimate = new CostEstimate(new Map([['openai', openai]]), () => registry);
const USD = 1_000_000;
const NO_USE: PastUse = { requests: 0, input: 0, cachedInput: 0, cacheWrite: 0, output: 0 };
/** 200 answers of 100 tokens, half of whose prompts came from a cache. */
const USED: PastUse = { ...NO_USE, requests: 200, input: 1_000, cachedInput: 1_000, output: 20_000 };

function ofLine(content: string, past: PastUse | undefined, more: Partial<ChatRequest> = {}): LineEstimate {
  const request = { model: 'gpt-big', messages: [{ role: 'user', content }], ...more } as ChatRequest;
  const entry = { provider: 'openai', model: request.model };
  const measured = { request, body: JSON.stringify(request), prompt: measurePrompt(request) };
  const line = estimate.ofLine(entry, measured, past, { from: 0, until: 1 });
  if (typeof line === 'string') throw new Error(line);
  return line;
}

test('without measured answers, the usual one is expected and the longest one is the most', (t) => {
  for (const past of [undefined, NO_USE, { ...USED, requests: 99 }]) {
    const line = ofLine('some words '.repeat(100), past);
    t.false(line.isMeasured);
    t.is(line.output, 1_000);
    t.is(line.longOutput, 50_000 * 10 * USD);
    t.is(ofLine('hi', past, { max_tokens: 7 }).longOutput, 7 * 10 * USD);
  }
});

test('measured answers tell how long answers are, and how much of the prompts is cached', (t) => {
  const line = ofLine('some words '.repeat(100), { ...USED, longAnswer: 250 });
  t.true(line.isMeasured);
  t.is(line.output, 100);
  t.is(line.longOutput, 250 * 10 * USD);
  const cached = Math.floor(line.input / 2);
  t.is(line.expected, (line.input - cached) * 2 * USD + cached * 1 * USD + 100 * 10 * USD);
  t.is(ofLine('hi', USED).longOutput, 500 * 10 * USD);
  t.is(ofLine('hi', USED, { max_tokens: 7 }).longOutput, 7 * 10 * USD);
});

test('a line that asks for several answers takes the tokens of each', (t) => {
  for (const past of [undefined, { ...USED, longAnswer: 250 }, USED]) {
    const [one, three] = [ofLine('hi', past), ofLine('hi', past, { n: 3 })];
    t.is(three.output, 3 * one.output);
    t.is(three.longOutput, 3 * one.longOutput);
    t.true(three.expected > one.expected + 1.9 * one.output * 10 * USD);
    t.true(three.bound > one.bound);
  }
});

test('text without spaces may have a token for each byte', (t) => {
  const [words, data] = [ofLine('some words '.repeat(100), USED), ofLine('x'.repeat(1_100), USED)];
  t.is(data.input, words.input);
  t.true(data.mostInput > 1.9 * words.mostInput);
});

test('an image has its tokens, thirty times as many on gpt-4o-mini, and a file may fill the context', (t) => {
  const image = [{ type: 'image_url', image_url: { url: `data:image/png;base64,${'x'.repeat(9_000)}` } }];
  const ask = (model: string, parts: object[]) => ofLine(parts as unknown as string, USED, { model });
  for (const [model, least, most] of [
    ['gpt-big', 1_600, 4_800],
    ['gpt-4o-mini', 25_500, 50_000],
  ] as const) {
    const line = ask(model, image);
    t.true(line.input >= least && line.input < least + 100);
    t.true(line.mostInput >= most * 2 * USD && line.mostInput < (most + 200) * 2 * USD);
  }
  const file = ask('gpt-big', [{ type: 'file', file: { file_data: 'x'.repeat(1_000_000) } }]);
  t.false(file.isTooLong);
  t.is(file.input, 100_000);
  t.is(file.mostInput, 100_000 * 2 * USD);
});

test('an input that is longer than the context of embeddings is told', (t) => {
  const ask = (input: unknown) => ofLine('', USED, { messages: [], input });
  t.true(ask('word '.repeat(100_000)).isTooLong);
  t.false(ask(Array(100).fill('word '.repeat(1_000))).isTooLong);
});

test('a prompt that is longer than the context is told', (t) => {
  t.false(ofLine('word '.repeat(10_000), USED).isTooLong);
  t.true(ofLine('word '.repeat(100_000), USED).isTooLong);
});

test('the most is beyond the long answers for few lines, and never beyond the bound', (t) => {
  const sums = { mostInput: 10, longOutput: 100, longestOutput: 1_000, bound: 10_000 };
  t.is(mostOf({ ...sums, lines: 1 }), 210);
  t.is(mostOf({ ...sums, lines: 4 }), 160);
  t.is(mostOf({ ...sums, lines: 1, longestOutput: 150 }), 160);
  t.is(mostOf({ ...sums, lines: 1, bound: 50 }), 50);
});
