import type { EventType } from '@countersign/contracts';
import type { JudgedEvent } from '../legality/judged-event.js';

/** What a person did, with what the event claims about the person. */
export interface Act {
  readonly by: string;
  /** When; null: the event may be recorded long after it, so any time counts. */
  readonly at: string | null;
  /** The roles that the act needs one of; null: the log of record does not need one. */
  readonly needs: readonly string[] | null;
  /** An agent may do it too, through a channel without credentials. */
  readonly isOfAgents: boolean;
  /** Absent: the event does not say. */
  readonly credential?: string;
  readonly roles?: readonly string[];
  readonly groups?: readonly string[];
  readonly onBehalfOf?: string | null;
  readonly assurance?: string;
  readonly via?: string;
}

interface Rule {
  /** The members with the person and with the time. */
  readonly by: string;
  readonly at: string | null;
  readonly needs: readonly string[] | null;
}

const approver = ['approver'];
const admin = ['admin'];
const canceller = { by: 'cancelledBy', at: null, needs: ['agent', 'admin'] };

/** Acts of people, written from docs/people.md. */
const rules: Partial<Readonly<Record<EventType, Rule>>> = {
  ApprovalResponded: { by: 'respondedBy', at: 'respondedAt', needs: approver },
  ResponseWithdrawn: { by: 'withdrawnBy', at: 'withdrawnAt', needs: approver },
  ValuesRevealed: { by: 'revealedBy', at: 'revealedAt', needs: approver },
  ToolCallCancelled: canceller,
  RunCancelled: canceller,
  ExecutionReconciled: { by: 'reconciledBy', at: 'reconciledAt', needs: admin },
  GrantProposed: { by: 'createdBy', at: 'createdAt', needs: approver },
  GrantCreated: { by: 'createdBy', at: 'createdAt', needs: approver },
  GrantConfirmed: { by: 'confirmedBy', at: 'confirmedAt', needs: approver },
  GrantRevoked: { by: 'revokedBy', at: 'revokedAt', needs: ['approver', 'admin'] },
  SubjectErased: { by: 'erasedBy', at: 'erasedAt', needs: admin },
  PasskeyRegistered: { by: 'principal', at: 'registeredAt', needs: approver },
  PasskeyConfirmed: { by: 'confirmedBy', at: 'confirmedAt', needs: approver },
  PasskeyRemoved: { by: 'removedBy', at: 'removedAt', needs: approver },
  LogEndAccepted: { by: 'by', at: 'acceptedAt', needs: admin },
  LogRestored: { by: 'principal', at: 'restoredAt', needs: admin },
  SignedIn: { by: 'principal', at: null, needs: null },
  AuditRead: { by: 'principal', at: null, needs: null },
};

/** What the event says that a person did; undefined: the service or the operator did it, or nothing is recorded of the person. */
export function actOf({ type, data }: JudgedEvent): Act | undefined {
  const rule = rules[type];
  if (rule === undefined) return undefined;
  const members = data as Readonly<Record<string, unknown>>;
  const by = members[rule.by];
  const isOfService = members['automatic'] === true || by === 'countersign';
  if (typeof by !== 'string' || isOfService) return undefined;
  const at = rule.at === null ? null : (members[rule.at] as string);
  const isOfAgents = rule.needs?.includes('agent') === true;
  return { ...(data as Partial<Act>), by, at, needs: rule.needs, isOfAgents };
}
