import { hiddenValues, maskByName, sensitivePointers } from '@countersign/contracts';
import type { ApprovalView, JsonObject } from '@countersign/contracts';
import { inCode, labelWords, linesOf, nameWords, printable, safeJson } from '@countersign/text';

/** What a response of another user interface is bound to, and what that interface shows with the call. */
export interface Bound {
  readonly proposalDigest: string;
  /** Also covers the instructions. */
  readonly shownDigest: string;
  /** Only an approval is bound to it: it never comes back, so one that is sent again after a withdrawal does not count. */
  readonly shownRevision: number;
  /** Only an approval is bound to it: of what the other calls of the step propose. Absent: the call is decided alone. */
  readonly shownOthersDigest?: string;
  /** Of kind `answer`: people are asked about `output` in place of the run. */
  readonly proposal: Pick<ApprovalView['proposal'], 'number' | 'kind' | 'output' | 'proposedBy'>;
  /** The principal that requested the call. */
  readonly requestedBy: ApprovalView['requestedBy'];
  /** What the agent is told with the decision: every person who decides sees it first. */
  readonly instructions: ApprovalView['instructions'];
}

/** Returns the digests of what is asked, and what of it is not in the call. */
export function boundBy(
  approval: Pick<ApprovalView, 'instructions' | 'requestedBy' | 'shownDigest' | 'shownOthersDigest' | 'shownRevision'> &
    Pick<Bound, 'proposal'> &
    Digested,
): Bound {
  const { shownDigest, shownRevision, shownOthersDigest, requestedBy, instructions } = approval;
  const { digest: proposalDigest, number, kind, output, proposedBy } = approval.proposal;
  return {
    ...{ proposalDigest, shownDigest, shownRevision, requestedBy, instructions },
    ...(shownOthersDigest !== undefined && { shownOthersDigest }),
    proposal: { number, kind, output, proposedBy },
  };
}

/** All that a response with these digests agrees to, for an interface that shows no other view of the call. */
export interface AskedCall extends Bound {
  readonly toolName: string;
  /** Those that would run: after an edit, the edited ones. Values whose names hide them are masked. */
  readonly arguments: JsonObject;
  /** How many values are masked in `arguments` and in the proposed answer. */
  readonly hiddenCount: number;
  /** What the call is relative to, such as its folder and its server. */
  readonly labels: ApprovalView['labels'];
}

/**
 * Returns what {@link boundBy} returns, and the call that it binds. The agent reads its own call in clear, and this is for the people in
 * front of an interface: so it is masked by the names of its values.
 */
export function askedCall(
  approval: Parameters<typeof boundBy>[0] & Pick<ApprovalView, 'arguments' | 'labels' | 'toolName'>,
): AskedCall {
  const { toolName, arguments: args, labels, proposal } = approval;
  const hidden = [args, proposal.output].flatMap((value) => hiddenValues(value, sensitivePointers(value)));
  return {
    ...boundBy({ ...approval, proposal: { ...proposal, output: maskByName(proposal.output) } }),
    ...{ toolName, arguments: maskByName(args), hiddenCount: hidden.length, labels },
  };
}

interface Digested {
  readonly proposal: Pick<ApprovalView['proposal'], 'digest'>;
}

/** The members of an approval that its question is made of. */
export type Questioned = Pick<
  ApprovalView,
  'arguments' | 'description' | 'instructions' | 'labels' | 'requestedBy' | 'toolName'
> &
  Pick<Bound, 'proposal'>;

/**
 * The question in words, as plain text that Markdown does not change: the call, and what {@link toldText} says of it. `plain` stands in
 * place of the first line where the interface shows the arguments itself.
 */
export function questionText(asked: Questioned, plain = callWords(asked)): string {
  return linesOf([plain, ...toldLines(asked)]);
}

function callWords({ toolName, arguments: args }: Questioned): string {
  return `Run ${name(toolName)} with ${json(args)}?`;
}

/** The members of an approval that {@link toldText} is made of. */
type Told = Omit<Questioned, 'arguments' | 'toolName'>;

/** The lines of {@link questionText} below the call, for an interface that shows the call itself; empty where there is nothing to say. */
export function toldText(asked: Told): string {
  return linesOf(toldLines(asked));
}

/** The decisions that another user interface can send: none where only signed ones count, which people give in the inbox. */
export function offeredDecisions({
  allowedDecisions,
  requirement: { requireSignature, minAssurance },
}: Pick<ApprovalView, 'allowedDecisions' | 'requirement'>): ApprovalView['allowedDecisions'] {
  return requireSignature === true || minAssurance === 'high' ? [] : allowedDecisions;
}

/**
 * What people decide about besides the request: an edit, an answer in place of the run, and the instructions. The agent's own words come
 * last. The attack: they have a line that reads like one of ours.
 */
function toldLines(asked: Told): readonly string[] {
  const { description, instructions, labels } = asked;
  const place = labelWords(labels);
  return [
    ...(place === '' ? [] : [`Labels: ${inCode(place)}`]),
    ...changedLines(asked),
    ...instructions.map(({ respondedBy, instruction, ifDenied }) => {
      const when = ifDenied === true ? ', if it is denied' : '';
      return `Instruction of ${name(respondedBy)} to the agent${when}: ${json(instruction)}`;
    }),
    ...(description === null ? [] : [`The agent says: ${json(description)}`]),
  ];
}

/** Attack: an edit to other arguments stands behind the question that the agent wrote about its own. */
function changedLines({ proposal: { kind, number, output, proposedBy }, requestedBy }: Told): readonly string[] {
  if (kind === 'answer') return [`It would not run: ${name(proposedBy)} answers in its place: ${json(output)}`];
  if (number === 1) return [];
  // An edit has ended, such as with its withdrawal, and the request of the agent is asked about again.
  if (proposedBy === requestedBy) return ['An edit or an answer before was not approved.'];
  return [`Edited: ${name(proposedBy)} changed the arguments.`];
}

function name(foreign: string): string {
  return inCode(nameWords(foreign));
}

/** A foreign value as one line in which every character is seen, and that Markdown does not change. */
function json(value: unknown): string {
  return inCode(printable(safeJson(value)));
}
