/** A gateway of two api processes, Caddy before it with TLS, and oauth2-proxy before the console with a real provider. */
import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type Gateway, startRealGateway } from '../helpers/gateway.js';
import { CLIENT_ID, CLIENT_SECRET, startOpenIdProvider } from '../helpers/openid-provider.js';
import { ownPort } from '../helpers/own-port.js';
import { startCaddy, startOauth2Proxy } from './programs.js';

/** Long enough for a balancer that looks every second. */
const DRAIN = { DRAIN_DELAY_MS: '5000' };
const CONSOLE_HOST = 'console.localhost';

export interface Stage {
  gateway: Gateway;
  /** Where callers reach the gateway by TLS. */
  url: string;
  consoleUrl: string;
  /** Where oauth2-proxy itself listens. */
  proxyUrl: string;
  /** The certificate that signs Caddy's, and a file with it. */
  authority: string;
  authorityFile: string;
  /** Ends the second api process, and starts another one at its address. */
  replaceApi(): Promise<void>;
  logs(): string;
  close(): Promise<void>;
}

export async function setStage(slowModel: string, slowMs: number): Promise<Stage> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-front-'));
  const [tlsPort, proxyPort, providerPort, secondApi] = await Promise.all([0, 0, 0, 0].map(() => ownPort()));
  const consoleUrl = `https://${CONSOLE_HOST}:${tlsPort}`;
  const callback = `${consoleUrl}/oauth2/callback`;
  const gateway = await startRealGateway({
    env: DRAIN,
    providers: { openai: { timeout_ms: slowMs + 20_000 } },
    routes: {
      fast: [{ provider: 'openai', model: 'gpt-4o-mini' }],
      slow: [{ provider: 'openai', model: slowModel }],
    },
    workspaces: { 'team-a': {} },
    access: {
      console_url: consoleUrl,
      proxy: { addresses: ['127.0.0.1'] },
      groups: { platform: { role: 'admin' }, 'team-a': { role: 'viewer', workspaces: ['team-a'] } },
    },
  });
  gateway.simulator.script({ match: { model: slowModel }, action: { delayMs: slowMs } });
  const startSecond = () => gateway.addApi({ PORT: String(secondApi) });
  await startSecond();
  const provider = await startOpenIdProvider(providerPort ?? 0, callback, {
    ada: ['platform', 'others'],
    tom: ['team-a'],
    eve: ['others'],
  });
  const oauth2Proxy = await startOauth2Proxy(`127.0.0.1:${proxyPort}`, `${gateway.adminUrl}/`, {
    OAUTH2_PROXY_OIDC_ISSUER_URL: provider.issuer,
    OAUTH2_PROXY_CLIENT_ID: CLIENT_ID,
    OAUTH2_PROXY_CLIENT_SECRET: CLIENT_SECRET,
    OAUTH2_PROXY_COOKIE_SECRET: randomBytes(32).toString('base64url'),
    OAUTH2_PROXY_REDIRECT_URL: callback,
  });
  const caddy = await startCaddy(folder, tlsPort ?? 0, {
    SLUICE_HOST: 'localhost',
    CONSOLE_HOST,
    SLUICE_APIS: gateway.urls.map((url) => new URL(url).host).join(' '),
    OAUTH2_PROXY: `127.0.0.1:${proxyPort}`,
  });
  return {
    gateway,
    url: `https://localhost:${tlsPort}`,
    consoleUrl,
    proxyUrl: `http://127.0.0.1:${proxyPort}`,
    authority: caddy.authority,
    authorityFile: join(folder, 'caddy/pki/authorities/local/root.crt'),
    async replaceApi() {
      await gateway.apis.pop()?.end();
      await startSecond();
    },
    logs: () => `${caddy.log()}\n${oauth2Proxy.log()}`,
    async close() {
      await caddy.stop();
      await oauth2Proxy.stop();
      provider.close();
      await gateway.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
