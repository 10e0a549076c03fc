import type { DirectoryOverview, ModelOffer } from '@sluice/shared/admin-api';
import { useState } from 'preact/hooks';
import type { Place } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Page } from '../../ui/page.js';
import { Empty, Waiting } from '../../ui/small.js';
import { useAction } from '../../ui/use-action.js';
import { usePoll } from '../../use-poll.js';
import { Answers } from './answers.js';
import { type ChatDraft, mistakeOf, toBody } from './chat-draft.js';
import { ChatForm } from './chat-form.js';
import { askAll, pastOf, type Round } from './round.js';
import { Snippets } from './snippets.js';

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
        <Empty title="There is no workspace to chat for.">
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
  const [rounds, setRounds] = useState<Round[]>([]);
  const action = useAction();

  const send = () =>
    action.run(async (client) => {
      const round = await askAll(client, draft, rounds);
      setRounds([...rounds, round]);
      // Somebody may have written the next message meanwhile.
      setDraft((now) => (now.text === draft.text ? { ...now, text: '' } : now));
    });

  return (
    <Page
      title="Playground"
      intro="A chat on behalf of a workspace, for which you need no key. It goes through the same queue and limits, and is logged and billed to the workspace."
    >
      <div class="playground">
        <section class="card" aria-label="Question">
          <ChatForm
            draft={draft}
            mistake={mistakeOf(draft)}
            directory={directory}
            catalogue={catalogue}
            busy={action.busy}
            onChange={setDraft}
            onSend={send}
          />
        </section>
        <section class="stack" aria-label="Answer" aria-live="polite">
          <Answers rounds={rounds} busy={action.busy} error={action.error} onClear={() => setRounds([])} />
        </section>
      </div>
      <Snippets
        body={toBody({ ...draft, text: draft.text || 'Say hello.' }, pastOf(rounds, draft.model))}
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
  return { workspace, model, other: '', system: '', text: '', temperature: '', maxTokens: '' };
}
