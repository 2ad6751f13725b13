import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { eventSchemas } from '@countersign/contracts';

const docs = readFileSync(join(import.meta.dirname, '../../../../docs/audit.md'), 'utf8');
const table = /\n### What no rule compares\n[^]*?\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(docs)?.[1] ?? '';
const namesIn = (cell: string): readonly string[] => [...cell.matchAll(/`(\w+)`/g)].map(([, name = '']) => name);
const rows = table
  .trim()
  .split('\n')
  .map(
    (row) =>
      row
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()) as [string, string],
  );
const [ofActs, ...byType] = rows;
const common = ofActs?.[1] ?? '';
/** Members that docs/audit.md lists as compared by no rule. */
const listed = new Map(byType.map(([type, members]) => [namesIn(type)[0] ?? '', namesIn(members)]));

const credential = 'credential roles vouchedBy';
const terms =
  'grantId tenant toolName match runId agentId requestedBy labels risk maxUses approvalId createdBy groups via assurance createdAt expiresAt';
const reported = 'attempt executedBy reportedBy reportedAt late';

/** Members that a rule of the audit compares: with other members, other events, or the time of the record. */
const judged: Readonly<Record<string, string>> = {
  ToolCallRequested:
    'callId tenant runId agentId batchMode batchCallIds toolCallId toolName arguments toolSchema toolSchemaHash salt actionDigest needsApproval clientExecuted idempotent labels requestedBy owner onBehalfOf chain requestedAt',
  ToolCallAllowed: 'verdict allowedAt',
  ToolCallBlocked: 'verdict blockedAt',
  ToolCallQueued: 'verdict question queuedAt',
  ToolCallShadowJudged: '',
  ApprovalRequested: 'approvalId round actionDigest verdict requirement requestedBy requestedAt expiresAt',
  ApprovalDescribed: 'approvalId reason description describedBy describedAt',
  ApprovalResponded: `approvalId decision proposal shown actionDigest reason respondedBy onBehalfOf groups via assurance automatic respondedAt resolution executeBy endedVotes endsRun signature ${credential}`,
  ResponseWithdrawn: `approvalId withdrawnBy castBy ends withdrawnAt ${credential}`,
  ValuesRevealed: `approvalId revealedBy via revealedAt ${credential}`,
  ApprovalExpired: 'approvalId expiredAt',
  ApprovalEscalated: 'approvalId level to requirement expiresAt escalatedAt endedVotes',
  ApproversReminded: 'approvalId nth remindedAt',
  ApprovalLapsed: 'approvalId lapsedAt',
  ToolCallCancelled: `approvalId cancelledBy cancelledAt ${credential}`,
  ToolCallCommitted: 'approvalId committedAt',
  ExecutionClaimed: 'attempt claimedBy actionDigest idempotencyKey seq claimedAt leaseUntil',
  ExecutionClaimRenewed: 'attempt leaseUntil renewedAt',
  ExecutionSucceeded: reported,
  ExecutionFailed: reported,
  ExecutionLapsed: 'attempt lapsedAt',
  ExecutionOutcomeUnknown: 'attempt unknownSince',
  ExecutionReconciled: `status reconciledBy reconciledAt ${credential}`,
  PolicyActivated: 'policyVersion content activatedAt',
  ShadowPolicyActivated: 'policyVersion content',
  RequestRefused: '',
  RunCancelled: `callIds cancelledBy ${credential}`,
  BatchBegun: 'callIds requestedBy callId',
  BatchBroken: 'callIds requestedBy callId',
  GrantProposed: `${terms} ${credential}`,
  GrantCreated: `${terms} ${credential}`,
  GrantConfirmed: `grantId confirmedBy via confirmedAt ${credential}`,
  GrantUsed: 'grantId callId runId nth usedAt',
  GrantRevoked: `grantId revokedBy via revokedAt ${credential}`,
  SubjectErased: `subject erasedBy erasedAt ${credential}`,
  PasskeyRegistered: `credentialId principal publicKey rpId origin waitsFor registeredAt ${credential}`,
  PasskeyConfirmed: `credentialId confirmedBy assertion confirmedAt ${credential}`,
  PasskeyRemoved: `credentialId removedBy removedAt ${credential}`,
  ProcessStarted: 'processId role startedAt',
  ConfigurationChanged: 'processId configures digest added changed removed summary changedAt',
  ConfigurationRefused: 'processId',
  KeysRotated: 'processId',
  LogKeyChanged: 'processId before after mlDsa',
  LogEndAccepted: `processId checkpoint by acceptedAt ${credential}`,
  LogRestored: `processId principal checkpoint to restoredAt ${credential}`,
  SignedIn: `processId principal ${credential}`,
  SignInRefused: 'processId',
  AuditRead: `processId principal ${credential}`,
  StopDeclared: `stopId scope declaredBy declaredAt ${credential}`,
  StopLifted: `stopId liftedBy liftedAt ${credential}`,
};

it.each(Object.entries(eventSchemas))(
  'each member of %s is compared by a rule, or listed in docs/audit.md',
  (type, schema) => {
    const members = Object.keys(schema.shape);
    const own = (judged[type] ?? '').split(' ').filter((name) => name !== '');
    const ofAct = namesIn(common).filter((name) => members.includes(name));
    expect([...own, ...(listed.get(type) ?? []), ...ofAct].toSorted()).toEqual(members.toSorted());
  },
);

it('the table of docs/audit.md has no event that there is not', () => {
  expect([...listed.keys()].filter((type) => !Object.keys(eventSchemas).includes(type))).toEqual([]);
});
