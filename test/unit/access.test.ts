/** Parts of the access to the admin api that need no gateway. */
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { TrustedProxies } from '@sluice/admin/access/client-address';
import { cleanName, grantsOf } from '@sluice/admin/access/groups';
import { hasRole, workspacesOf } from '@sluice/admin/access/principal';
import { proofOf } from '@sluice/admin/access/secrets';
import { SessionCookie } from '@sluice/admin/access/session-cookie';
import type { Grant } from '@sluice/shared/config/gateway-config';
import test from 'ava';
import Koa, { type ParameterizedContext } from 'koa';

test('where the console is reached by TLS, its cookie is sent by TLS only, and for its host only', async (t) => {
  const app = new Koa();
  app.use((ctx) => {
    new SessionCookie(true).write(ctx, 'x'.repeat(43));
    ctx.body = '';
  });
  const server = app.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.teardown(() => server.close());
  const { headers } = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const [cookie = ''] = headers.getSetCookie();
  t.regex(cookie, /^__Host-sluice-session=x{43}; path=\/; /);
  t.regex(cookie, /; secure/i);
  t.regex(cookie, /; httponly/i);
  t.notRegex(cookie, /domain/i);
});

test('the client is the last address that no proxy of ours has written', (t) => {
  const proxies = new TrustedProxies(['10.0.0.0/8', '::1', '192.0.2.1']);
  const clientOf = (remoteAddress: string, forwarded: string) =>
    proxies.clientOf({
      req: { socket: { remoteAddress } },
      get: () => forwarded,
    } as unknown as ParameterizedContext);
  t.is(clientOf('198.51.100.1', '203.0.113.9'), '198.51.100.1', 'whoever is no proxy is not believed');
  t.is(clientOf('10.1.2.3', '203.0.113.9'), '203.0.113.9');
  t.is(clientOf('::ffff:10.1.2.3', '203.0.113.9'), '203.0.113.9');
  t.is(
    clientOf('::1', '1.1.1.1, 203.0.113.9, 192.0.2.1'),
    '203.0.113.9',
    'what the client wrote is left out',
  );
  t.is(clientOf('10.1.2.3', ''), '10.1.2.3');
  t.is(clientOf('10.1.2.3', 'unknown'), '10.1.2.3');
  t.is(clientOf('10.1.2.3', '10.4.5.6'), '10.4.5.6');
});

test('somebody in several groups has all of their roles, and unknown groups give none', (t) => {
  const known = new Map<string, Grant>([
    ['support', { role: 'viewer' }],
    ['team-a', { role: 'admin', workspaces: ['a'] }],
    ['team-b', { role: 'operator', workspaces: ['b'] }],
  ]);
  const principal = (groups: string[]) => ({
    name: 'x',
    via: 'oidc' as const,
    grants: grantsOf(groups, known),
  });
  const both = principal(['support', 'team-a', 'team-a', '__proto__', 'nobody']);
  t.is(both.grants.length, 2);
  t.true(hasRole(both, 'admin', 'a'));
  t.false(hasRole(both, 'operator', 'b'));
  t.true(hasRole(both, 'viewer', 'b'));
  t.true(hasRole(both, 'viewer'));
  t.false(hasRole(both, 'admin'));
  t.is(workspacesOf(both, 'viewer'), undefined);
  t.deepEqual(workspacesOf(principal(['team-a', 'team-b']), 'viewer'), new Set(['a', 'b']));
  t.deepEqual(workspacesOf(principal([]), 'viewer'), new Set());
  t.is(cleanName(' eve\u0000\n\u202e@example.com '), 'eve@example.com');
});

test('what was handed out is bound to the admin token, and tells nothing about it', (t) => {
  t.not(proofOf('token one', 'secret'), proofOf('token two', 'secret'));
  t.not(proofOf('token one', 'secret'), proofOf('token one', 'another'));
});
