import { columnsOf } from './requirement.js';
import { toEpochMs } from './time.js';
import type { Approval, Vote } from './tool-call.state.js';

/** How fast arguments can be read at most. */
export interface Pace {
  readonly baseMs: number;
  readonly perCharacterMs: number;
  readonly maxMs: number;
}

/** Two seconds to find the button, and 100 characters a second: four times as fast as people read prose. */
export const defaultPace: Pace = { baseMs: 2_000, perCharacterMs: 10, maxMs: 60_000 };

/** The time that it takes at least to read arguments of this many characters, in ms. */
export function readingMs({ baseMs, perCharacterMs, maxMs }: Pace, characters: number): number {
  return Math.min(maxMs, baseMs + perCharacterMs * characters);
}

/** Returns whether an approval came before its arguments could be read. An edit takes typing and is never fast. */
export function isFast({ decision }: Pick<Vote, 'decision'>, tookMs: number, leastMs: number): boolean {
  return decision.type === 'approve' && tookMs < leastMs;
}

/**
 * When the author of a vote could first give it, in epoch ms: after the request, after the earlier stages were
 * satisfied, after an escalation to the voter's groups if nothing else gave the right, and after the last edit or
 * earlier response, because there was something new to read.
 */
export function answerableAtMs(approval: Approval, vote: Vote): number {
  const earlier = approval.votes.slice(0, approval.votes.indexOf(vote));
  const openers = earlier.filter(({ status, stage, decision: { type } }) => {
    const opensStage = status === 'counted' && stage < vote.stage && type !== 'deny';
    return opensStage || type === 'edit' || type === 'answer';
  });
  return Math.max(
    toEpochMs(approval.requestedAt),
    rightSinceMs(approval, vote),
    ...openers.map(({ respondedAt }) => toEpochMs(respondedAt)),
  );
}

/** When an escalation gave the right to vote; 0 when a requirement gave it. */
function rightSinceMs({ proposals, escalations }: Approval, { proposal, stage, groups }: Vote): number {
  const { requirements = [] } = proposals[proposal - 1] ?? {};
  const members = columnsOf(requirements)[stage]?.members ?? [];
  const isOneOf = (wanted: readonly string[]): boolean => wanted.some((group) => groups.includes(group));
  const isAsked = members.some((member) => {
    const asked = requirements[member.requirement]?.stages[member.stage]?.groups ?? null;
    return asked === null || isOneOf(asked);
  });
  if (isAsked) return 0;
  const reached = escalations.find((one) => one.proposal === proposal && isOneOf(one.to));
  return reached === undefined ? 0 : toEpochMs(reached.at);
}
