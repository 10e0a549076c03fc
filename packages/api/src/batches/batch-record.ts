/** A batch as Redis has it, and as callers see it. */
import { type BatchObject, type BatchView, pathOf } from '@sluice/shared/contract/batch';
import type { JobEndpoint } from '@sluice/shared/queue/job';
import { formatUsd } from '@sluice/shared/registry/price';

export type BatchStatus = BatchObject['status'];

/** Why a batch ends before all of its lines were answered. It is also the code of the lines that are left. */
export type EndReason = 'batch_expired' | 'batch_cancelled' | 'budget_exceeded';

/** Why lines are put off. */
export type WaitReason = 'budget' | 'limits' | 'providers';

/** `line`: from 1. Null: the mistake concerns the whole file. */
export type LineMistake = NonNullable<BatchObject['errors']>['data'][number];

export const INPUT_FILE_MISSING: LineMistake = {
  code: 'input_file_missing',
  line: null,
  message: 'The input file was deleted.',
  param: 'input_file_id',
};

/** The fixed part of a batch. Times are Redis time, in ms. */
export interface BatchRecord {
  id: string;
  workspace: string;
  /** When the workspace was created. A later workspace of the same id is another tenant. */
  workspaceCreated: number;
  keyId: string;
  /** What its lines ask for. Absent: chat completions. */
  endpoint?: JobEndpoint;
  inputFile: string;
  inputObject: string;
  inputBytes: number;
  created: number;
  expires: number;
  /** Its completion window, as the caller wrote it. Absent: 24h. */
  window?: string;
  outputExpiresMs: number;
  metadata: Record<string, string> | null;
}

/** How a batch stands that is handed to its provider's own batch API. */
export interface HandedOver {
  provider: string;
  model: string;
  /** When the first lines were handed over. */
  since?: number;
  lines: number;
  /** Those of them that the provider has ended, and how many of these are in parts that are over. */
  ended: number;
  endedEarlier: number;
  /** The parts that are under way. */
  parts: string[];
  /** The provider's ids of its batches. */
  ids: string[];
  /** Why lines run one by one instead, in words. */
  oneByOne?: string;
}

/** The changing part of a batch. Each is a field of the batch's hash. */
export interface BatchState {
  status: BatchStatus;
  /** Status → when it was reached. */
  times: Partial<Record<BatchStatus, number>>;
  errors: LineMistake[];
  endReason: EndReason | undefined;
  /** When it began to end for that reason. */
  endingSince: number | undefined;
  outputFile: string | null;
  errorFile: string | null;
  /** How many lines the file has. It is known when the file has been checked. */
  total: number;
  /** The bytes and lines of the file that have been queued. */
  offset: number;
  lines: number;
  completed: number;
  failed: number;
  usage: { input: number; cached: number; output: number; reasoning: number };
  /** Picodollars. */
  cost: number;
  /** Code → failed lines. */
  codes: Record<string, number>;
  /** Why no line is queued at the moment. */
  waitsFor: WaitReason | undefined;
  /** Undefined: no route of the batch asks for the provider's own batches. */
  handedOver: HandedOver | undefined;
}

export interface Batch {
  record: BatchRecord;
  state: BatchState;
}

const seconds = (ms: number | undefined): number | null => (ms === undefined ? null : Math.floor(ms / 1000));

/** The batch in the format of the official SDKs. */
export function toBatchObject({ record, state }: Batch): BatchObject {
  const { times, usage, errors } = state;
  return {
    id: record.id,
    object: 'batch',
    endpoint: pathOf(record.endpoint),
    errors: errors.length === 0 ? null : { object: 'list', data: errors },
    input_file_id: record.inputFile,
    completion_window: record.window ?? '24h',
    status: state.status,
    output_file_id: state.outputFile,
    error_file_id: state.errorFile,
    created_at: seconds(record.created) ?? 0,
    in_progress_at: seconds(times.in_progress),
    expires_at: seconds(record.expires) ?? 0,
    finalizing_at: seconds(times.finalizing),
    completed_at: seconds(times.completed),
    failed_at: seconds(times.failed),
    expired_at: seconds(times.expired),
    cancelling_at: seconds(times.cancelling),
    cancelled_at: seconds(times.cancelled),
    request_counts: { total: state.total, completed: state.completed, failed: state.failed },
    usage: {
      input_tokens: usage.input,
      input_tokens_details: { cached_tokens: usage.cached },
      output_tokens: usage.output,
      output_tokens_details: { reasoning_tokens: usage.reasoning },
      total_tokens: usage.input + usage.output,
    },
    metadata: record.metadata,
  };
}

/** The batch for operators, with fields that the SDKs' format lacks. */
export function toBatchView(batch: Batch): BatchView {
  const { record, state } = batch;
  return {
    ...toBatchObject(batch),
    workspace: record.workspace,
    cost_usd: formatUsd(state.cost),
    fed: state.lines,
    errors_by_code: state.codes,
    waits_for: state.waitsFor ?? null,
    provider_batches: state.handedOver ? toHandedView(state.handedOver) : null,
  };
}

function toHandedView({ provider, model, since, lines, ended, ids, oneByOne }: HandedOver) {
  return { provider, model, since: seconds(since), lines, ended, ids, one_by_one: oneByOne ?? null };
}

export function isFinal(status: BatchStatus): boolean {
  return status === 'failed' || status === 'completed' || status === 'expired' || status === 'cancelled';
}
