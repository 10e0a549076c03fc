/** How a provider is reached: the fields of gateway.yaml about address, headers and credentials. */
import { ADDRESS_PARTS, PRESETS } from '../contract/presets.js';
import {
  type ConfigReader,
  type Fields,
  isAbsent,
  join,
  type NumberRule,
  shownKey,
  type TextRule,
} from './reader.js';
import { MODEL } from './rules.js';
import type { AuthConfig, EndpointConfig, ProviderKind } from './types.js';

export const ENDPOINT_FIELDS = [
  'preset',
  'kind',
  'base_url',
  'resource',
  'region',
  'project',
  'location',
  'path',
  'models_path',
  'query',
  'headers',
  'auth',
  'rename_models',
  'anthropic_version',
];

const KINDS: readonly ProviderKind[] = ['openai', 'anthropic'];
const CHAT_PATHS: Readonly<Record<ProviderKind, string>> = {
  openai: '/chat/completions',
  anthropic: '/v1/messages',
};
const MODELS_PATHS: Readonly<Record<ProviderKind, string>> = { openai: '/models', anthropic: '/v1/models' };
const KEY_HEADERS: Readonly<Record<ProviderKind, Pick<AuthConfig, 'header' | 'scheme'>>> = {
  openai: { header: 'authorization', scheme: 'Bearer' },
  anthropic: { header: 'x-api-key', scheme: undefined },
};

const PART: TextRule = {
  pattern: /^[A-Za-z0-9][A-Za-z0-9-]{0,62}$/,
  allowed: '1 to 63 letters, digits and -',
};
const PATH: TextRule = {
  pattern: /^\/[\w./:@{}~-]{0,512}$/,
  allowed: 'a path such as /chat/completions; {model} stands for the model',
};
const VALUE: TextRule = {
  pattern: /^[ -~]{1,1024}$/,
  allowed: '1 to 1024 printable ASCII characters',
};
const HEADER: TextRule = { pattern: /^[A-Za-z0-9-]{1,64}$/, allowed: '1 to 64 letters, digits and -' };
const WORD: TextRule = { pattern: /^[!-~]{1,256}$/, allowed: '1 to 256 characters without spaces' };
const QUERY_NAME = /^[\w.-]{1,64}$/;
/** Headers that the gateway or HTTP itself sets, and headers that carry secrets: those belong into `auth`. */
const OWN_HEADERS =
  /^(?:authorization|x-api-key|api-key|x-goog-api-key|cookie|proxy-.*|host|content-.*|accept|connection|keep-alive|te|trailer|transfer-encoding|upgrade|x-amz-.*)$/i;
const SECRET_QUERY = /key|token|secret|password|signature/i;
const MOST_PAIRS = 32;
const MOST_RENAMED = 1_000;
/** Google's locations of several regions have hosts of another form. */
const MULTI_REGION = /\/\/(eu|us)-aiplatform\./;
const LIFETIME_MS: NumberRule = { min: 1_000, max: 86_400_000 };

/** The fields of the file, completed by those of the preset. */
export function withPreset(reader: ConfigReader, provider: Fields, path: string): Fields {
  if (isAbsent(provider.preset)) return provider;
  const name = reader.oneOf(provider.preset, join(path, 'preset'), Object.keys(PRESETS));
  // The unknown preset is reported already. Its missing fields are not reported as well.
  const preset = PRESETS[name ?? 'openai'] ?? {};
  const own = Object.fromEntries(Object.entries(provider).filter(([, value]) => !isAbsent(value)));
  const ownAuth = isMap(own.auth) ? own.auth : {};
  const fetchesToken = ['token_file', 'token_command', 'sigv4'].some((field) => !isAbsent(ownAuth[field]));
  const { api_key, auth, ...others } = preset;
  const { token_command, ...rest } = isMap(auth) ? auth : {};
  const hasKey = own.api_key !== undefined || own.keys !== undefined;
  const isNone = own.auth === 'none';
  return {
    ...others,
    // Credentials have one source: the file, or else the preset.
    ...(hasKey || fetchesToken || isNone || api_key === undefined ? {} : { api_key }),
    ...own,
    auth: isNone
      ? 'none'
      : {
          ...rest,
          ...(hasKey || fetchesToken || token_command === undefined ? {} : { token_command }),
          ...ownAuth,
        },
  };
}

export function readEndpoint(reader: ConfigReader, provider: Fields, path: string): EndpointConfig {
  const kind = reader.oneOf(provider.kind, join(path, 'kind'), KINDS) ?? 'openai';
  const modelsPath = reader.text(
    provider.models_path ?? MODELS_PATHS[kind],
    join(path, 'models_path'),
    // No query is allowed here, because the gateway adds the query for paging.
    { pattern: /^(?:none|\/[\w./:@~-]{0,512})$/, allowed: 'a path such as /models, or none' },
  );
  const anthropicVersion = isAbsent(provider.anthropic_version)
    ? undefined
    : reader.text(provider.anthropic_version, join(path, 'anthropic_version'), WORD);
  if (anthropicVersion !== undefined && kind !== 'anthropic')
    reader.mistake(join(path, 'anthropic_version'), 'is for kind anthropic only');
  return {
    kind,
    baseUrl: readBaseUrl(reader, provider, path),
    path: reader.text(provider.path ?? CHAT_PATHS[kind], join(path, 'path'), PATH),
    modelsPath: modelsPath === 'none' ? undefined : modelsPath,
    query: readPairs(reader, provider.query, join(path, 'query'), (name) =>
      SECRET_QUERY.test(name)
        ? 'a secret must not stand in an address; send it in a header, by auth'
        : QUERY_NAME.test(name)
          ? undefined
          : 'must be 1 to 64 letters, digits and . _ -',
    ),
    headers: readPairs(reader, provider.headers, join(path, 'headers'), (name) =>
      OWN_HEADERS.test(name)
        ? 'the gateway sets this header itself; auth says which one has the key'
        : HEADER.pattern.test(name)
          ? undefined
          : `must be ${HEADER.allowed}`,
    ),
    auth: readAuth(reader, provider, kind, path),
    renamedModels: readRenamed(reader, provider.rename_models, join(path, 'rename_models')),
    anthropicVersion,
  };
}

/** The parts of a preset's address come from fields of the same names, or from the usual environment variables. */
function readBaseUrl(reader: ConfigReader, provider: Fields, path: string): string {
  const { base_url: baseUrl } = provider;
  if (isAbsent(provider.preset) || typeof baseUrl !== 'string' || /\$\{/.test(baseUrl))
    return reader.httpUrl(baseUrl, join(path, 'base_url'));
  const whole = baseUrl.replace(/\{([a-z]+)(-?)\}/g, (_, part: string, dash: string) => {
    const value = readPart(reader, provider, part, path);
    // The address of Google's global location has no name before it.
    return dash !== '' && value === 'global' ? '' : value + dash;
  });
  return reader.httpUrl(whole.replace(MULTI_REGION, '//aiplatform.$1.rep.'), join(path, 'base_url'));
}

function readPart(reader: ConfigReader, provider: Fields, part: string, path: string): string {
  return reader.text(provider[part] ?? ADDRESS_PARTS[part], join(path, part), PART) || 'missing';
}

function readAuth(reader: ConfigReader, provider: Fields, kind: ProviderKind, path: string): AuthConfig {
  const at = join(path, 'auth');
  const standard: AuthConfig = {
    ...KEY_HEADERS[kind],
    token: undefined,
    tokenLifetimeMs: undefined,
    sigv4: undefined,
  };
  if (isAbsent(provider.auth) || provider.auth === 'none') return standard;
  const auth = reader.fields(provider.auth, at, [
    'header',
    'scheme',
    'token_file',
    'token_command',
    'token_lifetime_ms',
    'sigv4',
    'service',
  ]);
  if (!auth) return standard;
  const hasFile = !isAbsent(auth.token_file);
  const hasCommand = !isAbsent(auth.token_command);
  if (hasFile && hasCommand) reader.mistake(at, 'has token_file and token_command; keep one of them');
  const signs = reader.flag(auth.sigv4, `${at}.sigv4`);
  if ((hasFile || hasCommand) && !isAbsent(provider.api_key))
    reader.mistake(join(path, 'api_key'), 'is not used beside a token of auth; keep one of them');
  if ((hasFile || hasCommand || signs) && !isAbsent(provider.keys))
    reader.mistake(
      join(path, 'keys'),
      'are not used beside a token or a signature of auth; keep one of them',
    );
  const hasHeader = !isAbsent(auth.header);
  return {
    header: hasHeader ? reader.text(auth.header, `${at}.header`, HEADER).toLowerCase() : standard.header,
    // A header that the operator chose has the bare key, unless the file says otherwise.
    scheme: isAbsent(auth.scheme)
      ? hasHeader
        ? undefined
        : standard.scheme
      : reader.text(auth.scheme, `${at}.scheme`, WORD),
    token: hasFile
      ? { file: reader.text(auth.token_file, `${at}.token_file`, VALUE) }
      : hasCommand
        ? { command: readCommand(reader, auth.token_command, `${at}.token_command`) }
        : undefined,
    tokenLifetimeMs: isAbsent(auth.token_lifetime_ms)
      ? undefined
      : reader.number(auth.token_lifetime_ms, `${at}.token_lifetime_ms`, LIFETIME_MS),
    sigv4: signs
      ? {
          region: readPart(reader, provider, 'region', path),
          service: reader.text(auth.service ?? 'bedrock', `${at}.service`, PART),
        }
      : undefined,
  };
}

/** The command runs without a shell, so nothing in it is expanded. */
function readCommand(reader: ConfigReader, value: unknown, path: string): string[] {
  return reader.list(value, path, 1, MOST_PAIRS).map((word, i) => reader.text(word, `${path}[${i}]`, VALUE));
}

function readPairs(
  reader: ConfigReader,
  value: unknown,
  path: string,
  mistakeOf: (name: string) => string | undefined,
): Record<string, string> {
  const pairs = reader.entries(value, path);
  if (pairs.length > MOST_PAIRS) reader.mistake(path, `must have at most ${MOST_PAIRS}`);
  return Object.fromEntries(
    pairs.map(([name, item]) => {
      const mistake = mistakeOf(name);
      const at = join(path, shownKey(name));
      if (mistake !== undefined) reader.mistake(at, mistake);
      // YAML reads a date or a version as a number.
      return [name.toLowerCase(), reader.text(typeof item === 'number' ? String(item) : item, at, VALUE)];
    }),
  );
}

/** The gateway's name of a model → the provider's. */
function readRenamed(reader: ConfigReader, value: unknown, path: string): Map<string, string> {
  const pairs = reader.entries(value, path);
  if (pairs.length > MOST_RENAMED) reader.mistake(path, `must have at most ${MOST_RENAMED}`);
  return new Map(
    pairs.map(([model, name]) => {
      if (!MODEL.pattern.test(model)) reader.mistake(join(path, shownKey(model)), `must be ${MODEL.allowed}`);
      return [model, reader.text(name, join(path, shownKey(model)), MODEL)];
    }),
  );
}

function isMap(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}
