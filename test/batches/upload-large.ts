/** One large upload, and what it does to the memory of the api process. */
import { readFileSync } from 'node:fs';
import { request } from 'node:http';
import { startRealGateway } from '../helpers/gateway.js';
import type { Figures } from './run-batch.js';

const CHUNK = Buffer.from(`${JSON.stringify({ custom_id: 'x'.repeat(900) })}\n`.repeat(1_000));
/** Buffers of sockets and files that nobody has collected yet: they do not grow with the file. */
const MOST_GROWTH = 100e6;

export async function uploadLarge(megabytes: number, say: (text: string) => void): Promise<Figures> {
  const gateway = await startRealGateway({ workers: 1 });
  try {
    const pid = gateway.apis[0]?.child.pid ?? 0;
    await upload(gateway.url, gateway.key, 1e6);
    const before = residentBytes(pid);
    let peak = before;
    const watch = setInterval(() => {
      peak = Math.max(peak, residentBytes(pid));
    }, 20);
    const started = performance.now();
    const status = await upload(gateway.url, gateway.key, megabytes * 1e6);
    clearInterval(watch);
    const seconds = (performance.now() - started) / 1000;
    const show = (bytes: number) => `${(bytes / 1e6).toFixed(0)} MB`;
    say(`upload of ${megabytes} MB: ${seconds.toFixed(1)} s, memory ${show(before)}, peak ${show(peak)}`);
    return {
      failures: [
        ...(status === 200 ? [] : [`the upload was answered with ${status}`]),
        ...(peak - before < MOST_GROWTH ? [] : [`the memory grew by ${show(peak - before)}`]),
      ],
      rows: [
        [
          `Memory of the api before an upload of ${megabytes} MB, and at its peak`,
          `${show(before)}, ${show(peak)} (${seconds.toFixed(1)} s)`,
        ],
      ],
    };
  } finally {
    await gateway.stop();
  }
}

function upload(url: string, key: string, bytes: number): Promise<number> {
  const head = Buffer.from(
    '--b\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nbatch\r\n' +
      '--b\r\ncontent-disposition: form-data; name="file"; filename="large.jsonl"\r\n\r\n',
  );
  const chunks = Math.floor(bytes / CHUNK.length);
  const tail = Buffer.from('\r\n--b--\r\n');
  return new Promise((resolve, reject) => {
    const sending = request(
      `${url}/v1/files`,
      {
        method: 'POST',
        headers: {
          authorization: `Bearer ${key}`,
          'content-type': 'multipart/form-data; boundary=b',
          'content-length': head.length + chunks * CHUNK.length + tail.length,
        },
      },
      (response) => {
        response.resume();
        response.on('end', () => resolve(response.statusCode ?? 0));
      },
    );
    sending.on('error', reject);
    sending.write(head);
    let sent = 0;
    const send = () => {
      while (sent < chunks) {
        sent += 1;
        if (!sending.write(CHUNK)) {
          sending.once('drain', send);
          return;
        }
      }
      sending.end(tail);
    };
    send();
  });
}

function residentBytes(pid: number): number {
  const [, kilobytes] = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8')) ?? [];
  return Number(kilobytes ?? 0) * 1024;
}
