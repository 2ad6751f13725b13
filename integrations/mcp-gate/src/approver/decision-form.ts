import type { ApprovalView } from '@countersign/contracts';
import { hiddenWords, printable, requesterWords, requirementWords, safeJson, writtenMasks } from '@countersign/text';
import type { ElicitRequestFormParams } from '@modelcontextprotocol/sdk/types.js';
import { z } from 'zod';

/** The form that a person fills in. A blank reason is none. */
export const filledFormSchema = z
  .object({ decision: z.enum(['approve', 'deny']), reason: z.string().default('') })
  .transform(({ decision, reason }) => (reason.trim() === '' ? { decision } : { decision, reason }));

/** A form with more text than this is not read to its end. */
const argumentsCharactersMax = 16_000;
const wordsMax = 2000;

/**
 * The form with which a person decides: tool, exact arguments, digest and risk. Undefined when the arguments are too long
 * to be shown whole.
 */
export function decisionForm(approval: ApprovalView, url: string): ElicitRequestFormParams | undefined {
  const args = safeJson(approval.arguments, 2);
  const told = toldLines(approval);
  if (args.length + told.join('').length > argumentsCharactersMax) return undefined;
  return {
    mode: 'form',
    message: [
      ...cardLines(approval),
      'Arguments:',
      ...args.split('\n').map(indented),
      ...told,
      ...footLines(approval, url),
    ].join('\n'),
    requestedSchema: {
      type: 'object',
      properties: {
        // Without a default: a person chooses.
        decision: {
          type: 'string',
          title: 'Decision',
          description: 'After "approve" the tool runs once, with exactly these arguments.',
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

function offeredBy({ allowedDecisions }: ApprovalView): ('approve' | 'deny')[] {
  return (['approve', 'deny'] as const).filter((type) => allowedDecisions.includes(type));
}

function needed(approval: ApprovalView): string {
  const types = offeredBy(approval).filter((type) => approval.requirement.requireReason.includes(type));
  return types.length === 0 ? '' : `The rule demands a reason to ${types.join(' and to ')}.`;
}

/** A line of JSON in front of which nothing can be put; Markdown shows it as it is. What could hide is marked. */
function indented(line: string): string {
  const layout = /^ */.exec(line)?.[0] ?? '';
  return `    ${layout}${printable(line.slice(layout.length))}`;
}

function cardLines(approval: ApprovalView): readonly string[] {
  const { toolName, agentId, risk, requirement, description, reason } = approval;
  return [
    `An agent asks to run the tool ${printable(toolName)}.`,
    `Agent: ${printable(agentId)}, requested by ${requesterWords(approval)}`,
    `Risk: ${risk ?? 'not rated'}`,
    `Needs: ${requirementWords(requirement)}`,
    ...(description === null ? [] : [`Description, in the words of the agent: ${printable(safeJson(description))}`]),
    ...(reason === null ? [] : [`Reason, in the words of the agent: ${printable(safeJson(reason))}`]),
  ];
}

/** The rest of what a person agrees to. */
function toldLines({ proposal, instructions }: ApprovalView): string[] {
  return [
    ...(proposal.kind === 'run'
      ? []
      : [
          `It would not run: ${printable(proposal.proposedBy)} proposes this answer in its place:`,
          ...safeJson(proposal.output, 2).split('\n').map(indented),
        ]),
    ...instructions.map(
      ({ respondedBy, instruction }) =>
        `Instruction of ${printable(respondedBy)} to the agent: ${printable(safeJson(instruction))}`,
    ),
  ];
}

function footLines({ arguments: args, hiddenValues, actionDigest, expiresAt }: ApprovalView, url: string): string[] {
  const written = writtenMasks(args, hiddenValues).size;
  return [
    ...(hiddenValues.length === 0 ? [] : [`${hiddenWords(hiddenValues)}. The inbox can reveal them.`]),
    ...(written === 0 ? [] : [`${String(written)} of the texts only look like hidden values: the agent wrote them.`]),
    `Digest: ${actionDigest}`,
    ...(expiresAt === null ? [] : [`Expires: ${expiresAt}`]),
    `Inbox: ${url}`,
  ];
}
