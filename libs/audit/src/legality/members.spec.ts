import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { eventSchemas } from '@countersign/contracts';

const docs = readFileSync(join(import.meta.dirname, '../../../../docs/audit.md'), 'utf8');
const table = /\n### What no rule compares\n[^]*?\n\| --- \| --- \|\n((?:\|.*\n)+)/.exec(docs)?.[1] ?? '';
const namesIn = (cell: string): readonly string[] => [...cell.matchAll(/`([\w.]+)`/g)].map(([, name = '']) => name);
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
  'grantId tenant toolName match toolSchemaHash runId agentId requestedBy labels risk maxUses approvalId createdBy groups isListed via assurance createdAt expiresAt';
const reported = `attempt executedBy reportedBy reportedAt late ${credential}`;

/** Members that a rule of the audit compares: with other members, other events, or the time of the record. */
const judged: Readonly<Record<string, string>> = {
  ToolCallRequested:
    'callId tenant runId agentId batchMode batchCallIds toolCallId toolName arguments toolSchema toolSchemaHash salt actionDigest needsApproval clientExecuted idempotent labels requestedBy owner onBehalfOf chain requestedAt',
  ToolCallAllowed: 'verdict allowedAt',
  ToolCallBlocked: 'verdict blockedAt',
  ToolCallQueued: 'verdict question queuedAt',
  ToolCallShadowJudged: '',
  ApprovalRequested: `approvalId round actionDigest verdict requirement requestedBy requestedAt expiresAt ${credential}`,
  ApprovalDescribed: `approvalId reason description describedBy describedAt ${credential}`,
  ApprovalResponded: `approvalId decision proposal shown actionDigest reason respondedBy onBehalfOf groups via assurance automatic respondedAt resolution executeBy endedVotes endsRun signature ${credential}`,
  ResponseWithdrawn: `approvalId withdrawnBy castBy ends withdrawnAt ${credential}`,
  ValuesRevealed: `approvalId revealedBy via revealedAt ${credential}`,
  ApprovalExpired: 'approvalId expiredAt',
  ApprovalEscalated: 'approvalId level to requirement expiresAt escalatedAt endedVotes',
  ApproversReminded: 'approvalId nth remindedAt',
  ApprovalLapsed: 'approvalId lapsedAt',
  ToolCallCancelled: `approvalId cancelledBy cancelledAt ${credential}`,
  ToolCallCommitted: 'approvalId committedAt',
  ExecutionClaimed: 'attempt resolverId claimedBy actionDigest idempotencyKey seq claimedAt leaseUntil',
  ExecutionClaimRenewed: 'attempt leaseUntil renewedAt',
  ExecutionSucceeded: reported,
  ExecutionFailed: reported,
  ExecutionLapsed: 'attempt lapsedAt',
  ExecutionOutcomeUnknown: 'attempt unknownSince',
  ExecutionReconciled: `status reconciledBy reconciledAt ${credential}`,
  PolicyActivated: 'policyVersion content activatedAt',
  ShadowPolicyActivated: 'policyVersion content',
  RequestRefused: '',
  RunCancelled: `runId callIds cancelledBy ${credential}`,
  BatchBegun: 'callIds requestedBy callId begunAt',
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
  LogRestored: `processId principal checkpoint from to restoredAt ${credential}`,
  Backup: 'processId',
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
    const own = wordsIn(judged[type]);
    const ofAct = namesIn(common).filter((name) => members.includes(name));
    const whole = (listed.get(type) ?? []).filter((name) => !name.includes('.'));
    expect([...own, ...whole, ...ofAct].toSorted()).toEqual(members.toSorted());
  },
);

const verdict = 'outcome ruleId policyVersion automatic grantId';
const requirement = [
  ...[
    'stages stages.mode stages.approve stages.deny stages.groups fourEyes allowedDecisions requireReason minAssurance',
  ],
  ...[
    'risk expiresInMs executeByMs onTimeout escalation escalation.to escalation.expiresInMs remindersMs businessHours',
  ],
  ...[
    'businessHours.zone businessHours.days businessHours.from businessHours.to batch denyEndsRun requireCheckedSchema',
  ],
  'requireSignature',
].join(' ');
const signature = 'credentialId nonce authenticatorData clientDataJSON signature';
const rights =
  'credential principal roles groups agentIds more owner maxAssurance people people.groups people.maxAssurance';
const inside = (member: string, names: string): string =>
  wordsIn(names)
    .map((name) => `${member}.${name}`)
    .join(' ');

/** Members of the members of events that a rule compares. */
const judgedInside: Readonly<Record<string, string>> = {
  ToolCallRequested: inside('chain', 'callId agentId toolName runId requestedBy owner onBehalfOf'),
  ToolCallAllowed: inside('verdict', verdict),
  ToolCallBlocked: inside('verdict', verdict),
  ToolCallQueued: `${inside('verdict', verdict)} ${inside('question', `approvalId round requirement reason description requestedBy ${inside('requirement', requirement)}`)}`,
  ApprovalRequested: `${inside('verdict', verdict)} ${inside('requirement', requirement)}`,
  ApprovalResponded: `${inside('decision', `type arguments sensitive salt verdict requirement clock clock.expiresAt keepsRequirements output ${inside('verdict', verdict)} ${inside('requirement', requirement)}`)} ${inside('signature', `${signature} displayDigest`)}`,
  ExecutionClaimed: inside('seq', 'n of'),
  GrantProposed: inside('match', 'digest salt when any'),
  GrantCreated: inside('match', 'digest salt when any'),
  PasskeyConfirmed: inside('assertion', signature),
  ConfigurationChanged: `${inside('added', rights)} ${inside('changed', rights)} removed.credential`,
  StopDeclared: inside('scope', 'tenant toolName agentId'),
  LogKeyChanged: inside('mlDsa', 'before after'),
};

it.each(Object.entries(eventSchemas))(
  'each member inside a member of %s is compared by a rule, or listed in docs/audit.md',
  (type, schema) => {
    const names = listed.get(type) ?? [];
    const compared = Object.entries(shapeOf(schema)).filter(([name]) => !names.includes(name));
    const found = compared.flatMap(([name, member]) => pathsIn(member).map((path) => `${name}.${path}`));
    const own = wordsIn(judgedInside[type]);
    expect([...own, ...names.filter((name) => name.includes('.'))].toSorted()).toEqual([...new Set(found)].toSorted());
  },
);

function wordsIn(text = ''): readonly string[] {
  return text.split(' ').filter((word) => word !== '');
}

/** What the test reads of a schema. */
interface Schema {
  readonly shape?: Readonly<Record<string, Schema>>;
  readonly def: { readonly innerType?: Schema; readonly element?: Schema; readonly options?: readonly Schema[] };
}

function shapeOf(schema: unknown): Readonly<Record<string, Schema>> {
  return (schema as Schema).shape ?? {};
}

/** The paths of the members inside a schema. JSON of others, such as arguments and outputs, has none. */
function pathsIn(schema: Schema): readonly string[] {
  const { innerType, element, options = [] } = schema.def;
  const own = Object.entries(shapeOf(schema)).flatMap(([name, member]) => [
    name,
    ...pathsIn(member).map((path) => `${name}.${path}`),
  ]);
  const parts = [innerType, element, ...options].filter((part) => part !== undefined);
  return [...own, ...parts.flatMap(pathsIn)];
}
