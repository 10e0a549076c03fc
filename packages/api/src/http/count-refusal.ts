import type { TurnedAway } from '@sluice/shared/queue/turned-away';
import { isRefusal, type Reason } from '@sluice/shared/reasons';
import type { Clock } from '@sluice/shared/redis/clock';
import type { MeasuredState } from './measured.js';

/** Counts what was refused, and what failed without an entry in the request log. */
export function createCountRefusal(turnedAway: TurnedAway, clock: Clock) {
  return ({ key, formerKey, reply }: MeasuredState, reason: Reason): void => {
    if (reply && !isRefusal(reason)) return;
    const { workspace = '', id = '' } = key ?? formerKey ?? {};
    turnedAway.count(clock.now(), workspace, id, reason);
  };
}
