import type { JsonValue, Refusal } from '@countersign/contracts';
import { historyLimits } from './history-limits.js';
import { currentProposal } from './proposal.js';
import type { RespondToApproval } from './tool-call.response-commands.js';
import type { Approval, Vote } from './tool-call.state.js';

/** More than the longest reason and the longest instruction need. */
const wordsBytesMax = 64 * 1024;

/** The refusal of what would go beyond a limit. */
export function tooMany(what: string, limit: number): Refusal {
  return { code: 'too-many', detail: `An approval holds at most ${String(limit)} ${what}.`, extra: { limit } };
}

/** Refuses to add a proposal beyond the limit. */
export function noMoreProposals(approval: Approval): Refusal | undefined {
  const { proposalsMax } = historyLimits;
  return currentProposal(approval).number >= proposalsMax ? tooMany('proposals', proposalsMax) : undefined;
}

/**
 * Returns whether a person who has responded before may respond once more, whatever they say. Attack: one approver fills
 * the history, the objections of others are refused, and silence approves.
 */
export function hasRoom(approval: Approval): boolean {
  const { responsesMax, bytesMax } = historyLimits;
  return approval.votes.length < responsesMax && bytesShown(approval) <= bytesMax - wordsBytesMax;
}

/** Refuses a response beyond the limits. The first one of each person fits, of a front end those of its first 256 responses. */
export function noMoreResponses(
  approval: Approval,
  command: RespondToApproval,
  isFirstOfPerson: boolean,
): Refusal | undefined {
  const { responsesMax, bytesMax } = historyLimits;
  const { votes } = approval;
  const isPlain = command.decision.type === 'approve' || command.decision.type === 'deny';
  if (votes.length === 0 || (isFirstOfPerson && isPlain)) return undefined;
  if (votes.length >= responsesMax) return tooMany('responses', responsesMax);
  return bytesShown(approval) + bytesOfResponse(command) > bytesMax ? tooMany('bytes', bytesMax) : undefined;
}

/**
 * Attack: an approver fills an approval up to its limit byte by byte, and learns how long a hidden value is. What may have
 * hidden values counts in whole KiB.
 */
function bytesOfHidden(value: JsonValue): number {
  return Math.ceil(bytesOf(value) / 1024) * 1024;
}

function bytesShown({ proposals, votes, reason, description }: Approval): number {
  const asked = bytesOfHidden(proposals[0]?.action.arguments ?? null) + bytesOf(reason) + bytesOf(description);
  return votes.reduce((sum, vote) => sum + bytesOfResponse(vote), asked);
}

type Shown = Pick<Vote, 'reason' | 'instruction'> & Pick<Vote | RespondToApproval, 'decision'>;

function bytesOfResponse({ decision, reason, instruction }: Shown): number {
  const words = bytesOf(reason) + bytesOf(instruction);
  switch (decision.type) {
    case 'edit':
      return words + bytesOfHidden(decision.arguments);
    case 'answer':
      return words + bytesOfHidden(decision.output);
    case 'approve':
    case 'deny':
      return words;
  }
}

/** At least how many bytes a JSON value has in UTF-8: escapes are not counted. */
function bytesOf(value: JsonValue): number {
  if (typeof value === 'string') return utf8Length(value) + 2;
  if (typeof value !== 'object' || value === null) return String(value).length;
  const values: readonly JsonValue[] = Object.values(value);
  const keys = Array.isArray(value) ? [] : Object.keys(value);
  const named = keys.reduce((sum, key) => sum + utf8Length(key) + 3, 0);
  return values.reduce<number>((sum, one) => sum + bytesOf(one) + 1, 2 + named);
}

function utf8Length(text: string): number {
  let bytes = text.length;
  for (let at = 0; at < text.length; at += 1) {
    const code = text.charCodeAt(at);
    // A surrogate pair is two units and four bytes.
    if (code > 0x7f) bytes += code > 0x7ff && (code < 0xd800 || code > 0xdfff) ? 2 : 1;
  }
  return bytes;
}
