// Forty requests at once. The gateway finds out how many the provider takes, and the others wait their turn.
// A caller who is refused nevertheless comes back when `retry-after` says, and is then served before others.
async function ask(i) {
  for (;;) {
    const answer = await fetch(`${process.env.GATEWAY_URL}/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${process.env.GATEWAY_KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'fast', messages: [{ role: 'user', content: `Say ${i}.` }] }),
    });
    if (answer.status !== 429) return answer.ok;
    const seconds = Number(answer.headers.get('retry-after') ?? 1);
    await new Promise((resolve) => setTimeout(resolve, 1000 * seconds));
  }
}

const answers = await Promise.all(Array.from({ length: 40 }, (_, i) => ask(i)));
console.log(`${answers.filter(Boolean).length} of ${answers.length} were answered.`);
