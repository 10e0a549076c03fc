import type { ModelPrices, RegistryModel } from '@sluice/shared/registry/document';
import { EMBEDS } from '@sluice/shared/registry/model-registry';
import { findModel, type PackagePrice, pricesOn, type TieredPrice } from './package-data.js';

/** The package's facts of a model, in the registry's terms. It has no limits of output. */
export type PackageFacts = Pick<
  RegistryModel,
  'prices' | 'long_context' | 'fee_per_request' | 'context_window' | 'time_bands' | 'capabilities'
>;

/** The package does not say what a model is for. All of them have it in their names. */
const EMBEDDING_MODEL = /embed/;

type Price = number | TieredPrice | undefined;

const CELLS: readonly (readonly [ours: keyof ModelPrices, theirs: string])[] = [
  ['input', 'input_mtok'],
  ['cached_input', 'cache_read_mtok'],
  ['cache_write', 'cache_write_mtok'],
  ['cache_write_1h', 'cache_write_1h_mtok'],
  ['output', 'output_mtok'],
];

/** On that day: the package has prices that begin. Undefined when it does not know the model. */
export function packageFacts(provider: string, id: string, day: string): PackageFacts | undefined {
  const model = findModel(provider, id);
  if (!model) return undefined;
  const { price: given, hours } = pricesOn(model, day);
  const embeds = EMBEDDING_MODEL.test(id);
  // Embeddings have no output.
  const price = embeds ? { ...given, output_mtok: 0 } : given;
  // What is not billed by tokens, such as a page that is read or a minute of speech, is no chat.
  if (price.input_mtok === undefined || price.output_mtok === undefined) return undefined;
  return {
    ...stepsOf(price),
    ...(hours.length > 0
      ? { time_bands: hours.map(({ from, to, price }) => ({ from, to, ...stepsOf(price) })) }
      : {}),
    ...(typeof price.requests_kcount === 'number' ? { fee_per_request: price.requests_kcount / 1000 } : {}),
    ...(model.context_window === undefined ? {} : { context_window: model.context_window }),
    ...(embeds ? { capabilities: [EMBEDS] } : {}),
  };
}

function stepsOf(price: PackagePrice): Pick<PackageFacts, 'prices' | 'long_context'> {
  const tiers = CELLS.flatMap(([, name]) => tiersOf(price[name]));
  const steps = [...new Set(tiers.map(({ start }) => start))].sort((a, b) => a - b);
  return {
    prices: pricesAt(price, 0),
    ...(steps.length > 0
      ? { long_context: steps.map((above) => ({ above, prices: pricesAt(price, above) })) }
      : {}),
  };
}

/** For prompts of more than `above` tokens. */
function pricesAt(price: PackagePrice, above: number): ModelPrices {
  const cells = CELLS.flatMap(([ours, theirs]) => {
    const value = price[theirs];
    const base = typeof value === 'object' ? value.base : value;
    const reached = tiersOf(value).findLast(({ start }) => start <= above)?.price ?? base;
    return reached === undefined ? [] : [[ours, toWholePicodollars(reached)] as const];
  });
  const { input, output, ...others } = Object.fromEntries(cells) as Partial<ModelPrices>;
  if (input === undefined || output === undefined) throw new Error('a model has no price of input or output');
  const { cached_input, cache_write, cache_write_1h } = others;
  return {
    input,
    ...(cached_input === undefined ? {} : { cached_input }),
    ...(cache_write === undefined ? {} : { cache_write }),
    ...(cache_write_1h === undefined ? {} : { cache_write_1h }),
    output,
  };
}

/** A few prices are thirds of another one: 0.0833…. */
function toWholePicodollars(usdPerMillionTokens: number): number {
  return Math.round(usdPerMillionTokens * 1e6) / 1e6;
}

function tiersOf(price: Price): TieredPrice['tiers'] {
  return typeof price === 'object' ? price.tiers : [];
}
