/** The fields of a batch's hash in Redis. */
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

export function toBatch(fields: Record<string, string>): Batch | undefined {
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
  return { record: JSON.parse(record) as BatchRecord, state };
}
