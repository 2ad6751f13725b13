import type { ApprovalView } from '@countersign/contracts';
import {
  batchWords,
  chainWords,
  decidedWords,
  endedProposalWords,
  hiddenIn,
  hiddenWords,
  labelWords,
  nameWords,
  ownWordsOf,
  printable,
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
  const agreed = [
    ...cardLines(approval),
    ...proposalLines(approval),
    ...jsonLines(approval.arguments),
    ...toldLines(approval),
  ];
  if (agreed.join('\n').length > charactersMax) return undefined;
  return {
    mode: 'form',
    message: [...agreed, ...footLines(approval, url), ...ownWords(approval)].join('\n'),
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

/** A line of JSON in front of which nothing can be put; Markdown shows it as it is. What could hide is marked. */
function indented(line: string): string {
  const layout = /^ */.exec(line)?.[0] ?? '';
  return `    ${layout}${printable(line.slice(layout.length))}`;
}

function jsonLines(value: unknown): readonly string[] {
  return safeJson(value, 2).split('\n').map(indented);
}

/** The recorded facts. Names are quoted where they could be read as words of the form. */
function cardLines(approval: ApprovalView): readonly string[] {
  const { toolName, agentId, runId, risk, requirement, chain, requestedBy, labels, responses } = approval;
  return [
    `May the tool ${nameWords(toolName)} run?`,
    `Agent: ${nameWords(agentId)} in run ${nameWords(runId)}`,
    `Asked by: ${requesterWords(approval)}`,
    ...said('Inside', chainWords(chain, requestedBy)),
    ...said('Labels', labelWords(labels)),
    ...said('Arguments', schemaNoteWords(approval.schemaNotes)),
    `Risk: ${risk ?? 'not rated'}`,
    `Needs: ${requirementWords(requirement)}`,
    ...said('Batch', batchWords(approval.batch, approval.callId)),
    ...said('Not approved before', endedProposalWords(approval.endedProposals)),
    ...responses.map((response) => `Response: ${responderWords(response)} ${decidedWords[response.decision.type]}`),
  ];
}

function said(label: string, words: string): readonly string[] {
  return words === '' ? [] : [`${label}: ${words}`];
}

/** Says whose arguments these are: those of the agent, or of the person who edited them. */
function proposalLines({ proposal: { number, kind, proposedBy } }: ApprovalView): readonly string[] {
  return [number > 1 && kind === 'run' ? `Arguments, as ${nameWords(proposedBy)} edited them:` : 'Arguments:'];
}

/** The rest of what a person agrees to. */
function toldLines({ proposal, instructions }: ApprovalView): string[] {
  return [
    ...(proposal.kind === 'run'
      ? []
      : [
          `It would not run: ${nameWords(proposal.proposedBy)} proposes this answer in its place:`,
          ...jsonLines(proposal.output),
        ]),
    ...instructions.map(
      ({ respondedBy, instruction, ifDenied }) =>
        `Instruction of ${nameWords(respondedBy)} to the agent${ifDenied === true ? ', if it is denied' : ''}: ${printable(safeJson(instruction))}`,
    ),
  ];
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
  const lines = ownWordsOf(approval).map(([label, text]) => `${label}: ${printable(safeJson(text))}`);
  return lines.length === 0 ? [] : ["The agent's own words (untrusted: judge by the arguments above):", ...lines];
}
