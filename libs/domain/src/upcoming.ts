import type { Upcoming } from '@countersign/contracts';
import { expiryAfter, reminderTimes } from './deadline-times.js';
import { toEpochMs, toStored } from './time.js';
import type { Approval } from './tool-call.state.js';
import { isDisputed } from './voting.js';

/** Returns the automatic steps of an approval without a response, in order of time. Empty when it has ended. */
export function upcomingOf(approval: Approval): Upcoming[] {
  if (approval.resolution.status !== 'pending') return [];
  const ends = endsOf(approval);
  const [end] = ends;
  const reminders = remindersOf(approval).filter(({ at }) => end === undefined || toEpochMs(at) < toEpochMs(end.at));
  return [...reminders, ...ends];
}

function remindersOf(approval: Approval): Upcoming[] {
  const left = reminderTimes(approval).slice(approval.remindersSent);
  return left.map((atMs) => ({ kind: 'reminder', at: toStored(atMs), to: [] }));
}

/** The deadline, and the deadlines of the escalations after it. */
function endsOf(approval: Approval): Upcoming[] {
  const { requirement, expiresAt, escalations } = approval;
  if (expiresAt === null) return [];
  const ends: Upcoming[] = [];
  let at = expiresAt;
  if (requirement.onTimeout === 'escalate') {
    for (const { to, expiresInMs } of requirement.escalation.slice(escalations.length)) {
      ends.push({ kind: 'escalation', at, to });
      at = expiryAfter(requirement, toEpochMs(at), expiresInMs) ?? at;
    }
  }
  return [...ends, { kind: endKind(approval), at, to: [] }];
}

function endKind(approval: Approval): Upcoming['kind'] {
  const { onTimeout, risk } = approval.requirement;
  if (onTimeout === 'hold') return 'hold';
  // The rule of silence: it approves only without an objection, and below high risk.
  return onTimeout === 'allow' && risk !== 'high' && !isDisputed(approval) ? 'automatic-approval' : 'expiry';
}
