/**
 * Counts chat requests by workspace, route and reason. Every request passes here, so counting is two look-ups in maps. The
 * counters are set from the maps at a scrape.
 */
import type { Metrics } from '@sluice/shared/metrics/create';
import type { KnownWorkspaces } from '@sluice/shared/metrics/directory-watch';
import type { WorkspaceLabels } from '@sluice/shared/metrics/workspace-labels';
import { ALL_REASONS, type Reason, reasonKind } from '@sluice/shared/reasons';

const OUTCOMES = ['ok', 'failed', 'refused', 'left'] as const;
type Outcome = (typeof OUTCOMES)[number];

/** The label of requests without a known key. */
const NOBODY = 'none';

interface RouteTally {
  ended: Record<Outcome, number>;
  seconds: number;
}

interface WorkspaceTally {
  routes: Map<string | null, RouteTally>;
  reasons: Map<Reason, number>;
}

export class RequestTally {
  readonly #workspaces = new Map<string, WorkspaceTally>();

  constructor(
    metrics: Metrics,
    private readonly labels: WorkspaceLabels,
  ) {
    const requests = metrics.counter('requests');
    const unserved = metrics.counter('unserved');
    const seconds = metrics.counter('requestSeconds');
    metrics.onScrape(async () => {
      for (const counter of [requests, unserved, seconds]) counter.reset();
      const begun = new Set<string>();
      for (const [id, { routes, reasons }] of this.#workspaces) {
        const { workspace } = this.#labelsOf(id, null);
        const add = (reason: Reason, count: number) =>
          unserved.inc({ workspace, kind: reasonKind(reason), reason }, count);
        // Prometheus takes the first value of a series for its start. So every reason is there before it is counted, once for
        // each label: thousands of workspaces may share the label `other`.
        if (!begun.has(workspace)) for (const reason of ALL_REASONS) add(reason, 0);
        begun.add(workspace);
        for (const [reason, count] of reasons) add(reason, count);
        for (const [name, tally] of routes) {
          const labels = this.#labelsOf(id, name);
          for (const outcome of OUTCOMES) requests.inc({ ...labels, outcome }, tally.ended[outcome]);
          seconds.inc(labels, tally.seconds);
        }
      }
    });
    this.#routeOf(this.#workspaceOf(NOBODY), null);
  }

  /** Creates the series of what is configured at zero. */
  update(directory: KnownWorkspaces): void {
    for (const { id, routes } of this.labels.labelled(directory)) {
      const tally = this.#workspaceOf(id);
      for (const name of [null, ...routes.keys()]) this.#routeOf(tally, name);
    }
  }

  /** `reason` is undefined for a request that was served. */
  count(id: string | undefined, route: string | null, reason: Reason | undefined, seconds: number): void {
    const workspace = this.#workspaceOf(id ?? NOBODY);
    const tally = this.#routeOf(workspace, route);
    if (reason === undefined) {
      tally.ended.ok++;
      tally.seconds += seconds;
      return;
    }
    tally.ended[outcomeOf(reason)]++;
    workspace.reasons.set(reason, (workspace.reasons.get(reason) ?? 0) + 1);
  }

  #workspaceOf(id: string): WorkspaceTally {
    const known = this.#workspaces.get(id);
    if (known) return known;
    const tally: WorkspaceTally = { routes: new Map(), reasons: new Map() };
    this.#workspaces.set(id, tally);
    return tally;
  }

  #routeOf({ routes }: WorkspaceTally, name: string | null): RouteTally {
    const known = routes.get(name);
    if (known) return known;
    const tally: RouteTally = { ended: { ok: 0, failed: 0, refused: 0, left: 0 }, seconds: 0 };
    routes.set(name, tally);
    return tally;
  }

  #labelsOf(id: string, route: string | null): { workspace: string; route: string } {
    return id === NOBODY ? { workspace: NOBODY, route: NOBODY } : this.labels.of(id, route);
  }
}

function outcomeOf(reason: Reason): Outcome {
  const kind = reasonKind(reason);
  return kind === 'failed' || kind === 'left' ? kind : 'refused';
}
