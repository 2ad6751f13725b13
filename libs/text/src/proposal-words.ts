import { nameWords } from './people-words.js';

/** A proposal that a person made and that ended without an approval. */
export interface EndedProposal {
  readonly kind: 'run' | 'answer';
  readonly proposedBy: string;
}

/** The question about a proposal: may the tool run, or may an answer take the place of the run. */
export function questionWords(toolName: string, { kind }: Pick<EndedProposal, 'kind'>, nameMax?: number): string {
  const tool = nameWords(toolName, nameMax);
  return kind === 'run' ? `May ${tool} run?` : `May ${tool} be answered without a run?`;
}

/** The earlier edits and answers of a call in words, such as `edit by bob, answer by carol`; empty without one. */
export function endedProposalWords(ended: readonly EndedProposal[], nameMax?: number): string {
  return ended
    .map(({ kind, proposedBy }) => `${kind === 'run' ? 'edit' : 'answer'} by ${nameWords(proposedBy, nameMax)}`)
    .join(', ');
}
