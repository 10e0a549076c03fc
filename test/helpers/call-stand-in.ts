/** One call of a provider as it is configured, with its host replaced by a stand-in's. */
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { AnswerRoom } from '@sluice/worker/calls/answer-room';
import { type CallResult, callProvider } from '@sluice/worker/calls/call-provider';
import { StopSignal } from '@sluice/worker/calls/stop-signal';
import { createUpstream } from '@sluice/worker/calls/upstreams';
import { AWS } from './stand-in.js';

export interface StandInCall {
  origin: string;
  model: string;
  /** The provider's key, or what its token source gives. */
  key: string;
  /** Instead of the one that prints the key. */
  command?: string[];
  timeoutMs?: number;
  signal?: StopSignal;
}

export async function callStandIn(
  config: ProviderConfig,
  { origin, model, key, command, timeoutMs = 60_000, signal = new StopSignal() }: StandInCall,
): Promise<CallResult> {
  const { auth } = config;
  const credentials = { AccessKeyId: AWS.accessKeyId, SecretAccessKey: key, SessionToken: AWS.sessionToken };
  // The commands of clouds are not there; what they print is.
  const printed = auth.sigv4 ? JSON.stringify({ ...credentials, Version: 1 }) : key;
  const upstream = createUpstream(
    {
      ...config,
      baseUrl: origin + new URL(config.baseUrl).pathname.replace(/\/$/, ''),
      auth: auth.token ? { ...auth, token: { command: command ?? ['printf', '%s', printed] } } : auth,
    },
    config.apiKeyEnv === undefined ? undefined : key,
    {
      env: () => ({
        AWS_ACCESS_KEY_ID: AWS.accessKeyId,
        AWS_SECRET_ACCESS_KEY: key,
        AWS_SESSION_TOKEN: AWS.sessionToken,
      }),
      answerFits: () => async () => true,
      onFetched: () => {},
    },
  );
  try {
    return await callProvider(
      upstream,
      { model, messages: [{ role: 'user', content: 'hello' }] },
      { provider: config.name, model },
      timeoutMs,
      { workspace: 'demo', signal, answer: new AnswerRoom(1e6).share() },
      { now: () => Date.now() },
    );
  } finally {
    await upstream.http.close();
  }
}
