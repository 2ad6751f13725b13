import type { Requirement, Upcoming } from '@countersign/contracts';
import { expiryAfter } from './deadline-times.js';
import { currentProposal, reminderTimes, runningClocks } from './proposal.js';
import { toEpochMs, toStored } from './time.js';
import type { Approval } from './tool-call.state.js';
import { maySilenceApprove } from './voting.js';

/** Returns the automatic steps of an approval without a response, in order of time. Empty when it has ended. */
export function upcomingOf(approval: Approval): Upcoming[] {
  if (approval.resolution.status !== 'pending') return [];
  const { requirements } = currentProposal(approval);
  const clocks = runningClocks(approval);
  const ends = requirements
    .flatMap((requirement, index) => endsOf(approval, requirement, index, clocks[index]?.expiresAt ?? null))
    .toSorted(byTime);
  const last = ends.find(({ kind }) => kind === 'expiry' || kind === 'automatic-approval');
  const isBefore = ({ at }: Upcoming): boolean => last === undefined || toEpochMs(at) < toEpochMs(last.at);
  const steps = [...remindersOf(approval, ends), ...ends].filter(isBefore).toSorted(byTime);
  return last === undefined ? steps : [...steps, last];
}

function byTime(one: Upcoming, other: Upcoming): number {
  return toEpochMs(one.at) - toEpochMs(other.at);
}

/** No reminder is sent once the first deadline has come. */
function remindersOf(approval: Approval, [first]: readonly Upcoming[]): Upcoming[] {
  const left = reminderTimes(approval).slice(approval.remindersSent - approval.remindersBefore);
  const due = left.filter((atMs) => first === undefined || atMs < toEpochMs(first.at));
  return due.map((atMs) => ({ kind: 'reminder', at: toStored(atMs), to: [] }));
}

/** The deadline of one requirement, and the deadlines of the escalations after it. */
function endsOf(approval: Approval, requirement: Requirement, index: number, expiresAt: string | null): Upcoming[] {
  if (expiresAt === null) return [];
  const { number } = currentProposal(approval);
  const ends: Upcoming[] = [];
  let at = expiresAt;
  if (requirement.onTimeout === 'escalate') {
    const { length } = approval.escalations.filter((one) => one.proposal === number && one.requirement === index);
    for (const { to, expiresInMs } of requirement.escalation.slice(length)) {
      ends.push({ kind: 'escalation', at, to });
      at = expiryAfter(requirement, toEpochMs(at), expiresInMs) ?? at;
    }
  }
  return [...ends, { kind: endKind(approval, requirement), at, to: [] }];
}

function endKind(approval: Approval, { onTimeout }: Requirement): Upcoming['kind'] {
  if (onTimeout === 'hold') return 'hold';
  return onTimeout === 'allow' && maySilenceApprove(approval) ? 'automatic-approval' : 'expiry';
}
