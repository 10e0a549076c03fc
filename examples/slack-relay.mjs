// Passes alerts of the gateway, and those of Alertmanager, on to an incoming webhook of Slack. Keep it on a private network.
import { createServer } from 'node:http';
import { text } from 'node:stream/consumers';

const wordsOf = (event) =>
  event.text ?? event.alerts.map(({ status, annotations }) => `${status}: ${annotations.summary}`).join('\n');

const server = createServer(async (request, response) => {
  try {
    const body = JSON.stringify({ text: wordsOf(JSON.parse(await text(request))) });
    const headers = { 'content-type': 'application/json' };
    const { ok } = await fetch(process.env.SLACK_URL, { method: 'POST', headers, body });
    response.writeHead(ok ? 204 : 502).end(); // after a 502 the sender tries again
  } catch (error) {
    console.error(error.message);
    response.writeHead(502).end();
  }
});
const { PORT = 9000, HOST = '127.0.0.1' } = process.env;
server.listen(PORT, HOST, () => console.log(`Listening at ${server.address().port}.`));
