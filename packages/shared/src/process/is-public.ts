import ipaddr from 'ipaddr.js';

const GLOBAL_IPV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** The address is formally public. In Azure it is the host that a machine runs on. */
const AZURE_HOST = '168.63.129.16';

/** Whether an IP address is that of a public host: not this machine, not its network, not a cloud's metadata service. */
export function isPublic(address: string): boolean {
  if (!ipaddr.isValid(address)) return false;
  // An IPv4 address in IPv6 form is judged as IPv4.
  const parsed = ipaddr.process(address);
  if (parsed instanceof ipaddr.IPv6 && !parsed.match(GLOBAL_IPV6)) return false;
  return parsed.range() === 'unicast' && parsed.toString() !== AZURE_HOST;
}
