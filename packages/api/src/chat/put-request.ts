/** Puts the caller's body into its job. */
import { MemberSearch, type TextRange } from '@sluice/shared/json/measure';
import { EMBEDDINGS, LARGE_AS_BYTES } from '@sluice/shared/process/protocol';
import type { ChatJob, JobEndpoint } from '@sluice/shared/queue/job';
import { type Payloads, requestContext } from '@sluice/shared/queue/payload';

/** A longer body gets a key of its own in Redis, which no script reads. */
const LARGE_LENGTH = 12_288;

/** The worker copies the messages of a large body to the provider without reading them, if it knows where they are. */
export function searchMessages(text: string): MemberSearch | undefined {
  return text.length > LARGE_LENGTH ? new MemberSearch('messages') : undefined;
}

/** A worker of an older version would take the job for a chat. By the protocol it leaves the job to others. */
export function putEndpoint(job: ChatJob, endpoint: JobEndpoint): void {
  job.endpoint = endpoint;
  job.protocol = EMBEDDINGS;
}

/** `messages`: what was found in this text. */
export function putRequest(
  job: ChatJob,
  text: string,
  messages: MemberSearch | undefined,
  payloads: Payloads,
): void {
  const context = requestContext(job);
  if (text.length <= LARGE_LENGTH) job.request = payloads.seal(text, context);
  else if ((job.protocol ?? 0) < LARGE_AS_BYTES) job.request = Buffer.from(payloads.seal(text, context));
  else {
    job.request = payloads.sealBytes(text, context);
    if (messages?.range && isMost(messages.range, text)) job.messagesAt = inBytes(text, messages.range);
  }
}

/** The worker reads and copies the rest, which would take twice as long if the rest were the larger part. */
function isMost([start, end]: TextRange, text: string): boolean {
  return end - start > text.length / 2;
}

function inBytes(text: string, [start, end]: TextRange): TextRange {
  const first = Buffer.byteLength(text.slice(0, start));
  return [first, first + Buffer.byteLength(text.slice(start, end))];
}
