/** The form of a route in the console. It is a module for browsers, so what it needs of one stands in here. */
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import test from 'ava';
import { REPOSITORY } from '../helpers/all-in-one.js';

interface Form {
  chain: { retries: string }[];
}

interface RouteForms {
  toRouteForm(route: object): Form;
  toChain(chain: Form['chain']): object[];
  isSame(form: Form, route: object): boolean;
}

async function loadForms(): Promise<RouteForms> {
  Object.assign(globalThis, { localStorage: { getItem: () => null } });
  const file = join(REPOSITORY, 'packages/console/dist/pages/routes/route-form.js');
  return import(pathToFileURL(file).href);
}

test('the form of a route keeps what it does not show, also a field that it does not know', async (t) => {
  const { toRouteForm, toChain, isSame } = await loadForms();
  const chain = [
    { provider: 'openai', model: 'o1-pro', api: 'responses', on_crash: 'resume', newer: 5, retries: 1 },
    {
      one_of: [
        { provider: 'openai', model: 'gpt-4o', weight: 3, upstream_stream: false },
        { provider: 'own', model: 'a', drop: ['seed'], rename: { b: 'x', a: 'y' }, when: 'context_length' },
      ],
    },
  ];
  const route = { workspace: 'demo', id: 'fast', chain, on_crash: 'fail', provider_batches: false };
  const form = toRouteForm(route);
  t.deepEqual(toChain(form.chain), chain);
  t.true(isSame(form, route));
  const changed = toRouteForm({ ...route, chain: [{ ...chain[0], newer: 6 }, chain[1]] });
  t.false(isSame(changed, route), 'somebody else has changed what the form does not show');
});
