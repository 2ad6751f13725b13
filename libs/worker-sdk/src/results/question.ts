import type { ApprovalView } from '@countersign/contracts';

/** What a response of another user interface is bound to, and what that interface shows with the call. */
export interface Bound {
  readonly proposalDigest: string;
  /** Also covers the instructions. */
  readonly shownDigest: string;
  /** Of kind `answer`: people are asked about `output` in place of the run. */
  readonly proposal: Pick<ApprovalView['proposal'], 'number' | 'kind' | 'output' | 'proposedBy'>;
  /** What the agent is told with the decision: every person who decides sees it first. */
  readonly instructions: ApprovalView['instructions'];
}

/** Returns the digests of what is asked, and what of it is not in the call. */
export function boundBy(
  approval: Pick<ApprovalView, 'instructions' | 'shownDigest'> & Pick<Bound, 'proposal'> & Digested,
): Bound {
  const { shownDigest, instructions } = approval;
  const { digest: proposalDigest, number, kind, output, proposedBy } = approval.proposal;
  return { proposalDigest, shownDigest, proposal: { number, kind, output, proposedBy }, instructions };
}

interface Digested {
  readonly proposal: Pick<ApprovalView['proposal'], 'digest'>;
}

/** The members of an approval that its question is made of. */
export type Questioned = Pick<ApprovalView, 'description' | 'instructions' | 'toolName'> & Pick<Bound, 'proposal'>;

/** The question in words: the agent's own or a plain one, then the answer that is proposed in place of the run, and the instructions. */
export function questionText(asked: Questioned, plain = `Run ${asked.toolName}?`): string {
  return [asked.description ?? plain, ...toldLines(asked)].join('\n');
}

/** The decisions that another user interface can send: none where only signed ones count, which people give in the inbox. */
export function offeredDecisions({
  allowedDecisions,
  requirement: { requireSignature, minAssurance },
}: Pick<ApprovalView, 'allowedDecisions' | 'requirement'>): ApprovalView['allowedDecisions'] {
  return requireSignature === true || minAssurance === 'high' ? [] : allowedDecisions;
}

/** What people decide about besides the call: an answer in place of the run, and the instructions to the agent. */
export function toldLines({
  proposal,
  instructions,
}: Pick<Questioned, 'instructions' | 'proposal'>): readonly string[] {
  const { kind, proposedBy, output } = proposal;
  return [
    ...(kind === 'answer'
      ? [`It would not run: ${JSON.stringify(proposedBy)} answers in its place: ${JSON.stringify(output)}`]
      : []),
    ...instructions.map(({ respondedBy, instruction, ifDenied }) => {
      const when = ifDenied === true ? ', if it is denied' : '';
      return `Instruction of ${JSON.stringify(respondedBy)} to the agent${when}: ${JSON.stringify(instruction)}`;
    }),
  ];
}
