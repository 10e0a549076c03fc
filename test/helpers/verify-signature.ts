/** What AWS does with a signed call, by its description of Signature Version 4: works the signature out, and compares. */
import { createHash, createHmac } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

export interface Signed {
  accessKeyId: string;
  secretAccessKey: string;
  sessionToken: string;
  region: string;
  service: string;
}

export function verifySignature(request: IncomingMessage, body: string, signed: Signed): boolean {
  const { headers, method = '', url = '' } = request;
  const [, credential = '', names = '', signature = ''] =
    /^AWS4-HMAC-SHA256 Credential=(\S+), SignedHeaders=(\S+), Signature=([0-9a-f]{64})$/.exec(
      headers.authorization ?? '',
    ) ?? [];
  const time = String(headers['x-amz-date']);
  const scope = [time.slice(0, 8), signed.region, signed.service, 'aws4_request'];
  if (credential !== [signed.accessKeyId, ...scope].join('/')) return false;
  if (headers['x-amz-security-token'] !== signed.sessionToken) return false;
  const needed = ['host', 'x-amz-date', 'x-amz-security-token'];
  if (!needed.every((name) => names.split(';').includes(name))) return false;

  const { pathname } = new URL(url, 'http://aws');
  const canonical = [
    method,
    // Every service but S3 has its path encoded once more than it was sent.
    pathname.split('/').map(encode).join('/'),
    '',
    ...names.split(';').map((name) => `${name}:${String(headers[name]).replace(/\s+/g, ' ').trim()}`),
    '',
    names,
    sha256(body),
  ].join('\n');
  const toSign = ['AWS4-HMAC-SHA256', time, scope.join('/'), sha256(canonical)].join('\n');
  const key = scope.reduce<string | Buffer>(
    (key, part) => createHmac('sha256', key).update(part).digest(),
    `AWS4${signed.secretAccessKey}`,
  );
  return createHmac('sha256', key).update(toSign).digest('hex') === signature;
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex');

const encode = (text: string) =>
  encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`);
