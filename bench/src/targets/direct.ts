import { MODEL, PROVIDER_KEY, type Target } from './target.js';

/** No gateway: what the generator, the kernel and the upstream take by themselves. */
export const direct: Target = {
  name: 'direct',
  title: 'no gateway',
  missing: () => undefined,
  async start(upstreamUrl) {
    return {
      url: upstreamUrl,
      version: '',
      caller: { key: PROVIDER_KEY, model: MODEL },
      processes: [],
      stop: async () => {},
    };
  },
};
