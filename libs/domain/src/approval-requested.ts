import type { Requirement, ToolCallEvent, Verdict } from '@countersign/contracts';
import { expiryAfter, recordedReminders } from './deadline-times.js';
import { toStored } from './time.js';
import type { ToolCall } from './tool-call.state.js';

/** What people are asked, without its times. */
export interface Question {
  readonly approvalId: string;
  readonly round: number;
  readonly actionDigest: string;
  readonly verdict: Verdict;
  readonly requirement: Requirement;
  readonly reason: string | null;
  readonly description: string | null;
  readonly requestedBy: string;
}

/** The event that asks people. */
export function approvalRequested(question: Question, at: number): ToolCallEvent {
  const { requirement } = question;
  const expiresAt = expiryAfter(requirement, at, requirement.expiresInMs);
  const times = { requestedAt: toStored(at), expiresAt, ...recordedReminders(requirement, at) };
  return { type: 'ApprovalRequested', data: { ...question, ...times } };
}

/** What the requester says about a call. */
export interface Words {
  readonly reason: string | null;
  readonly description: string | null;
}

/** The words alone. */
export function wordsOf({ reason, description }: Words): Words {
  return { reason, description };
}

/** Attack: an agent requests again with more harmless words. The first words stay first, and later ones are added. */
export function withFirstWords<T extends Words & { readonly requestedBy: string }>(
  later: T,
  { request, approvals }: ToolCall,
): T {
  const first = approvals[0] ?? request;
  return {
    ...later,
    reason: added(first.reason, later.reason, later.requestedBy),
    description: added(first.description, later.description, later.requestedBy),
  };
}

function added(first: string | null, later: string | null, by: string): string | null {
  if (first === null || later === null || first === later) return first ?? later;
  return `${first}\n\nAdded later by ${by}: ${later}`;
}
