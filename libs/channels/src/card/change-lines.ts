import type { ApprovalView, JsonObject } from '@countersign/contracts';
import { lineDiff, nameWords, writtenMasks } from '@countersign/text';
import type { Notice } from '../channel.js';
import { argumentLines } from './argument-lines.js';

/** What a person changed in the arguments, below the arguments that are asked about. */
export interface ChangeLines {
  readonly headline: string;
  /** Lines with `-` for what the agent asked for, and `+` for what stands in its place. */
  readonly lines: readonly string[];
}

const linesMax = 24;
const charactersMax = 800;
const nameMax = 120;

/**
 * Returns what a pending edit changed, or undefined where the arguments are those of the agent. A change that is long is not shown in
 * part: the arguments above are whole, and the inbox has both.
 */
export function changeLines({ call, approval }: Pick<Notice, 'approval' | 'call'>): ChangeLines | undefined {
  if (approval?.state !== 'pending' || approval.proposal.kind !== 'run' || approval.proposal.number === 1)
    return undefined;
  // Until an edit is approved the call has the arguments of the request.
  const { lines, isWhole } = diffOf(call.originalArguments ?? call.arguments, approval);
  if (lines.length === 0) return undefined;
  const by = nameWords(approval.proposal.proposedBy, nameMax);
  return isWhole
    ? { headline: `The agent asked for (-), and ${by} put in its place (+)`, lines }
    : { headline: `${by} changed what the agent asked for`, lines: ['⟦The inbox shows the change⟧'] };
}

function diffOf(request: JsonObject, approval: ApprovalView): { readonly lines: string[]; readonly isWhole: boolean } {
  // A mask in the request is one: who wrote it is not said.
  const hiddenValues = [...writtenMasks(request, [])].map((pointer) => ({ pointer, why: 'name' as const }));
  const before = argumentLines(request, Number.MAX_SAFE_INTEGER, { hiddenValues });
  const after = argumentLines(approval.arguments, Number.MAX_SAFE_INTEGER, { hiddenValues: approval.hiddenValues });
  const lines = lineDiff(before.lines.join('\n'), after.lines.join('\n'))
    .filter(({ kind }) => kind !== '@')
    .map(({ kind, text }) => `${kind} ${text}`);
  const characters = lines.reduce((sum, line) => sum + line.length + 1, 0);
  const isCut = before.isCut || after.isCut;
  return { lines, isWhole: !isCut && lines.length <= linesMax && characters <= charactersMax };
}
