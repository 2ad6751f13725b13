import { z } from 'zod';
import type { EventType, NewEvent } from './events.js';
import type { JsonObject } from './json.js';

const actorKinds = ['person', 'agent', 'resolver', 'service', 'operator'] as const;
type ActorKind = (typeof actorKinds)[number];

export const eventActorSchema = z
  .strictObject({
    kind: z.enum(actorKinds),
    id: z.string().nullable().meta({ description: 'The principal. Null: the event does not record it.' }),
    onBehalfOf: z.string().nullable().meta({ description: 'The person who is represented. Null: none.' }),
  })
  .meta({ id: 'EventActor', description: 'Who did it.' });

/** Who did what an event records. */
export type EventActor = z.infer<typeof eventActorSchema>;

/** One rule of the table: the first whose condition holds says who did it. */
export interface ActorRule {
  readonly kind: ActorKind;
  /** The member of the data with the principal; a text in quotes is the principal itself; null: it is not recorded. */
  readonly id: string | null;
  readonly onBehalfOf?: string;
  /** Default: always. */
  readonly when?: Condition;
}

interface Condition {
  /** For the guide: "where …". */
  readonly words: string;
  readonly holds: (data: JsonObject) => boolean;
}

const is = (member: string, value: string | boolean): Condition => ({
  words: `\`${member}\` is \`${String(value)}\``,
  holds: (data) => data[member] === value,
});

/** An admin who has no role agent; older events do not record the roles. */
const isNoAgent: Condition = {
  words: '`roles` is without `agent`',
  holds: ({ roles }) => Array.isArray(roles) && !roles.includes('agent'),
};

/** Agents cancel their own calls alone. */
const isOfAnother: Condition = {
  words: '`brokenBy` is not `requestedBy`',
  holds: ({ brokenBy, requestedBy }) => brokenBy !== requestedBy,
};

/** A person has said that they know of the loss. */
const isKnown: Condition = { words: 'there is `by`', holds: ({ by }) => typeof by === 'string' };

/** A person, and not the operator with a backup. */
const isOfPerson: Condition = {
  words: 'there is `principal`',
  holds: ({ principal }) => typeof principal === 'string',
};

const service: ActorRule = { kind: 'service', id: "'countersign'" };
const operator: ActorRule = { kind: 'operator', id: "'operator'" };
const person = (id: string, onBehalfOf?: string): ActorRule => ({
  ...{ kind: 'person', id },
  ...(onBehalfOf !== undefined && { onBehalfOf }),
});
const agent = (id: string): ActorRule => ({ kind: 'agent', id });
const byAdminOrAgent = (id: string): readonly ActorRule[] => [{ ...person(id), when: isNoAgent }, agent(id)];
const cancelled: readonly ActorRule[] = [
  { ...service, when: is('cancelledBy', 'countersign') },
  ...byAdminOrAgent('cancelledBy'),
];
const reported: readonly ActorRule[] = [
  { ...person('reportedBy'), when: isNoAgent },
  { ...agent('reportedBy'), when: is('executedBy', 'client') },
  { kind: 'resolver', id: 'reportedBy' },
];
const policy: readonly ActorRule[] = [{ ...operator, when: is('activatedBy', 'operator') }, person('activatedBy')];

/** Who did what each type of event records. */
export const actorRules: Readonly<Record<EventType, readonly ActorRule[]>> = {
  ToolCallRequested: [{ kind: 'agent', id: 'requestedBy', onBehalfOf: 'onBehalfOf' }],
  ToolCallAllowed: [service],
  ToolCallBlocked: [service],
  ToolCallQueued: [service],
  ToolCallShadowJudged: [service],
  ApprovalRequested: byAdminOrAgent('requestedBy'),
  ApprovalDescribed: byAdminOrAgent('describedBy'),
  ApprovalResponded: [{ ...service, when: is('automatic', true) }, person('respondedBy', 'onBehalfOf')],
  ResponseWithdrawn: [person('withdrawnBy')],
  ValuesRevealed: [person('revealedBy')],
  ApprovalExpired: [service],
  ApprovalEscalated: [service],
  ApproversReminded: [service],
  ApprovalLapsed: [service],
  ToolCallCancelled: cancelled,
  ToolCallCommitted: [service],
  ExecutionClaimed: [{ kind: 'resolver', id: 'claimedBy' }],
  ExecutionClaimRenewed: [{ kind: 'resolver', id: null }],
  ExecutionSucceeded: reported,
  ExecutionFailed: reported,
  ExecutionLapsed: [service],
  ExecutionOutcomeUnknown: [service],
  ExecutionReconciled: [person('reconciledBy')],
  PolicyActivated: policy,
  ShadowPolicyActivated: policy,
  RequestRefused: [service],
  RunCancelled: cancelled,
  BatchBegun: [service],
  BatchBroken: [
    { ...service, when: is('brokenBy', 'countersign') },
    { ...person('brokenBy'), when: is('state', 'denied') },
    { ...person('brokenBy'), when: isOfAnother },
    agent('brokenBy'),
  ],
  GrantProposed: [person('createdBy')],
  GrantCreated: [person('createdBy')],
  GrantConfirmed: [person('confirmedBy')],
  GrantUsed: [service],
  GrantRevoked: [{ ...service, when: is('revokedBy', 'countersign') }, person('revokedBy')],
  NotificationDelivered: [service],
  NotificationUpdated: [service],
  NotificationFailed: [service],
  NotificationClaimed: [service],
  ChannelActivated: [service],
  ChannelSwitchedOff: [service],
  SubjectErased: [person('erasedBy')],
  PasskeyRegistered: [person('principal')],
  PasskeyConfirmed: [person('confirmedBy')],
  PasskeyRemoved: [person('removedBy')],
  ProcessStarted: [operator],
  ConfigurationChanged: [operator],
  ConfigurationRefused: [operator],
  KeysRotated: [operator],
  LogKeyChanged: [operator],
  LogEndAccepted: [{ ...person('by'), when: isKnown }, operator],
  LogRestored: [{ ...person('principal'), when: isOfPerson }, operator],
  Backup: [operator],
  SignedIn: [person('principal')],
  SignInRefused: [service],
  AuditRead: [person('principal')],
  StopDeclared: [person('declaredBy')],
  StopLifted: [person('liftedBy')],
};

/** Who did what the event records, by the table. */
export function actorOfEvent({ type, data }: Pick<NewEvent, 'type' | 'data'>): EventActor {
  const members = data as JsonObject;
  const { kind, id, onBehalfOf } = actorRules[type].find(({ when }) => when?.holds(members) ?? true) ?? service;
  const represented = onBehalfOf === undefined ? undefined : members[onBehalfOf];
  return { kind, id: idIn(members, id), onBehalfOf: typeof represented === 'string' ? represented : null };
}

function idIn(data: JsonObject, id: string | null): string | null {
  if (id === null) return null;
  if (id.startsWith("'")) return id.slice(1, -1);
  const principal = data[id];
  return typeof principal === 'string' ? principal : null;
}
