/** /v1/files: the official SDK stores, lists, reads and deletes; the bytes are encrypted, and no upload is in memory. */
import { readdirSync, readFileSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { connect } from 'node:net';
import { dirname, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { toFile } from 'openai';
import { type Gateway, startGateway } from '../helpers/gateway.js';
import test from '../helpers/needs-redis.js';
import { readEverything } from '../helpers/redis-contents.js';
import { sdkFor } from '../helpers/sdk.js';
import { until } from '../helpers/until.js';

const SECRET = 'canary-line-of-a-batch';
const QUOTA = 2_000_000;
let gateway: Gateway;

test.before(async () => {
  gateway = await startGateway({
    workers: 1,
    files: { max_file_bytes: 1_000_000, max_bytes_per_workspace: QUOTA, max_files_per_workspace: 8 },
    // Nobody else takes as long, also on a machine that stops for a while.
    request: { receive_timeout_ms: 12_000 },
    workspaces: { other: {}, full: {}, slow: {} },
  });
});
test.after.always(() => gateway?.stop());

const folder = () => join(dirname(gateway.configPath), 'files');

function storedFiles(workspace: string): string[] {
  try {
    return readdirSync(join(folder(), workspace)).map((name) => join(folder(), workspace, name));
  } catch {
    return [];
  }
}

/** A form as a browser writes it. */
function form(parts: { name: string; filename?: string; value: string }[], boundary = 'b0undary'): string {
  const written = parts.map(({ name, filename, value }) => {
    const file = filename === undefined ? '' : `; filename="${filename}"`;
    return `--${boundary}\r\ncontent-disposition: form-data; name="${name}"${file}\r\n\r\n${value}\r\n`;
  });
  return `${written.join('')}--${boundary}--\r\n`;
}

function post(body: string | Buffer, headers: Record<string, string> = {}, key = gateway.key) {
  return fetch(`${gateway.url}/v1/files`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${key}`,
      'content-type': 'multipart/form-data; boundary=b0undary',
      ...headers,
    },
    body: typeof body === 'string' ? body : new Uint8Array(body),
  });
}

test.serial('the official SDK stores a file, finds it, reads it back and deletes it', async (t) => {
  const client = sdkFor(gateway);
  const text = `${JSON.stringify({ custom_id: SECRET })}\n`.repeat(5_000);
  const file = await client.files.create({
    file: await toFile(Buffer.from(text), 'requests.jsonl'),
    purpose: 'batch',
    expires_after: { anchor: 'created_at', seconds: 3_600 },
  });
  t.like(file, { object: 'file', bytes: text.length, filename: 'requests.jsonl', purpose: 'batch' });
  t.is(file.expires_at, file.created_at + 3_600);
  t.deepEqual(await client.files.retrieve(file.id), file);
  const content = await client.files.content(file.id);
  t.is(await content.text(), text);

  const stored = storedFiles('demo').map((path) => readFileSync(path, 'latin1'));
  t.is(stored.length, 1);
  t.false(stored.join('').includes(SECRET));
  t.false((await readEverything(gateway.redis, `{${gateway.cell}}:*`)).includes(SECRET));

  const other = sdkFor(gateway, { apiKey: gateway.keys.other ?? '' });
  await t.throwsAsync(other.files.retrieve(file.id), { message: /no such file/ });
  t.like(await client.files.delete(file.id), { id: file.id, deleted: true });
  await t.throwsAsync(client.files.content(file.id), { message: /no such file/ });
  t.deepEqual(storedFiles('demo'), []);
});

test.serial('the SDK turns the pages of a list, in both orders', async (t) => {
  const client = sdkFor(gateway, { apiKey: gateway.keys.other ?? '' });
  const made: string[] = [];
  for (let i = 0; i < 5; i++) {
    const file = await toFile(Buffer.from(`{"n":${i}}\n`), `${i}.jsonl`);
    made.push((await client.files.create({ file, purpose: 'batch' })).id);
  }
  for (const order of ['asc', 'desc'] as const) {
    const listed: string[] = [];
    for await (const { id } of client.files.list({ limit: 2, order })) listed.push(id);
    t.deepEqual(listed, order === 'asc' ? made : made.toReversed());
  }
  await t.throwsAsync(client.files.list({ after: 'file-unknown' }), { message: /after must be/ });
});

test.serial(
  'a file that is too large, compressed, misnamed or no form is refused in the contract’s shape',
  async (t) => {
    const purpose = { name: 'purpose', value: 'batch' };
    const file = { name: 'file', filename: 'a.jsonl', value: '{}\n' };
    const refused = async (answer: Promise<Response>) => {
      const response = await answer;
      const { error } = (await response.json()) as { error: { code: string; param: string | null } };
      return [response.status, error.code, error.param];
    };
    const big = { ...file, value: 'x'.repeat(1_000_001) };
    t.deepEqual(await refused(post(form([purpose, big]))), [413, 'request_too_large', 'file']);
    t.deepEqual(await refused(post(form([big, purpose]))), [413, 'request_too_large', 'file']);
    t.deepEqual(await refused(post(form([file]))), [400, 'invalid_request', 'purpose']);
    t.deepEqual(await refused(post(form([{ ...purpose, value: 'vision' }, file]))), [
      400,
      'invalid_request',
      'purpose',
    ]);
    t.deepEqual(await refused(post(form([purpose]))), [400, 'invalid_request', 'file']);
    t.deepEqual(await refused(post(form([file, { ...file }, purpose]))), [400, 'invalid_request', 'file']);
    t.deepEqual(await refused(post(form([purpose, file]).slice(0, -30))), [400, 'invalid_request', null]);
    t.deepEqual(await refused(post('nothing of a form')), [400, 'invalid_request', null]);
    t.deepEqual(await refused(post('{}', { 'content-type': 'application/json' })), [
      415,
      'unsupported_media_type',
      null,
    ]);
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    t.deepEqual(await refused(post(bomb, { 'content-encoding': 'gzip' })), [
      415,
      'unsupported_media_type',
      null,
    ]);
    t.deepEqual(await refused(post(form([purpose, file]), {}, 'sk-gw-wrong')), [
      401,
      'invalid_api_key',
      null,
    ]);
    t.deepEqual(storedFiles('demo'), []);
  },
);

test.serial('a name with a path in it is only a name', async (t) => {
  const names = [
    '../../../etc/passwd',
    '..\\\\..\\\\boot.ini',
    '/absolute/a.jsonl',
    '%2e%2e%2fa',
    'a\u0000b.jsonl',
  ];
  for (const filename of names) {
    const answer = await post(
      form([
        { name: 'purpose', value: 'batch' },
        { name: 'file', filename, value: '{}\n' },
      ]),
    );
    t.is(answer.status, 200, filename);
    const file = (await answer.json()) as { id: string; filename: string };
    t.notRegex(file.filename, /[/\\\p{C}]/u);
    t.true(storedFiles('demo').every((path) => /file-[\w-]{20}$/.test(path)));
    await sdkFor(gateway).files.delete(file.id);
  }
});

test.serial(
  'a workspace stores no more than its quota, and what it may not keep is not left in the store',
  async (t) => {
    const client = sdkFor(gateway, { apiKey: gateway.keys.full ?? '', maxRetries: 0 });
    const store = async (bytes: number) =>
      client.files.create({ file: await toFile(Buffer.alloc(bytes, 10), 'a.jsonl'), purpose: 'batch' });
    await store(900_000);
    const second = await store(900_000);
    await t.throwsAsync(store(900_000), { message: /may store 2000000 bytes/ });
    t.is(storedFiles('full').length, 2);
    await client.files.delete(second.id);
    for (let i = 0; i < 7; i++) await store(10);
    await t.throwsAsync(store(10), { message: /may store 8 files/ });
  },
);

test.serial(
  'an upload may take longer than other requests; one that stands still or breaks off is given up',
  async (t) => {
    const key = gateway.keys.slow ?? '';
    const parts = form([
      { name: 'purpose', value: 'batch' },
      { name: 'file', filename: 'a.jsonl', value: `${'{}\n'.repeat(1_000)}` },
    ]);
    const headers = {
      authorization: `Bearer ${key}`,
      'content-type': 'multipart/form-data; boundary=b0undary',
      'content-length': String(parts.length),
    };
    const slowly = (bytes: number, everyMs: number) =>
      new Promise<string>((resolve, reject) => {
        const request = httpRequest(`${gateway.url}/v1/files`, { method: 'POST', headers }, (response) => {
          response.setEncoding('utf8');
          let text = '';
          response.on('data', (chunk) => {
            text += chunk;
          });
          response.on('end', () => resolve(text));
        });
        request.on('error', reject);
        let sent = 0;
        const timer = setInterval(() => {
          request.write(parts.slice(sent, sent + bytes));
          sent += bytes;
          if (sent >= parts.length) {
            clearInterval(timer);
            request.end();
          }
        }, everyMs);
      });
    // Sixteen seconds, with a limit of twelve for other requests.
    t.like(JSON.parse(await slowly(Math.ceil(parts.length / 8), 2_000)), { object: 'file', bytes: 3_000 });
    const stuck = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    stuck.setEncoding('utf8');
    let answer = '';
    stuck.on('data', (text) => {
      answer += text;
    });
    stuck.write(
      `POST /v1/files HTTP/1.1\r\nhost: a\r\n${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}\r\n${parts.slice(0, 500)}`,
    );
    await until('the refusal of an upload that stands still', () => answer.includes('came too slowly'));
    stuck.destroy();
    const broken = connect(Number(new URL(gateway.url).port), '127.0.0.1');
    broken.write(
      `POST /v1/files HTTP/1.1\r\nhost: a\r\n${Object.entries(headers)
        .map(([name, value]) => `${name}: ${value}\r\n`)
        .join('')}\r\n${parts.slice(0, 500)}`,
    );
    await until('an unfinished object', () => storedFiles('slow').some((path) => path.endsWith('.part')));
    broken.destroy();
    await until('only the finished one is left', () => storedFiles('slow').length === 1);
    t.notRegex(gateway.output(), /by an error of the gateway/);
  },
);
