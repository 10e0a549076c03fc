import { isIP } from 'node:net';
import { isPublic } from '@sluice/shared/process/is-public';
import { refuse } from './read-input.js';

/** A name may lead anywhere later, so its address is checked again whenever it is called. */
export function readWebhookAddress(field: string, text: string, allowPrivate: boolean): string {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const protocols = allowPrivate ? ['https:', 'http:'] : ['https:'];
  if (!url) return refuse(field, 'must be an address that can be called, such as https://example.com/hooks');
  if (url.port === '0') refuse(field, 'must not have port 0');
  if (!protocols.includes(url.protocol))
    return refuse(
      field,
      allowPrivate ? 'must be an address with http or https' : 'must be an address with https',
    );
  if (url.username + url.password !== '') refuse(field, 'must not have a user or password');
  if (!allowPrivate && isPrivateName(url.hostname))
    refuse(field, 'must be a public address, unless webhooks.allow_private_addresses is true');
  return url.href;
}

function isPrivateName(hostname: string): boolean {
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0) return !isPublic(address);
  // A dot at the end means the same name.
  return /(?:^|\.)localhost\.*$/.test(address);
}
