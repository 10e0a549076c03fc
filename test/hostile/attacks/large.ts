import { connect, type Socket } from 'node:net';
import type { Attack } from '../stage.js';

const MB = 1024 * 1024;

export const largeBodies: Attack = {
  name: 'large-bodies',
  does: 'sends, with an accomplice, 20 bodies of 9.5 MB each at once, again and again, to processes of 512 MiB',
  short: true,
  confined: true,
  // To send so much may take long on a busy machine, and a body that comes too slowly is refused otherwise.
  gateway: { request: { receive_timeout_ms: 600_000 } },
  async run(stage) {
    const body = JSON.stringify(stage.ask('x'.repeat(9.5 * MB)));
    const statuses = new Map<number, number>();
    let slowest = { seconds: 0, answer: '' };
    const send = async (key: string | undefined) => {
      const begun = performance.now();
      const answer = await stage.attack(body, {}, key);
      const seconds = (performance.now() - begun) / 1_000;
      const told = JSON.stringify([answer?.status, answer?.body.error, ...(answer?.headers ?? [])]);
      if (seconds > slowest.seconds) slowest = { seconds, answer: told };
      return answer;
    };
    for (let round = 0; round < (stage.isShort ? 1 : 5); round++) {
      const keys = [stage.gateway.keys.attacker, stage.gateway.keys.demo];
      const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => send(keys[i % 2])));
      for (const answer of answers) {
        const status = answer?.status ?? 0;
        statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    }
    stage.note(
      `the attacker got ${[...statuses].map(([status, count]) => `${count} × ${status}`).join(', ')}`,
    );
    stage.note(`the slowest took ${slowest.seconds.toFixed(0)} s: ${slowest.answer}`);
    stage.check('some of the attacker’s were served', (statuses.get(200) ?? 0) > 0);
    stage.check('some of the attacker’s were refused', (statuses.get(429) ?? 0) > 0);
  },
};

export const largeAnswers: Attack = {
  name: 'large-answers',
  does: 'has 32 answers of 15 MB made at once, by processes of 512 MiB',
  short: true,
  confined: true,
  // So many that a reader that is slow, as on a busy machine, is not dropped.
  gateway: { request: { max_bytes_in_flight: 134_217_728 } },
  async run(stage) {
    const text = 'y'.repeat(15 * MB);
    stage.gateway.simulator.script({ match: { textIncludes: 'say much' }, action: { text } });
    const count = stage.isShort ? 8 : 32;
    const answers = await Promise.all(
      Array.from({ length: count }, async () => (await stage.attack(stage.ask('say much')))?.status),
    );
    const served = answers.filter((status) => status === 200).length;
    stage.note(`${served} of ${count} large answers arrived: ${answers.join(', ')}`);
    stage.check('every large answer arrived', served === count);
  },
};

export const announcedBodies: Attack = {
  name: 'announced-bodies',
  does: 'announces, with an accomplice, bodies of 8 MB each that never come, as many as the api has room for',
  short: true,
  async run(stage) {
    const { hostname, port } = new URL(stage.gateway.url);
    const sockets: Socket[] = [];
    const announce = (key = '') => {
      const socket = connect(Number(port), hostname).on('error', () => {});
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${key}\r\n` +
          `content-type: application/json\r\ncontent-length: ${8 * MB}\r\n\r\n{`,
      );
      socket.resume();
      sockets.push(socket);
    };
    // The innocent one sends small bodies all the time; these need the room that was announced.
    const body = stage.ask('x'.repeat(4 * MB));
    let served = 0;
    const rounds = stage.isShort ? 3 : 20;
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < 2; i++) for (const name of ['attacker', 'demo']) announce(stage.gateway.keys[name]);
      const answer = await stage.attack(body, {}, stage.gateway.keys.innocent ?? '');
      if (answer?.status === 200) served++;
    }
    for (const socket of sockets) socket.destroy();
    stage.note(`${served} of ${rounds} bodies of 4 MB of the innocent workspace were served meanwhile`);
    stage.check(`${served} of ${rounds} large bodies of the innocent workspace`, served === rounds);
  },
};

export const largeBodiesOverLimit: Attack = {
  name: 'large-bodies-over-limit',
  does: 'sends bodies of 9.5 MB, one after the other, on a limit of one request a minute',
  short: true,
  limits: { requests_per_minute: 1, when_full: 'refuse' },
  async run(stage) {
    const body = JSON.stringify(stage.ask('x'.repeat(9.5 * MB)));
    const statuses = new Set<number | undefined>();
    for (let i = 0; i < (stage.isShort ? 8 : 60); i++) statuses.add((await stage.attack(body))?.status);
    stage.check(`the attacker got ${[...statuses].join(', ')}`, statuses.has(429) && !statuses.has(500));
  },
};

export const slowReaders: Attack = {
  name: 'slow-readers',
  does: 'asks 60 times for an answer of 8 MB that is kept under an Idempotency-Key, and reads none of them, of an api of 512 MiB',
  short: true,
  confined: true,
  async run(stage) {
    const { url, keys, simulator } = stage.gateway;
    simulator.script({ match: { textIncludes: 'unread' }, action: { text: 'u'.repeat(8 * MB) } });
    const headers = { 'idempotency-key': 'unread' };
    const first = await stage.attack(stage.ask('unread'), headers);
    stage.check(`the first got ${first?.status}`, first?.status === 200);
    const body = JSON.stringify(stage.ask('unread'));
    const { hostname, port } = new URL(url);
    const sockets = Array.from({ length: 60 }, () => {
      const socket = connect(Number(port), hostname).on('error', () => {});
      return socket.pause();
    });
    for (const socket of sockets) {
      socket.write(
        `POST /v1/chat/completions HTTP/1.1\r\nhost: ${hostname}\r\nauthorization: Bearer ${keys.attacker}\r\n` +
          `idempotency-key: unread\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
      );
    }
    await new Promise((resolve) => setTimeout(resolve, stage.isShort ? 2_500 : 15_000));
    for (const socket of sockets) socket.destroy();
  },
};
