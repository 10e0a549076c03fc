// Two requests whose prompts begin alike. The same prompt_cache_key sends the second where the first is cached.
const rules = 'Answer in one short and friendly sentence, and never promise a date. '.repeat(100);
const ask = async (question) => {
  const response = await fetch(`${process.env.GATEWAY_URL}/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${process.env.GATEWAY_KEY}`, 'content-type': 'application/json' },
    body: JSON.stringify({
      model: 'fast',
      prompt_cache_key: 'support-rules',
      messages: [
        { role: 'system', content: rules },
        { role: 'user', content: question },
      ],
    }),
  });
  return (await response.json()).usage;
};
await ask('Where is my parcel?');
const { prompt_tokens: all, prompt_tokens_details: details } = await ask('Can I change my address?');
console.log(`${details?.cached_tokens ?? 0} of ${all} tokens came from the cache.`);
