import type { ChatRequest, Completion } from '@sluice/shared/chat';
import type { ProviderConfig } from '@sluice/shared/config/provider';
import { claimsOf } from './claims.js';
import type { SchemaChecker, Verdict } from './schema-checker.js';

/** Whether an answer fits the JSON schemas of its request. An answer that cannot be checked counts as fitting. */
export type AnswerFits = (
  workspace: string,
  request: ChatRequest,
  completion: Completion,
) => Promise<boolean> | true;

/** A request without a schema costs next to nothing here. */
export function createAnswerFits(
  { name, checkAnswers }: ProviderConfig,
  checker: SchemaChecker,
  onChecked: (provider: string, verdict: Verdict) => void,
): AnswerFits {
  return (workspace, request, completion) => {
    const claims = claimsOf(request, completion, checkAnswers);
    if (claims.length === 0) return true;
    return checker.check(workspace, claims).then((verdict) => {
      onChecked(name, verdict);
      return verdict !== 'unfit';
    });
  };
}
