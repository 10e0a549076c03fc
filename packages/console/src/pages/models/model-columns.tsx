import { NOTHING, price, tokens } from '../../format.js';
import { formatPlace } from '../../location.js';
import { useMay } from '../../permissions.js';
import { Badge } from '../../ui/small.js';
import type { Column } from '../../ui/table.js';
import type { ModelRow } from './model-rows.js';

export function modelColumns(onEdit: (row: ModelRow) => void): Column<ModelRow>[] {
  return [
    { id: 'model', label: 'Model', head: true, cell: Name, sort: ({ id }) => id.toLowerCase() },
    { id: 'provider', label: 'Provider', cell: ({ provider }) => provider, sort: ({ provider }) => provider },
    {
      id: 'window',
      label: 'Context',
      numeric: true,
      cell: ({ facts }) => tokens(facts?.context_window),
      sort: ({ facts }) => facts?.context_window,
    },
    {
      id: 'output-limit',
      label: 'Max output',
      numeric: true,
      cell: ({ facts }) => tokens(facts?.max_output_tokens),
      sort: ({ facts }) => facts?.max_output_tokens,
    },
    {
      id: 'input',
      label: 'Input',
      numeric: true,
      cell: ({ facts }) => price(facts?.prices?.input),
      sort: ({ facts }) => facts?.prices?.input,
    },
    {
      id: 'cached',
      label: 'Cached',
      numeric: true,
      cell: ({ facts }) => price(facts?.prices?.cached_input),
      sort: ({ facts }) => facts?.prices?.cached_input,
    },
    {
      id: 'output',
      label: 'Output',
      numeric: true,
      cell: ({ facts }) => price(facts?.prices?.output),
      sort: ({ facts }) => facts?.prices?.output,
    },
    { id: 'tags', label: 'Capabilities', cell: Capabilities },
    { id: 'source', label: 'Price from', cell: Source, sort: ({ facts }) => facts?.as_of },
    { id: 'edit', label: 'Change', cell: (row) => <Edit row={row} onEdit={onEdit} /> },
  ];
}

function Name({ id, route, facts, offered, overridden }: ModelRow) {
  return (
    <>
      <span class="name">{id}</span> {route && <Badge tone="info">route</Badge>}
      {overridden && <Badge tone="warn">overridden</Badge>}
      {facts?.deprecated && (
        <Badge tone="bad" {...(route ? { title: 'The model of its first entry' } : {})}>
          deprecated {facts.deprecated}
        </Badge>
      )}
      {!offered && (
        <Badge title="The provider does not list it now, so GET /v1/models does not either.">
          not listed
        </Badge>
      )}
      {route && (
        <span class="under">
          {route.workspace}: {route.chain}
        </span>
      )}
    </>
  );
}

function Capabilities({ facts }: ModelRow) {
  const { capabilities = [], refuses, api } = facts ?? {};
  return (
    <>
      {capabilities.length === 0 && <span class="muted">{NOTHING}</span>}
      <span class="tags">
        {capabilities.map((capability) => (
          <Badge key={capability}>{capability.replaceAll('_', ' ')}</Badge>
        ))}
      </span>
      {api && api !== 'embeddings' && (
        <span class="under" title="The provider’s endpoint that it is called by.">
          {api === 'responses' ? 'by Responses' : 'with tools by Responses'}
        </span>
      )}
      {refuses && (
        <span
          class="under"
          title="Fields that it refuses, or refuses with some values. Such a request goes to the next entry of its route."
        >
          refuses {refuses.join(', ')}
        </span>
      )}
    </>
  );
}

function Source({ facts, route }: ModelRow) {
  if (route) return <span class="muted">first entry’s</span>;
  if (!facts?.prices) return <Badge tone="warn">no price</Badge>;
  return (
    <span class="source" title={facts.source}>
      {facts.as_of && <>{facts.as_of} </>}
      <span class="muted">{facts.source ?? 'registry'}</span>
    </span>
  );
}

function Edit({ row, onEdit }: { row: ModelRow; onEdit(row: ModelRow): void }) {
  const mayEdit = useMay()('admin');
  if (row.route)
    return (
      <a href={formatPlace({ page: 'routes', query: { search: row.id } })} aria-label={`See route ${row.id}`}>
        See route
      </a>
    );
  if (!mayEdit || (row.provider !== 'openai' && row.provider !== 'anthropic')) return null;
  return (
    <button type="button" class="small" onClick={() => onEdit(row)} aria-label={`Edit price of ${row.id}`}>
      Edit price
    </button>
  );
}
