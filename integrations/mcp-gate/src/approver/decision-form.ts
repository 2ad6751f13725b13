import type { ApprovalView } from '@countersign/contracts';
import {
  batchWords,
  chainWords,
  decidedWords,
  endedProposalWords,
  hiddenIn,
  hiddenWords,
  inCode,
  isReordered,
  labelWords,
  linesOf,
  nameWords,
  orderWarning,
  ownWordsOf,
  printable,
  releaseWords,
  requesterWords,
  requirementWords,
  responderWords,
  safeJson,
  schemaNoteWords,
  writtenMasks,
} from '@countersign/text';
import type { ElicitRequestFormParams } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

/** The form that a person fills in. A blank reason is none. */
export const filledFormSchema = z
  .object({ decision: z.enum(['approve', 'deny']), reason: z.string().default('') })
  .transform(({ decision, reason }) => (reason.trim() === '' ? { decision } : { decision, reason }));

/** A form with more text than this is not read to its end. */
const charactersMax = 16_000;
const wordsMax = 2000;

/**
 * The form with which a person decides: tool, exact arguments, digest and risk. Undefined when the arguments are too long
 * to be shown whole.
 */
export function decisionForm(approval: ApprovalView, url: string): ElicitRequestFormParams | undefined {
  const agreed = partsOf([
    linesOf(cardLines(approval)),
    argumentsTitle(approval),
    jsonBlock(approval.arguments),
    ...answerParts(approval),
    linesOf(instructionLines(approval)),
  ]);
  const warning = agreed.split('\n').some(isReordered) ? `${orderWarning}.` : '';
  if (agreed.length > charactersMax) return undefined;
  return {
    mode: 'form',
    message: partsOf([agreed, warning, linesOf(footLines(approval, url)), linesOf(ownWords(approval))]),
    requestedSchema: {
      type: 'object',
      properties: {
        // Without a default: a person chooses.
        decision: {
          type: 'string',
          title: 'Decision',
          description: afterApproval[approval.proposal.kind],
          enum: offeredBy(approval),
        },
        reason: {
          type: 'string',
          title: 'Reason',
          description: needed(approval) || 'For the record, and for the agent after a denial.',
          maxLength: wordsMax,
        },
      },
      required: ['decision'],
    },
  };
}

const afterApproval = {
  run: 'After "approve" the tool runs once, with exactly these arguments.',
  answer: 'After "approve" the agent gets the answer, and the tool does not run.',
} as const;

function offeredBy({ allowedDecisions }: ApprovalView): ('approve' | 'deny')[] {
  return (['approve', 'deny'] as const).filter((type) => allowedDecisions.includes(type));
}

function needed(approval: ApprovalView): string {
  const types = offeredBy(approval).filter((type) => approval.requirement.requireReason.includes(type));
  return types.length === 0 ? '' : `The rule demands a reason to ${types.join(' and to ')}.`;
}

/** Parts of the message with an empty line between them: in Markdown each begins as what it is. */
function partsOf(parts: readonly string[]): string {
  return parts.filter((part) => part !== '').join('\n\n');
}

/**
 * A value as lines of JSON in front of which nothing can be put. In Markdown they are one block of code, as a part of its own: below a line
 * of text they would be a part of that text, and what is written in them would be obeyed. What could hide is marked.
 */
function jsonBlock(value: unknown): string {
  return safeJson(value, 2).split('\n').map(indented).join('\n');
}

function indented(line: string): string {
  const layout = /^ */.exec(line)?.[0] ?? '';
  return `    ${layout}${printable(line.slice(layout.length))}`;
}

/** The recorded facts. Names are code, and quoted where they could be read as words of the form. */
function cardLines(approval: ApprovalView): readonly string[] {
  const { toolName, agentId, runId, risk, requirement, chain, requestedBy, labels, responses } = approval;
  return [
    `May the tool ${nameInCode(toolName)} run?`,
    `Agent: ${nameInCode(agentId)} in run ${nameInCode(runId)}`,
    ...said('Asked by', requesterWords(approval)),
    ...said('Inside', chainWords(chain, requestedBy)),
    ...said('Labels', labelWords(labels)),
    ...said('Arguments', schemaNoteWords(approval.schemaNotes)),
    `Risk: ${risk ?? 'not rated'}`,
    ...said('Needs', requirementWords(requirement)),
    ...said('Batch', batchWords(approval.batch, approval.callId)),
    ...said('Step', releaseWords(approval)),
    ...said('Not approved before', endedProposalWords(approval.endedProposals)),
    ...responses.flatMap((response) =>
      said('Response', `${responderWords(response)} ${decidedWords[response.decision.type]}`),
    ),
  ];
}

function nameInCode(name: string): string {
  return inCode(nameWords(name));
}

function said(label: string, words: string): readonly string[] {
  return words === '' ? [] : [`${label}: ${inCode(words)}`];
}

/** Says whose arguments these are: those of the agent, or of the person who edited them. */
function argumentsTitle({ proposal: { number, kind, proposedBy } }: ApprovalView): string {
  return number > 1 && kind === 'run' ? `Arguments, as ${nameInCode(proposedBy)} edited them:` : 'Arguments:';
}

/** The answer that people agree to in place of the run. */
function answerParts({ proposal: { kind, output, proposedBy } }: ApprovalView): readonly string[] {
  if (kind === 'run') return [];
  return [`It would not run: ${nameInCode(proposedBy)} proposes this answer in its place:`, jsonBlock(output)];
}

function instructionLines({ instructions }: ApprovalView): readonly string[] {
  return instructions.map(({ respondedBy, instruction, ifDenied }) => {
    const when = ifDenied === true ? ', if it is denied' : '';
    return `Instruction of ${nameInCode(respondedBy)} to the agent${when}: ${quoted(instruction)}`;
  });
}

/** A foreign text, as one line. */
function quoted(text: string): string {
  return inCode(printable(safeJson(text)));
}

function footLines(approval: ApprovalView, url: string): string[] {
  const { arguments: args, hiddenValues, proposal, actionDigest, expiresAt } = approval;
  const hidden = hiddenWords(hiddenIn(approval));
  const written = writtenMasks(args, hiddenValues).size;
  const answered = writtenMasks(proposal.output, proposal.hiddenValues ?? []).size;
  return [
    ...(hidden === '' ? [] : [`${hidden}. The inbox can reveal them.`]),
    ...(written === 0 ? [] : [`${String(written)} of the texts only look like hidden values: the agent wrote them.`]),
    ...(answered === 0 ? [] : [`${String(answered)} of the texts of the answer only look like hidden values.`]),
    `Digest: ${actionDigest}`,
    ...(expiresAt === null ? [] : [`Expires: ${expiresAt}`]),
    `Inbox: ${url}`,
  ];
}

/** The agent's own words come last: they can be false. */
function ownWords(approval: ApprovalView): readonly string[] {
  const lines = ownWordsOf(approval).map(([label, text]) => `${label}: ${quoted(text)}`);
  return lines.length === 0 ? [] : ["The agent's own words (untrusted: judge by the arguments above):", ...lines];
}
