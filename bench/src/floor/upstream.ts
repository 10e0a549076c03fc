/**
 * The provider of this measurement. It gives the same answer to each call. The simulated provider checks each call, and takes
 * a fifth of the requests/s of `full`.
 */
import { createServer } from 'node:http';
import { MODEL, PORT, sayReady } from './process.js';

const ANSWER = Buffer.from(
  JSON.stringify({
    id: 'chatcmpl-1',
    object: 'chat.completion',
    created: 1_700_000_000,
    model: MODEL,
    choices: [
      {
        index: 0,
        message: { role: 'assistant', content: 'Hello there, how may I assist you today?', refusal: null },
        finish_reason: 'stop',
      },
    ],
    usage: { prompt_tokens: 9, completion_tokens: 12, total_tokens: 21 },
  }),
);
const HEADERS = { 'content-type': 'application/json', 'content-length': ANSWER.length };

const server = createServer((req, res) => {
  req.resume().once('end', () => res.writeHead(200, HEADERS).end(ANSWER));
});
// Longer than any client keeps an idle connection.
server.keepAliveTimeout = 120_000;
server.listen(Number(PORT), '127.0.0.1', sayReady);
