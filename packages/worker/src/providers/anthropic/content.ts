import { isObject, toText } from '../json.js';
import { refuse } from '../refuse.js';

/** A content block of Anthropic's, or one that it nests in a tool result. */
export interface Block {
  type: string;
  [field: string]: unknown;
}

const IMAGE_TYPES: ReadonlySet<string> = new Set(['image/jpeg', 'image/png', 'image/gif', 'image/webp']);

type PartReader = (part: Record<string, unknown>, path: string) => Block | undefined;

const text: PartReader = (part, path) => {
  if (typeof part.text !== 'string') refuse(`${path}.text`, 'A text part needs a text.');
  return toTextBlock(part.text);
};

/** An earlier refusal of the assistant is what it said then. */
const refusal: PartReader = (part, path) => {
  if (typeof part.refusal !== 'string') refuse(`${path}.refusal`, 'A refusal part needs a refusal.');
  return toTextBlock(part.refusal);
};

const image: PartReader = (part, path) => {
  const url = isObject(part.image_url) ? toText(part.image_url.url) : undefined;
  if (url === undefined) refuse(`${path}.image_url.url`, 'An image part needs a URL.');
  // Anthropic fetches it; the gateway never does.
  if (/^https?:\/\//i.test(url)) return { type: 'image', source: { type: 'url', url } };
  const data = readDataUrl(url);
  const mediaType = data?.mediaType === 'image/jpg' ? 'image/jpeg' : data?.mediaType;
  if (data === undefined || mediaType === undefined || !IMAGE_TYPES.has(mediaType)) {
    refuse(
      `${path}.image_url.url`,
      'Anthropic takes images by http(s) URL or as base64 data URL of type jpeg, png, gif or webp.',
    );
  }
  return { type: 'image', source: { type: 'base64', media_type: mediaType, data: data.base64 } };
};

const file: PartReader = (part, path) => {
  const content = isObject(part.file) ? part.file : {};
  const data = readDataUrl(toText(content.file_data) ?? '');
  if (data?.mediaType !== 'application/pdf') {
    refuse(
      `${path}.file`,
      'Anthropic takes files only as file_data, a base64 data URL of type application/pdf.',
    );
  }
  const title = toText(content.filename);
  return {
    type: 'document',
    source: { type: 'base64', media_type: data.mediaType, data: data.base64 },
    ...(title === undefined ? {} : { title }),
  };
};

export type PartReaders = Readonly<Record<string, PartReader>>;

export const TEXT_PARTS: PartReaders = { text };
export const ASSISTANT_PARTS: PartReaders = { text, refusal };
export const USER_PARTS: PartReaders = { text, image_url: image, file };

/** Blocks without the empty ones, which Anthropic refuses. */
export function toBlocks(content: unknown, readers: PartReaders, path: string): Block[] {
  if (content === undefined || content === null) return [];
  if (typeof content === 'string') return toBlock(toTextBlock(content));
  if (!Array.isArray(content)) refuse(path, 'Content is a string or an array of parts.');
  return content.flatMap((part: unknown, index) => {
    const partPath = `${path}[${index}]`;
    if (!isObject(part) || typeof part.type !== 'string') refuse(partPath, 'A content part needs a type.');
    const reader = Object.hasOwn(readers, part.type) ? readers[part.type] : undefined;
    if (reader === undefined)
      refuse(partPath, `Anthropic takes no part of type ${part.type.slice(0, 40)} here.`);
    return toBlock(marked(reader(part, partPath), part));
  });
}

/** Where the caller says that the prompt is to be cached up to here, Anthropic is told so. */
export function marked(block: Block | undefined, by: Record<string, unknown>): Block | undefined {
  const mark = by.cache_control ?? null;
  return block && isObject(mark) ? { ...block, cache_control: mark } : block;
}

function toBlock(block: Block | undefined): Block[] {
  return block === undefined ? [] : [block];
}

/** Anthropic refuses a text block without any visible character. */
function toTextBlock(value: string): Block | undefined {
  return /\S/.test(value) ? { type: 'text', text: value } : undefined;
}

/** `data:<media type>[;parameter]*;base64,<data>`: parameters may stand before `base64`. */
function readDataUrl(url: string): { mediaType: string; base64: string } | undefined {
  const comma = url.indexOf(',');
  if (comma < 0 || !/^data:/i.test(url)) return undefined;
  const [mediaType = '', ...parameters] = url.slice('data:'.length, comma).split(';');
  const base64 = url.slice(comma + 1);
  if (parameters.at(-1)?.trim().toLowerCase() !== 'base64' || base64 === '') return undefined;
  return { mediaType: mediaType.trim().toLowerCase(), base64 };
}
