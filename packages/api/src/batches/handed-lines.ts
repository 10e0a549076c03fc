/** The record of a line that is handed to a provider, made of its text. */
import { createHash } from 'node:crypto';
import type { ChatRequest } from '@sluice/shared/chat';
import type { FileLine } from '@sluice/shared/json/read-lines';
import { readTags, readUser } from '../chat/tags.js';
import type { LineLimits } from './check-lines.js';
import type { LineResults } from './line-results.js';
import type { FedLine } from './line-store.js';
import { isMistake, parseLine } from './parse-line.js';

export class HandedLines {
  constructor(
    private readonly results: Pick<LineResults, 'sealId'>,
    readonly limits: LineLimits,
  ) {}

  toFed({ number, offset, end, text }: FileLine, requestId: string): FedLine {
    const parsed = parseLine(text, this.limits);
    const request = isMistake(parsed) ? undefined : (JSON.parse(parsed.body) as ChatRequest);
    const tags = request && readTags('', request);
    const user = request && readUser(request);
    return {
      line: number,
      offset,
      end,
      customId: this.results.sealId(isMistake(parsed) ? '' : parsed.customId, requestId),
      providers: [],
      onCrash: 'rerun',
      refused: 0,
      ...(tags ? { tags } : {}),
      ...(user === undefined ? {} : { user }),
    };
  }
}

/** The same each time, so that a line needs no record while its provider has it. */
export function requestIdOf(batch: string, line: number): string {
  return createHash('sha256').update(`${batch}\n${line}`).digest('base64url').slice(0, 20);
}
