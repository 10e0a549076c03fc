// What would a batch of these lines cost? Nothing is run.
const headers = { authorization: `Bearer ${process.env.GATEWAY_KEY}` };
const ask = async (path, init) =>
  (await fetch(process.env.GATEWAY_URL + path, { headers, method: 'POST', ...init })).json();

const body = { model: 'fast', messages: [{ role: 'user', content: 'Say hello.' }] };
const line = { custom_id: 'a', method: 'POST', url: '/v1/chat/completions', body };
const form = new FormData();
form.set('purpose', 'batch');
form.set('file', new Blob([JSON.stringify(line)]), 'lines.jsonl');
const file = await ask('/files', { body: form });

const quote = await ask('/batches', {
  headers: { ...headers, 'content-type': 'application/json' },
  body: JSON.stringify({ input_file_id: file.id, endpoint: '/v1/chat/completions', dry_run: true }),
});
for (const { completion_window, expected_cost_usd, most_cost_usd } of quote.windows)
  console.log(
    `${quote.lines} line in ${completion_window}: ${expected_cost_usd} USD, ${most_cost_usd} at most.`,
  );
await ask(`/files/${file.id}`, { method: 'DELETE' });
