import type { BatchView } from '@sluice/shared/admin-api';

export function isUnderWay({ status }: BatchView): boolean {
  return status === 'in_progress' || status === 'finalizing' || status === 'cancelling';
}

/** Lines a second since the batch began to run. */
export function paceOf({ request_counts, in_progress_at }: BatchView, now: number): number {
  if (in_progress_at === null) return 0;
  const seconds = Math.max(1, now / 1000 - in_progress_at);
  return (request_counts.completed + request_counts.failed) / seconds;
}

/** Milliseconds until the last line is answered at this pace, and the batch's deadline at the most; null: nobody can say. */
export function forecast(batch: BatchView, now: number): number | null {
  const { total, completed, failed } = batch.request_counts;
  const pace = paceOf(batch, now);
  if (pace === 0) return null;
  return Math.min((1000 * (total - completed - failed)) / pace, Math.max(0, batch.expires_at * 1000 - now));
}
