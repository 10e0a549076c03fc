// CPU time per call of three HTTP clients, against a server in another process: node docs/adr/0003-http-clients.mjs
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { Agent, createServer } from 'node:http';
import { fileURLToPath } from 'node:url';
import nodeFetch from 'node-fetch';
import { Pool } from 'undici';

const CALLS = 5_000;
const CALLERS = 16;

if (process.send) {
  const answer = JSON.stringify({ text: 'x'.repeat(500) });
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.setHeader('content-type', 'application/json').end(answer));
  });
  server.listen(0, '127.0.0.1', () => process.send(server.address().port));
  process.on('disconnect', () => process.exit());
} else {
  const child = fork(fileURLToPath(import.meta.url));
  const [port] = await once(child, 'message');
  const origin = `http://127.0.0.1:${port}`;
  const body = JSON.stringify({ messages: [{ role: 'user', content: 'y'.repeat(500) }] });
  const headers = { 'content-type': 'application/json' };
  const pool = new Pool(origin, { connections: CALLERS });
  const agent = new Agent({ keepAlive: true, maxSockets: CALLERS });
  const clients = {
    undici: async () => (await pool.request({ path: '/', method: 'POST', headers, body })).body.json(),
    'node-fetch': async () =>
      (await nodeFetch(`${origin}/`, { method: 'POST', headers, body, agent })).json(),
    'built-in fetch': async () => (await fetch(`${origin}/`, { method: 'POST', headers, body })).json(),
  };
  for (const [name, call] of Object.entries(clients)) {
    await repeat(call, CALLS / 5);
    const before = process.cpuUsage();
    await repeat(call, CALLS);
    const { user, system } = process.cpuUsage(before);
    console.log(`${name}: ${Math.round((user + system) / CALLS)} µs of CPU per call`);
  }
  child.kill();
  await pool.close();
  agent.destroy();
}

async function repeat(call, times) {
  let left = times;
  const caller = async () => {
    while (left-- > 0) await call();
  };
  await Promise.all(Array.from({ length: CALLERS }, caller));
}
