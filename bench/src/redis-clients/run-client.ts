/** The process of one client. It sends when it is told to, and says what that took. */
import { CLIENTS } from './clients.js';

export interface Turn {
  commands: number;
  inFlight: number;
}

export interface Sample {
  perSecond: number;
  /** Of all threads of this process, for one command. */
  cpuUs: number;
}

const [title, url = '', folder = ''] = process.argv.slice(2);
const send = await CLIENTS.find((client) => client.title === title)?.open(url, folder);
if ((await send?.(0)) !== 'settled') throw new Error(`${title} does not settle`);

process.on('message', async ({ commands, inFlight }: Turn) => {
  const [startedAt, cpuBefore] = [performance.now(), process.cpuUsage()];
  let sent = 0;
  const sendInTurn = async () => {
    while (sent < commands) await send?.(sent++);
  };
  await Promise.all(Array.from({ length: inFlight }, sendInTurn));
  const { user, system } = process.cpuUsage(cpuBefore);
  const seconds = (performance.now() - startedAt) / 1000;
  process.send?.({ perSecond: commands / seconds, cpuUs: (user + system) / commands } satisfies Sample);
});
process.once('disconnect', () => process.exit());
process.send?.('ready');
