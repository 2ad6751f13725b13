import type { Decision, RespondBody } from '@countersign/contracts';

/** A person's response in the words of another product, as a response to an approval of the ledger. */
export interface MappedResponse {
  readonly approvalId: string;
  readonly body: Pick<RespondBody, 'instruction' | 'proposalDigest' | 'reason' | 'shownDigest'> & {
    readonly decision: Decision;
  };
}

/** A content or an event that does not belong to the approval. Nothing was sent to the ledger. */
export class MappingError extends Error {
  override readonly name = 'MappingError';
}
