/**
 * What a request costs while others wait. The provider is the limit, as it is whenever jobs wait: a few calls at a time of
 * 20 ms each, more callers than that, and a CPU that is not busy; so CPU per request says what the queue's length costs.
 * The waiting jobs are of another workspace that floods the queue: they have the lowest priority, and since a caller is
 * always waiting too, none of them should run (those that do are counted). The callers are workspaces of their own, so
 * that their jobs have no priority: plain first come, first served, as under ordinary load.
 */

import { ChatQueue } from '@sluice/shared/queue/chat-queue';
import { CHAT_JOB, type ChatJob } from '@sluice/shared/queue/job';
import { makeRequestId } from '@sluice/shared/request-id';
import type { Generator } from '../load/load.js';
import { Progress } from '../progress.js';
import { startUpstream } from '../simulator.js';
import { CHAIN, PROVIDER, type Sluice, startSluice } from '../sluice.js';
import { addWorkspaces } from './add-workspaces.js';
import type { GrowthOptions } from './options.js';
import { measurePoint, type Point, pointSeconds, pointTable, type StudyResult } from './study.js';

const WAITING = [0, 1_000, 10_000];
const UPSTREAM_MS = 20;
const LOWEST_PRIORITY = 2 ** 21 - 1;
/** BullMQ orders jobs by this number times their priority, and then by their turn. */
const SCORES_OF_A_PRIORITY = 2 ** 32;
const HOUR_MS = 3_600_000;
const AT_ONCE = 500;
/** Some run while others are added. */
const NEARLY = 0.02;

export async function studyBacklog(options: GrowthOptions, generator: Generator): Promise<StudyResult> {
  const pointCount = WAITING.length;
  const progress = new Progress(pointCount * (options.rounds + 1), pointCount * pointSeconds(options));
  const upstream = await startUpstream(UPSTREAM_MS);
  const points: Point[] = [];
  const ran: number[] = [];
  // A quarter of the callers are served at a time, the rest wait.
  const concurrency = Math.max(1, Math.floor(options.connections / 4));
  for (const waiting of WAITING) {
    const sluice = await startSluice({ upstreamUrl: upstream.url, concurrency });
    const callers = await addWorkspaces(sluice, options.connections);
    const queue = new ChatQueue(sluice.redis, { names: sluice.names, keptAnswerBytes: 0 });
    let before = 0;
    let left = 0;
    points.push(
      await measurePoint({
        study: 'waiting jobs',
        title: waiting.toLocaleString('en'),
        sluice,
        options,
        generator,
        progress,
        callers,
        async beforeLoad() {
          await fillUp(sluice, queue, waiting);
          before = await countWaiting(sluice);
        },
        async afterLoad() {
          left += before - (await countWaiting(sluice));
        },
      }),
    );
    ran.push(left);
    await queue.close();
    await sluice.stop();
  }
  await upstream.stop();
  progress.end();
  const lines = [
    `The provider takes ${concurrency} calls of ${UPSTREAM_MS} ms at a time; ${options.connections} callers.`,
    `Waiting jobs that ran while the callers were served: ${ran.join(', ')}.`,
  ];
  const page = `### Jobs waiting in the queue\n\n${lines.join('\n')}\n\n${pointTable('waiting', points)}`;
  return { name: 'backlog', page, data: { points, ran } };
}

/** The callers' own jobs wait too, at better priorities. */
function countWaiting({ redis, names }: Sluice): Promise<number> {
  return redis.zcount(
    names.queueKey(PROVIDER, 'prioritized'),
    LOWEST_PRIORITY * SCORES_OF_A_PRIORITY,
    '+inf',
  );
}

/** Between the rounds the slots are free, and some of the waiting jobs run: they are replaced. */
async function fillUp(sluice: Sluice, queue: ChatQueue, waiting: number): Promise<void> {
  const options = { priority: LOWEST_PRIORITY, removeOnComplete: true, removeOnFail: true };
  for (;;) {
    const missing = waiting - (await countWaiting(sluice));
    if (missing <= waiting * NEARLY) return;
    const now = sluice.clock.now();
    const jobs = Array.from({ length: Math.min(missing, AT_ONCE) }, () => waitingJob(now));
    await queue
      .of(PROVIDER)
      .addBulk(
        jobs.map((data) => ({ name: CHAT_JOB, data, opts: { ...options, jobId: `${data.requestId}-0` } })),
      );
  }
}

function waitingJob(now: number): ChatJob {
  return {
    requestId: makeRequestId(),
    workspace: 'flood',
    keyId: 'key_flood',
    model: 'bench',
    route: 'bench',
    chain: CHAIN,
    entry: 0,
    onCrash: 'rerun',
    inbox: 'nobody',
    acceptedAt: now,
    queuedAt: now,
    waitUntil: now + HOUR_MS,
    deadline: now + HOUR_MS,
    queueMs: 0,
    attempts: [],
    request: JSON.stringify({ model: 'bench', messages: [{ role: 'user', content: 'Say ok.' }] }),
  };
}
