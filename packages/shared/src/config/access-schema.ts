/** `access` of gateway.yaml: who may use the console, and how they sign in. */
import { isIP } from 'node:net';
import { type ConfigReader, type Fields, isAbsent, join, type TextRule } from './reader.js';
import { ID } from './rules.js';
import { type AccessConfig, type Grant, type OidcConfig, type ProxyConfig, ROLES } from './types.js';

const TEXT: TextRule = { pattern: /^\P{C}{1,256}$/u, allowed: 'a text of 1 to 256 printable characters' };
const HEADER: TextRule = { pattern: /^[\w-]{1,64}$/, allowed: 'the name of a header' };
const CLAIM: TextRule = { pattern: /^\S{1,256}$/, allowed: 'the name of a claim' };
const NETWORK: TextRule = { pattern: /^\S+$/, allowed: 'an IP address or a network such as 10.0.0.0/8' };
const MAX_WORKSPACES = 100;
const MAX_PROXIES = 100;

export function readAccess(reader: ConfigReader, value: unknown): AccessConfig {
  const access = reader.fields(value ?? {}, 'access', [
    'console_url',
    'oidc',
    'proxy',
    'groups',
    'add_providers',
  ]);
  const consoleUrl = isAbsent(access?.console_url)
    ? undefined
    : readConsoleUrl(reader, access.console_url, 'access.console_url');
  const oidc = isAbsent(access?.oidc) ? undefined : readOidc(reader, access.oidc, 'access.oidc');
  const proxy = isAbsent(access?.proxy) ? undefined : readProxy(reader, access.proxy, 'access.proxy');
  const groups = reader
    .entries(access?.groups, 'access.groups')
    .map(([group, item]) => [group, readGrant(reader, item, join('access.groups', group))] as const);
  if (oidc && consoleUrl === undefined)
    reader.mistake('access.console_url', 'is missing; the provider of access.oidc sends people back to it');
  if ((oidc || proxy) && groups.length === 0)
    reader.mistake('access.groups', 'is missing; without a group nobody who signs in has a role');
  const addProviders = isAbsent(access?.add_providers)
    ? true
    : reader.flag(access.add_providers, 'access.add_providers');
  return { consoleUrl, oidc, proxy, groups: new Map(groups), addProviders };
}

function readConsoleUrl(reader: ConfigReader, value: unknown, path: string): string {
  const url = reader.httpUrl(value, path);
  if (url !== '' && new URL(url).pathname !== '/')
    reader.mistake(path, 'must have no path; the console is at the root of its host');
  return url;
}

function readOidc(reader: ConfigReader, value: unknown, path: string): OidcConfig {
  const fields = ['issuer', 'client_id', 'client_secret', 'scopes', 'groups_claim', 'label'];
  const oidc: Fields | undefined = reader.fields(value, path, fields);
  const issuer = reader.httpUrl(oidc?.issuer, `${path}.issuer`);
  if (issuer.startsWith('http:') && !/^http:\/\/(?:localhost|127\.|\[::1\])/.test(issuer))
    reader.mistake(`${path}.issuer`, 'must be an https address');
  return {
    issuer,
    clientId: reader.text(oidc?.client_id, `${path}.client_id`, TEXT),
    clientSecretEnv: reader.secret(oidc?.client_secret, `${path}.client_secret`),
    scopes: reader.text(oidc?.scopes ?? 'openid profile email groups', `${path}.scopes`, TEXT),
    groupsClaim: reader.text(oidc?.groups_claim ?? 'groups', `${path}.groups_claim`, CLAIM),
    label: reader.text(oidc?.label ?? 'single sign-on', `${path}.label`, TEXT),
  };
}

function readProxy(reader: ConfigReader, value: unknown, path: string): ProxyConfig {
  const proxy = reader.fields(value, path, ['addresses', 'user_header', 'groups_header']);
  const header = (given: unknown, standard: string, name: string) =>
    reader.text(given ?? standard, `${path}.${name}`, HEADER).toLowerCase();
  return {
    addresses: reader
      .list(proxy?.addresses, `${path}.addresses`, 1, MAX_PROXIES)
      .map((address, i) => readNetwork(reader, address, `${path}.addresses[${i}]`)),
    userHeader: header(proxy?.user_header, 'x-forwarded-email', 'user_header'),
    groupsHeader: header(proxy?.groups_header, 'x-forwarded-groups', 'groups_header'),
  };
}

function readNetwork(reader: ConfigReader, value: unknown, path: string): string {
  const text = reader.text(value, path, NETWORK);
  const [address = '', bits = '0', ...rest] = text.split('/');
  const most = isIP(address) === 4 ? 32 : 128;
  if (
    text !== '' &&
    (isIP(address) === 0 || rest.length > 0 || !/^\d{1,3}$/.test(bits) || Number(bits) > most)
  )
    reader.mistake(path, `must be ${NETWORK.allowed}`);
  return text;
}

function readGrant(reader: ConfigReader, value: unknown, path: string): Grant {
  const grant = reader.fields(value, path, ['role', 'workspaces']);
  const role = reader.oneOf(grant?.role, `${path}.role`, ROLES) ?? 'viewer';
  if (isAbsent(grant?.workspaces)) return { role };
  const workspaces = reader
    .list(grant.workspaces, `${path}.workspaces`, 1, MAX_WORKSPACES)
    .map((id, i) => reader.text(id, `${path}.workspaces[${i}]`, ID));
  return { role, workspaces };
}
