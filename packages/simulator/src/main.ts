import { parseArgs } from 'node:util';
import { MODELS } from './models.js';
import { createSimulator } from './simulator.js';

const { values } = parseArgs({ options: { port: { type: 'string' } } });
const port = Number(values.port ?? process.env.PORT ?? 0);
const latency = /^(\d+)(?:-(\d+))?$/.exec(process.env.SIMULATOR_LATENCY_MS ?? '0');
if (!Number.isInteger(port) || port < 0 || port > 65_535)
  refuse(`${values.port === undefined ? 'PORT' : '--port'} must be a port from 0 to 65535`);
if (!latency)
  refuse('SIMULATOR_LATENCY_MS must be a number of milliseconds such as 500, or a range such as 5-15');

function refuse(message: string): never {
  console.error(`simulator: ${message}`);
  process.exit(2);
}

/** By provider, in JSON. Without them, any id with the provider's prefix is known. */
function knownModels(text: string | undefined): Partial<typeof MODELS> {
  if (text === undefined) return {};
  const given = JSON.parse(text) as typeof MODELS;
  return {
    openai: [...new Set([...MODELS.openai, ...given.openai])],
    anthropic: [...new Set([...MODELS.anthropic, ...given.anthropic])],
  };
}

const [shortest, longest] = [Number(latency[1]), Number(latency[2] ?? latency[1])];
const simulator = await createSimulator({
  port,
  latencyMs: shortest === longest ? shortest : () => shortest + Math.random() * (longest - shortest),
  host: process.env.HOST ?? '127.0.0.1',
  // A long run must not grow: as many bodies as somebody would look at.
  maxCalls: Number(process.env.SIMULATOR_MAX_CALLS ?? 10_000),
  keepBodies: process.env.SIMULATOR_KEEP_BODIES !== 'false',
  echo: process.env.SIMULATOR_ECHO !== 'false',
  models: knownModels(process.env.SIMULATOR_MODELS),
});
// `npm start` says in words where it is.
if (!process.send) console.log(JSON.stringify({ url: simulator.url }));

const stop = () => void simulator.close().then(() => process.exit(0));
for (const signal of ['SIGTERM', 'SIGINT'] as const) process.once(signal, stop);
// Started by `npm start`: say that we are ready, and end when it is gone.
process.send?.('ready');
process.once('disconnect', stop);
