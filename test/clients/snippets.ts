/** The lines of docs/clients.md. They are there and nowhere else: the runs take them from the page. */
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

export const PAGE = fileURLToPath(new URL('../../../docs/clients.md', import.meta.url));
/** What the page writes, as `npm start` prints it. */
const SHOWN_ADDRESS = 'http://127.0.0.1:8080';

/** The program behind `<!-- snippet: name -->`, with the address of a running gateway. */
export function snippetOf(name: string, gatewayUrl: string): string {
  const page = readFileSync(PAGE, 'utf8');
  const [, code] =
    new RegExp(`<!-- snippet: ${name} -->\\n+\`\`\`\\w+\\n(.*?)\\n\`\`\``, 's').exec(page) ?? [];
  if (code === undefined) throw new Error(`docs/clients.md has no snippet ${name}`);
  if (!code.includes(SHOWN_ADDRESS)) throw new Error(`the snippet ${name} does not name ${SHOWN_ADDRESS}`);
  return `${code.replaceAll(SHOWN_ADDRESS, gatewayUrl)}\n`;
}
