/** The fields of a batch's hash in Redis. */
import type { Payloads } from '@sluice/shared/queue/payload';
import {
  type Batch,
  type BatchRecord,
  type BatchState,
  type BatchStatus,
  type HandedOver,
  isFinal,
} from './batch-record.js';

/** These fields are sums that Redis adds to. All other fields are JSON. */
const SUMS = ['completed', 'failed', 'cost', 'input', 'cached', 'output', 'reasoning'] as const;
const CODE = 'code:';

export function codeField(code: string): string {
  return CODE + code;
}

export function toFields(change: Partial<BatchState>): string[] {
  return Object.entries(change).flatMap(([field, value]) => [
    field,
    typeof value === 'object' || field.endsWith('File') ? JSON.stringify(value) : String(value ?? ''),
  ]);
}

/** The fixed part as Redis has it. The caller's metadata is sealed, because it may tell as much as a prompt. */
export function toRecordText(record: BatchRecord, payloads: Payloads): string {
  const { metadata } = record;
  if (metadata === null) return JSON.stringify(record);
  return JSON.stringify({
    ...record,
    metadata: payloads.seal(JSON.stringify(metadata), metadataContext(record)),
  });
}

function parseRecord(text: string, payloads: Payloads): BatchRecord {
  const record = JSON.parse(text) as BatchRecord & { metadata: BatchRecord['metadata'] | string };
  // An earlier version stored it as it is.
  if (typeof record.metadata !== 'string') return record;
  const metadata = payloads.tryOpen(record.metadata, metadataContext(record)) ?? 'null';
  return { ...record, metadata: JSON.parse(metadata) as BatchRecord['metadata'] };
}

function metadataContext({ workspace, id }: Pick<BatchRecord, 'workspace' | 'id'>): string {
  return `batch metadata\n${workspace}\n${id}`;
}

export function toBatch(fields: Record<string, string>, payloads: Payloads): Batch | undefined {
  const { record, status, times, errors, endReason, outputFile, errorFile, waitsFor, handedOver } = fields;
  if (record === undefined || status === undefined) return undefined;
  const number = (field: string) => Number(fields[field] ?? 0);
  const [completed, failed, cost, input, cached, output, reasoning] = SUMS.map(number) as [
    number,
    number,
    number,
    number,
    number,
    number,
    number,
  ];
  const codes = Object.entries(fields).filter(([field]) => field.startsWith(CODE));
  const state: BatchState = {
    status: status as BatchStatus,
    times: JSON.parse(times ?? '{}'),
    errors: JSON.parse(errors ?? '[]'),
    endReason: (endReason || undefined) as BatchState['endReason'],
    endingSince: fields.endingSince ? number('endingSince') : undefined,
    outputFile: outputFile === undefined ? null : JSON.parse(outputFile),
    errorFile: errorFile === undefined ? null : JSON.parse(errorFile),
    total: number('total'),
    offset: number('offset'),
    lines: number('lines'),
    completed,
    failed,
    cost,
    usage: { input, cached, output, reasoning },
    codes: Object.fromEntries(codes.map(([field, count]) => [field.slice(CODE.length), Number(count)])),
    waitsFor: isFinal(status as BatchStatus)
      ? undefined
      : ((waitsFor || undefined) as BatchState['waitsFor']),
    handedOver: handedOver ? (JSON.parse(handedOver) as HandedOver) : undefined,
  };
  return { record: parseRecord(record, payloads), state };
}
