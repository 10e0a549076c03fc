/** Connections that reach public addresses only: not this machine, not its network, not a cloud's metadata service. */
import { type LookupAddress, lookup } from 'node:dns';
import type { Agent } from 'node:http';
import { Agent as HttpsAgent } from 'node:https';
import { isIP, type LookupFunction } from 'node:net';
import { isPublic } from '@sluice/shared/process/is-public';
import { http } from '@sluice/shared/process/node-http';

export const PRIVATE_ADDRESS = 'ERR_PRIVATE_ADDRESS';

class PrivateAddress extends Error {
  override readonly name = 'PrivateAddress';
  /** The code is the only field that survives when node-fetch wraps the error. */
  readonly code = PRIVATE_ADDRESS;
}

/** The connection itself resolves and checks the name, so changing the name's address a moment later does not help. */
const lookupPublic: LookupFunction = (hostname, options, callback) => {
  lookup(hostname, options, (error, found: string | LookupAddress[], family) => {
    const addresses = typeof found === 'string' ? [found] : (found ?? []).map(({ address }) => address);
    const refused = error ?? (addresses.every(isPublic) ? null : new PrivateAddress());
    callback(refused, found, family);
  });
};

const httpAgent = new http.Agent({ lookup: lookupPublic });
const httpsAgent = new HttpsAgent({ lookup: lookupPublic });

/** For an address that is to be fetched. Throws `PrivateAddress` when it names an IP address that is not public. */
export function publicAgentFor({ protocol, hostname }: URL): Agent {
  // Node does not look up an IP address, so it is checked here.
  const address = hostname.replace(/^\[|\]$/g, '');
  if (isIP(address) !== 0 && !isPublic(address)) throw new PrivateAddress();
  return protocol === 'https:' ? httpsAgent : httpAgent;
}
