import type { DirectoryOverview, ModelOffer } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import { path } from '../../admin-client.js';
import type { Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Page } from '../../ui/page.js';
import { Empty, Waiting } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';
import { type Answer, Answers } from './answers.js';
import { type ChatDraft, faultOf, type Message, toBody } from './chat-draft.js';
import { ChatForm } from './chat-form.js';
import type { Completion } from './completion.js';
import { Snippets } from './snippets.js';

const SHOWN_HEADERS = /^(?:x-gateway-|x-request-id$)/;

export function PlaygroundPage({ place }: { place: Place }) {
  const may = useMay();
  const known = usePoll('playground', 0, async (client, signal) => {
    const [directory, catalogue] = await Promise.all([
      client.get<DirectoryOverview>('/directory?keys=false', signal),
      client.get<ModelOffer>('/catalogue', signal),
    ]);
    return { directory, catalogue };
  });
  if (!known.data)
    return (
      <Page title="Playground">
        <Waiting polled={known} />
      </Page>
    );
  const workspaces = known.data.directory.workspaces.filter(({ id }) => may('operator', id));
  if (workspaces.length === 0)
    return (
      <Page title="Playground">
        <Empty title="There is no workspace to ask for.">
          <code>sluice workspaces create</code> makes one.
        </Empty>
      </Page>
    );
  return <Chat {...known.data} directory={{ ...known.data.directory, workspaces }} place={place} />;
}

function Chat({
  directory,
  catalogue,
  place,
}: {
  directory: DirectoryOverview;
  catalogue: ModelOffer;
  place: Place;
}) {
  const [draft, setDraft] = useState<ChatDraft>(() => firstDraft(directory, place));
  const [past, setPast] = useState<Message[]>([]);
  const [answers, setAnswers] = useState<Answer[]>([]);
  const action = useAction();
  const body = toBody(draft, past);

  const send = () =>
    action.run(async (client) => {
      const response = await client.fetch(path`/workspaces/${draft.workspace}/playground`, {
        method: 'POST',
        body,
      });
      const completion = (await response.json()) as Completion;
      const headers = [...response.headers].filter(([name]) => SHOWN_HEADERS.test(name));
      const text = completion.choices[0]?.message.content ?? '';
      setAnswers([...answers, { question: draft.text, text, completion, headers }]);
      setPast([...past, { role: 'user', content: draft.text }, { role: 'assistant', content: text }]);
      setDraft({ ...draft, text: '' });
    });
  const startAnew = () => {
    setPast([]);
    setAnswers([]);
  };

  return (
    <Page
      title="Playground"
      intro="A chat on behalf of a workspace, without a key of it: through the same queue, under the same limits, logged and billed to it."
    >
      <div class="playground">
        <section class="card" aria-label="Question">
          <ChatForm
            draft={draft}
            fault={faultOf(draft)}
            directory={directory}
            catalogue={catalogue}
            busy={action.busy}
            onChange={setDraft}
            onSend={send}
          />
        </section>
        <section class="stack" aria-label="Answer" aria-live="polite">
          <Answers answers={answers} busy={action.busy} error={action.error} onClear={startAnew} />
        </section>
      </div>
      <Snippets
        body={toBody({ ...draft, text: draft.text || 'Say hello.' }, past)}
        baseUrl={catalogue.base_url}
      />
    </Page>
  );
}

function firstDraft({ workspaces, routes }: DirectoryOverview, { query }: Place): ChatDraft {
  const workspace =
    workspaces.find(({ id }) => id === query.workspace)?.id ??
    routes[0]?.workspace ??
    workspaces[0]?.id ??
    '';
  const model = query.model ?? routes.find((route) => route.workspace === workspace)?.id ?? '';
  return { workspace, model, system: '', text: '', temperature: '', maxTokens: '' };
}
