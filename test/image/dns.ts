/** A name server for the names of compose's services: what Docker's own would answer to Prometheus. */
import { createSocket } from 'node:dgram';
import { once } from 'node:events';

const TYPE_A = 1;
const NO_SUCH_NAME = 3;

export interface NameServer {
  close(): void;
}

/** `addresses`: of a service's processes, asked for anew with every question. */
export async function startNameServer(
  address: string,
  addresses: (service: string) => string[],
): Promise<NameServer> {
  const socket = createSocket('udp4');
  socket.on('message', (query, { address, port }) => {
    const { name, type, end } = readQuestion(query);
    const found = addresses(name);
    const answers = type === TYPE_A ? found.map(toAnswer) : [];
    const header = Buffer.alloc(12);
    query.copy(header, 0, 0, 2);
    // An answer of ours, recursion available.
    header.writeUInt16BE(0x8580 | (found.length === 0 ? NO_SUCH_NAME : 0), 2);
    header.writeUInt16BE(1, 4);
    header.writeUInt16BE(answers.length, 6);
    socket.send(Buffer.concat([header, query.subarray(12, end), ...answers]), port, address);
  });
  socket.bind(53, address);
  await once(socket, 'listening');
  return { close: () => socket.close() };
}

function readQuestion(query: Buffer): { name: string; type: number; end: number } {
  const labels: string[] = [];
  let at = 12;
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('latin1', at + 1, at + 1 + length));
    at += 1 + length;
  }
  return { name: labels.join('.'), type: query.readUInt16BE(at + 1), end: at + 5 };
}

/** The name as a pointer to the question, type A, class IN, no time to live, four bytes. */
function toAnswer(address: string): Buffer {
  const head = Buffer.from([0xc0, 12, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4]);
  return Buffer.concat([head, Buffer.from(address.split('.').map(Number))]);
}
