import type { ApprovalView, ResponseView } from '@countersign/contracts';

type Responses = Pick<ApprovalView, 'responses'>;

/** A person's answer, while it counts. */
export function countedAnswer({ responses }: Responses, principal: string): ResponseView | undefined {
  return responses.find(({ respondedBy, counted }) => counted && respondedBy === principal);
}

/** What is recorded of a person, told with a change that somebody else made. */
export function ownAnswerWords(approval: Responses, principal: string): string {
  if (countedAnswer(approval, principal) !== undefined) {
    return 'Your recorded answer stands: take it back if you do not want this.';
  }
  return hasAnswered(approval, principal) ? 'Your earlier answer no longer counts.' : 'Nothing of yours is recorded.';
}

/** The same with an end of which this page did not hear that it is the person's own. */
export function ownPartWords(approval: Responses, principal: string): string {
  if (countedAnswer(approval, principal) !== undefined) return 'Your own answer was recorded.';
  return hasAnswered(approval, principal) ? '' : 'Nothing of yours is recorded.';
}

const hasAnswered = ({ responses }: Responses, principal: string): boolean =>
  responses.some(({ respondedBy }) => respondedBy === principal);
