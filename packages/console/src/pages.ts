/** The pages of the console, in the order of the navigation. To add one: write it in `pages/`, and name it here. */
import type { FunctionComponent } from 'preact';
import type { Place } from './location.js';
import { hasRole, hasRoleSomewhere } from './permissions.js';
import type { Person } from './signed-in.js';

export type PageComponent = FunctionComponent<{ place: Place }>;

/** A page's modules come when it is first wanted; while somebody signs in they are fetched ahead. */
export interface PageInfo {
  name: string;
  load(): Promise<PageComponent>;
  /** The people who have use for the page. Absent: everybody. */
  isFor?(person: Person): boolean;
}

interface PageGroup {
  title: string;
  pages: Readonly<Record<string, PageInfo>>;
}

export const PAGE_GROUPS: readonly PageGroup[] = [
  {
    title: 'Watch',
    pages: {
      live: { name: 'Live', load: async () => (await import('./pages/live/live-page.js')).LivePage },
      requests: {
        name: 'Requests',
        load: async () => (await import('./pages/requests/requests-page.js')).RequestsPage,
      },
      providers: {
        name: 'Providers',
        load: async () => (await import('./pages/providers/providers-page.js')).ProvidersPage,
      },
      spend: { name: 'Spend', load: async () => (await import('./pages/spend/spend-page.js')).SpendPage },
      invoices: {
        name: 'Invoices',
        load: async () => (await import('./pages/invoices/invoices-page.js')).InvoicesPage,
        isFor: (person) => hasRole(person, 'viewer'),
      },
      batches: {
        name: 'Batches',
        load: async () => (await import('./pages/batches/batches-page.js')).BatchesPage,
      },
      alerts: {
        name: 'Alerts',
        load: async () => (await import('./pages/alerts/alerts-page.js')).AlertsPage,
        isFor: (person) => hasRole(person, 'viewer'),
      },
    },
  },
  {
    title: 'Set up',
    pages: {
      workspaces: {
        name: 'Workspaces',
        load: async () => (await import('./pages/workspaces/workspaces-page.js')).WorkspacesPage,
      },
      keys: { name: 'Keys', load: async () => (await import('./pages/keys/keys-page.js')).KeysPage },
      routes: {
        name: 'Routes',
        load: async () => (await import('./pages/routes/routes-page.js')).RoutesPage,
      },
      models: {
        name: 'Models',
        load: async () => (await import('./pages/models/models-page.js')).ModelsPage,
      },
      webhooks: {
        name: 'Webhooks',
        load: async () => (await import('./pages/webhooks/webhooks-page.js')).WebhooksPage,
        isFor: (person) => hasRoleSomewhere(person, 'operator'),
      },
      playground: {
        name: 'Playground',
        load: async () => (await import('./pages/playground/playground-page.js')).PlaygroundPage,
        isFor: (person) => hasRoleSomewhere(person, 'operator'),
      },
    },
  },
  {
    title: 'Control',
    pages: {
      access: {
        name: 'Access',
        load: async () => (await import('./pages/access/access-page.js')).AccessPage,
        isFor: (person) => hasRole(person, 'admin'),
      },
      audit: {
        name: 'Audit',
        load: async () => (await import('./pages/audit/audit-page.js')).AuditPage,
        isFor: (person) => hasRoleSomewhere(person, 'admin'),
      },
    },
  },
];

const PAGES = new Map(PAGE_GROUPS.flatMap(({ pages }) => Object.entries(pages)));

export function findPage(page: string): PageInfo | undefined {
  return PAGES.get(page);
}

export function fetchAhead(): void {
  for (const { load } of PAGES.values()) load().catch(() => {});
}

/** Leaves out the pages that the person has no use for, and the groups that are empty then. */
export function pageGroupsFor(person: Person): { title: string; pages: [page: string, PageInfo][] }[] {
  return PAGE_GROUPS.map(({ title, pages }) => ({
    title,
    pages: Object.entries(pages).filter(([, { isFor }]) => isFor?.(person) ?? true),
  })).filter(({ pages }) => pages.length > 0);
}
