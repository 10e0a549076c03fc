/** The sections of docs/runbook.md, one for each alert. Grafana shows them as a dashboard, so that links to them work there. */
import { readFileSync } from 'node:fs';

export const RUNBOOK_UID = 'sluice-runbook';
export const RUNBOOK_PATH = `/d/${RUNBOOK_UID}`;

export interface RunbookSection {
  /** The alert's name; empty for what stands before the first section. */
  alert: string;
  /** Markdown. */
  text: string;
}

export function readRunbook(): RunbookSection[] {
  const page = readFileSync(new URL('../../../docs/runbook.md', import.meta.url), 'utf8');
  const [first = '', ...sections] = page.split(/^## /m);
  return [
    { alert: '', text: first.replace(/^# .*\n/, '').trim() },
    ...sections.map((section) => {
      const end = section.indexOf('\n');
      return { alert: section.slice(0, end), text: section.slice(end).trim() };
    }),
  ];
}

/** Opens the panel of an alert. Panels are numbered from 1, and the first one has what stands before the sections. */
export function runbookUrl(alert: string): string {
  const at = readRunbook().findIndex((section) => section.alert === alert);
  if (at < 0) throw new Error(`docs/runbook.md has no section ${alert}`);
  return `${RUNBOOK_PATH}?viewPanel=${at + 1}`;
}
