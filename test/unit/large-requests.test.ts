/** The messages of a large request pass from the caller to the provider as bytes. */
import { randomBytes } from 'node:crypto';
import { parseChatRequest } from '@sluice/api/chat/parse-chat-request';
import { putRequest, searchMessages } from '@sluice/api/chat/put-request';
import { findExcess, MemberSearch } from '@sluice/shared/json/measure';
import { PROTOCOLS } from '@sluice/shared/process/protocol';
import type { ChatJob } from '@sluice/shared/queue/job';
import { openRequest, Payloads } from '@sluice/shared/queue/payload';
import { buildBody } from '@sluice/worker/calls/build-body';
import type { Endpoint } from '@sluice/worker/calls/endpoint';
import { parseRequest } from '@sluice/worker/jobs/parse-request';
import { anthropic } from '@sluice/worker/providers/anthropic/index';
import { openai, openaiCompatible } from '@sluice/worker/providers/openai/index';
import type { Provider } from '@sluice/worker/providers/types';
import test from 'ava';
import fc from 'fast-check';
import { jobFor } from '../helpers/settle-bench.js';

const NO_LIMITS = {
  depth: Number.POSITIVE_INFINITY,
  keys: Number.POSITIVE_INFINITY,
  elements: Number.POSITIVE_INFINITY,
  messages: Number.POSITIVE_INFINITY,
  parts: Number.POSITIVE_INFINITY,
};
const LONG = 'Grüße 👋 "quoted" \\ \n'.repeat(2_000);

function messagesIn(text: string): string | undefined {
  const search = new MemberSearch('messages');
  findExcess(text, NO_LIMITS, search);
  return search.range && text.slice(...search.range);
}

/** Through the queue, as api and worker do it. */
function queued(text: string, protocol = PROTOCOLS.newest, payloads = new Payloads()) {
  const job: ChatJob = { ...jobFor('one'), protocol };
  const search = searchMessages(text);
  parseChatRequest(text, NO_LIMITS, search);
  putRequest(job, text, search, payloads);
  return { job, request: parseRequest(openRequest(payloads, job), job.messagesAt) };
}

function bodyAt(provider: Provider, text: string): string {
  const endpoint = { adapt: (body: unknown) => body } as unknown as Endpoint;
  return String(
    buildBody({ provider, endpoint }, queued(text).request, { provider: 'p', model: 'the-model' }),
  );
}

test('the messages are found among all fields', (t) => {
  t.is(messagesIn('{"messages":[1]}'), '[1]');
  t.is(
    messagesIn(' { "a" : {"messages":[2]} , "messages" : [ "}", "]\\"," ] ,"b":[{}]} '),
    ' [ "}", "]\\"," ] ',
  );
  t.is(messagesIn('{"a":"messages","b":["messages"],"messages":"x"}'), '"x"');
  t.is(messagesIn('{"a":{"messages":[1]}}'), undefined);
  t.is(messagesIn('[{"messages":[1]}]'), undefined);
});

test('messages that may be there twice are not found', (t) => {
  t.is(messagesIn('{"messages":[1],"messages":[2]}'), undefined);
  t.is(messagesIn('{"messages":[1],"mess\\u0061ges":[2]}'), undefined);
  t.is(messagesIn('{"mess\\u0061ges":[2]}'), undefined);
});

test('what is found is what a parser reads', (t) => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.oneof(fc.string(), fc.constant('messages')), fc.jsonValue()),
      fc.integer({ min: 0, max: 3 }),
      (body, indent) => {
        const found = messagesIn(JSON.stringify(body, null, indent));
        if (found !== undefined) t.is(JSON.stringify(JSON.parse(found)), JSON.stringify(body.messages));
        else if (Object.keys(body).every((key) => !JSON.stringify(key).includes('\\')))
          t.false('messages' in body);
      },
    ),
  );
});

test('a provider of the same format gets the messages byte by byte, and all else as ever', (t) => {
  const messages = ` [ {"role":"user", "content": ${JSON.stringify(LONG)}, "n":1.0, "big":12345678901234567890} ] `;
  const text = `{"ä":"ö","model":"fast","messages":${messages},"stream":false,"seed":12345678901234567890}`;
  for (const provider of [openai, openaiCompatible])
    t.is(
      bodyAt(provider, text),
      `{"ä":"ö","model":"the-model","messages":${messages},"seed":12345678901234567890}`,
    );
});

test('a server that refuses unknown fields does not get those of others, however they are written', (t) => {
  for (const name of ['cache_control', 'cache\\u005fcontrol', 'c\\u0061che_control']) {
    const text = `{"model":"fast","messages":[{"role":"user","content":${JSON.stringify(LONG)},"${name}":{"type":"ephemeral"}}]}`;
    const { messages } = JSON.parse(bodyAt(openai, text));
    t.deepEqual(messages, [{ role: 'user', content: LONG }], name);
    t.deepEqual(JSON.parse(bodyAt(openaiCompatible, text)).messages, JSON.parse(text).messages);
  }
});

test('a provider of another format gets the messages translated', (t) => {
  const messages = [
    { role: 'system', content: 'Be brief.' },
    { role: 'user', content: LONG },
  ];
  const body = JSON.parse(bodyAt(anthropic, JSON.stringify({ model: 'fast', messages })));
  t.true(JSON.stringify(body.system).includes('Be brief.'));
  t.true(JSON.stringify(body.messages).includes(JSON.stringify(LONG).slice(1, -1)));
});

test('the messages can be read and copied like those of any request', (t) => {
  const body = { model: 'fast', messages: [{ role: 'user', content: LONG }], stop: null };
  const text = JSON.stringify(body);
  t.deepEqual(queued(text).request, body as never);
  t.deepEqual({ ...queued(text).request }, body as never);
  t.is(JSON.stringify(queued(text).request), text);
});

test('a body without messages that can be found is read whole', (t) => {
  const text = `{"model":"fast","mess\\u0061ges":[{"role":"user","content":${JSON.stringify(LONG)}}]}`;
  const { job, request } = queued(text);
  t.is(job.messagesAt, undefined);
  t.deepEqual(request, JSON.parse(text));
  t.deepEqual(JSON.parse(bodyAt(openai, text)), { ...JSON.parse(text), model: 'the-model' });
});

test('a body of which the messages are the smaller part is read whole', (t) => {
  const body = { model: 'fast', messages: [{ role: 'user', content: 'Hi.' }], metadata: { LONG } };
  const { job, request } = queued(JSON.stringify(body));
  t.is(job.messagesAt, undefined);
  t.deepEqual(request, body as never);
});

test('a job for the version before is what that version reads', (t) => {
  const payloads = new Payloads({ keys: [randomBytes(32)], writes: true });
  const text = JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: LONG }] });
  const { job, request } = queued(text, 1, payloads);
  t.is(job.messagesAt, undefined);
  t.is(payloads.open(String(job.request), `request\n${job.workspace}\n${job.requestId}`), text);
  t.deepEqual(request, JSON.parse(text));
});

test('of a key that is there twice the provider gets the one that was checked', (t) => {
  const long = JSON.stringify(LONG);
  for (const message of [
    `{"role":"user","content":${long},"content":"Hi."}`,
    `{"role":"user","cont\\u0065nt":${long},"content":"Hi."}`,
    `{"role":"user","content":[{"type":"text","text":${long},"text":"Hi."}]}`,
    `{"role":"user","content":"Hi.","x":[{"a":${long},"a":1}]}`,
  ]) {
    const messages = `[{"role":"system","content":"Be brief."},${message}]`;
    const text = `{"a":{"b":1,"b":2},"model":"fast","messages":${messages},"c":{"d":1}}`;
    t.is(queued(text).job.messagesAt, undefined, message.slice(0, 40));
    t.true(bodyAt(openaiCompatible, text).includes(JSON.stringify(JSON.parse(messages))));
  }
  const text = `{"a":{"b":1,"b":2},"model":"fast","messages":[{"role":"user","content":${long}}],"c":{"d":1}}`;
  t.truthy(queued(text).job.messagesAt, 'a key outside the messages is written anew in any case');
});

test('a body that is not the one the api put there is not sent to a provider', (t) => {
  const text = JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: LONG }] });
  const { job } = queued(text);
  for (const changed of ['', '{"model":"fast"', text.slice(0, 5_000), '{"model":"fast","message":[1]}'])
    t.throws(() => parseRequest(Buffer.from(changed), job.messagesAt), undefined, changed.slice(0, 40));
});

test('a small body stays a text', (t) => {
  const text = '{"model":"fast","messages":[{"role":"user","content":"Hi."}]}';
  const { job, request } = queued(text);
  t.is(job.request, text);
  t.deepEqual(request, JSON.parse(text));
});
