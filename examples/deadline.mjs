// Nobody waits for this request: it has six hours, and takes the cheapest way that is over by then.
const headers = { authorization: `Bearer ${process.env.GATEWAY_KEY}` };
const accepted = await fetch(`${process.env.GATEWAY_URL}/chat/completions`, {
  method: 'POST',
  headers: {
    ...headers,
    'content-type': 'application/json',
    prefer: 'respond-async',
    'x-gateway-deadline': '6h',
  },
  body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: 'Say hello.' }] }),
});
const { id, deadline_at } = await accepted.json();
console.log(`Accepted, until ${new Date(deadline_at * 1000).toISOString()}.`);

// A webhook would tell when it has ended. This program asks.
for (;;) {
  const answer = await fetch(`${process.env.GATEWAY_URL}/requests/${id}`, { headers });
  if (answer.headers.get('x-gateway-final') === 'true') {
    console.log((await answer.json()).choices[0].message.content);
    console.log(`It cost ${answer.headers.get('x-gateway-cost-usd')} USD.`);
    break;
  }
  await new Promise((resolve) => setTimeout(resolve, 1000));
}
