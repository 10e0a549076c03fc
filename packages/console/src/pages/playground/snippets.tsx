import { useState } from 'preact/hooks';
import { Field } from '../../ui/field.js';
import { Choice, CopyButton } from '../../ui/small.js';
import type { ChatBody } from './chat-draft.js';
import { LANGUAGES, type Language, reachable, writeSnippet } from './write-snippet.js';

/** The same request from a program, with a key of the workspace. */
export function Snippets({ body, baseUrl }: { body: ChatBody; baseUrl: string }) {
  const [language, setLanguage] = useState<Language>('curl');
  const [base, setBase] = useState(() => reachable(baseUrl, location.hostname));
  const snippet = writeSnippet(language, body, base.trim().replace(/\/+$/, ''));
  return (
    <section class="card stack" aria-labelledby="snippets">
      <div class="page-head">
        <h2 id="snippets">The same from a program</h2>
        <div class="row">
          <Choice
            label="Language"
            value={language}
            choices={LANGUAGES}
            onChange={(next) => setLanguage(next)}
          />
          <CopyButton text={snippet} />
        </div>
      </div>
      <Field
        label="Base address"
        value={base}
        onInput={setBase}
        type="url"
        hint="The address at which your programs reach the public listener"
      />
      <pre>
        <code>{snippet}</code>
      </pre>
    </section>
  );
}
