import type { EventType, Requirement, StoredEvent } from '@countersign/contracts';
import { statedTimeOf } from '../legality/stated-times.js';
import { derivedName, digestOf, digestOfAction } from '../legality/digests.js';

type Members = Readonly<Record<string, unknown>>;

const start = Date.parse('2026-11-27T12:00:00.000Z');

/** A stored time, in minutes after the start of every story. */
export function minute(minutes: number): string {
  return new Date(start + minutes * 60_000).toISOString();
}

/** The judge does not know this form, so that the verdicts of a story may be any. */
export const policy = { version: 2, rules: [] };
export const policyVersion = digestOf(policy);

export const requirement: Requirement = {
  stages: [{ mode: 'quorum', approve: 2, deny: 1, groups: ['ops'] }],
  fourEyes: true,
  allowedDecisions: ['approve', 'edit', 'deny'],
  requireReason: [],
  minAssurance: null,
  risk: null,
  expiresInMs: 600_000,
  executeByMs: 600_000,
  onTimeout: 'deny',
  escalation: [],
  remindersMs: [],
};

export const verdict = (outcome: 'allow' | 'require' | 'block', more: Members = {}): Members => ({
  ...{ outcome, ruleId: 'rule', policyVersion, automatic: outcome !== 'require', why: [] },
  ...more,
});

/** A log as it is written, with legal events unless a member of one is replaced. */
export interface Story {
  readonly events: readonly StoredEvent[];
  readonly append: (stream: string, type: EventType, data: Members, metadata?: Members) => Story;
  readonly policy: (data?: Members) => Story;
  readonly request: (data?: Members, metadata?: Members) => Story;
  readonly allow: (data?: Members) => Story;
  readonly ask: (data?: Members, required?: Partial<Requirement>) => Story;
  readonly respond: (respondedBy: string, data?: Members) => Story;
  readonly edit: (respondedBy: string, args: Members, data?: Members) => Story;
  readonly withdraw: (withdrawnBy: string, data?: Members) => Story;
  readonly about: (type: EventType, data: Members) => Story;
  readonly claim: (data?: Members) => Story;
  readonly report: (data?: Members) => Story;
  readonly grant: (type: EventType, data?: Members) => Story;
  readonly batch: (type: 'BatchBegun' | 'BatchBroken', data?: Members) => Story;
}

export const identity = { tenant: 'default', runId: 'run', toolCallId: 'call' };
export const callId = derivedName('tc_', [identity.tenant, identity.runId, identity.toolCallId]);
export const approvalId = (round = 1): string => `apr_${callId.slice(3)}_${String(round)}`;
export const grantId = derivedName('grn_', ['grant']);
const stream = `toolCall-${callId}`;

const action = { ...identity, agentId: 'agent', toolName: 'refund', toolSchemaHash: null };
export const args = { amount: 5 };
export const salt = '000102030405060708090a0b0c0d0e0f';
export const digest = digestOfAction(action, args, salt);
export const digestOfEdit = (edited: Members): string => digestOfAction(action, edited, salt);

const requested: Members = {
  ...{ ...action, callId, batchId: null, batchMode: 'independent', batchCallIds: [] },
  ...{ arguments: args, toolSchema: null, salt, actionDigest: digest, sensitive: [], needsApproval: false },
  ...{ reason: null, description: null, clientExecuted: false, idempotent: false, labels: {} },
  ...{ requestedBy: 'agent', requestedAt: minute(0) },
};

const responded: Members = {
  ...{ approvalId: approvalId(), decision: { type: 'approve' }, proposal: 1, shown: null, actionDigest: digest },
  ...{ reason: null, instruction: null, onBehalfOf: null, groups: ['ops'], via: 'api', assurance: 'medium' },
  ...{ automatic: false, respondedAt: minute(1), resolution: 'pending', executeBy: null },
};

const terms: Members = {
  ...{ grantId, tenant: 'default', toolName: 'refund', match: { any: true }, runId: null, agentId: null },
  ...{ reason: 'routine', risk: null, maxUses: 1, approvalId: null, createdBy: 'alice', groups: ['ops'] },
  ...{ isListed: false, via: 'api', assurance: 'medium', createdAt: minute(0), expiresAt: minute(30) },
};

/** Data of the first and only use of the grant. */
export const use: Members = { grantId, callId, runId: 'run', nth: 1, usedAt: minute(1) };

/** A member of an all-or-nothing batch of the call and another one. */
export const batched: Members = { batchId: 'b', batchMode: 'all-or-nothing', batchCallIds: [callId, 'tc_other'] };
export const batchOf = (callIds: readonly string[]): string =>
  derivedName('batch-', ['default', 'agent', callIds.toSorted()]);

/** An event of a call is recorded when it says that it happened, and after those before it; another one a minute after them. */
function recordedAfter(last: StoredEvent | undefined, name: string, data: Members): string {
  const before = last?.recordedAt ?? minute(-10);
  const at = name.startsWith('toolCall-') ? statedTimeOf({ data }) : undefined;
  if (at === undefined) return new Date(Date.parse(before) + 60_000).toISOString();
  return at > before ? at : before;
}

/** A story whose last event was recorded at another time than its own. */
export function recordedAt(at: string, { events }: Story): Story {
  return story(events.map((event, index) => (index === events.length - 1 ? { ...event, recordedAt: at } : event)));
}

/** Continues a story; an empty one without `events`. */
export function story(events: readonly StoredEvent[] = []): Story {
  const append: Story['append'] = (name, type, data, metadata = {}) => {
    const revision = events.filter((one) => one.stream === name).length;
    const position = events.length + 1;
    const headers = { tenant: 'default', runId: 'run', schemaVersion: 2, commandId: `command-${String(position)}` };
    const ofCall = { callId: name === stream ? callId : null };
    const event = {
      eventId: `event-${String(position)}`,
      stream: name,
      revision,
      position,
      recordedAt: recordedAfter(events.at(-1), name, data),
    };
    return story([...events, { ...event, type, data, metadata: { ...headers, ...ofCall, ...metadata } }]);
  };
  const about: Story['about'] = (type, data) => append(stream, type, data);
  return {
    events,
    append,
    about,
    policy: (data = {}) =>
      append('policy-default', 'PolicyActivated', {
        ...{ policyVersion, content: policy, activatedBy: 'operator', activatedAt: minute(0) },
        ...data,
      }),
    request: (data = {}, metadata = {}) => append(stream, 'ToolCallRequested', { ...requested, ...data }, metadata),
    allow: (data = {}) => about('ToolCallAllowed', { verdict: verdict('allow'), allowedAt: minute(0), ...data }),
    ask: (data = {}, required = {}) =>
      about('ApprovalRequested', {
        ...{ approvalId: approvalId(), round: 1, actionDigest: digest, verdict: verdict('require') },
        ...{ requirement: { ...requirement, ...required }, reason: null, description: null },
        ...{ requestedBy: 'agent', requestedAt: minute(0), expiresAt: minute(10), ...data },
      }),
    respond: (respondedBy, data = {}) => about('ApprovalResponded', { ...responded, respondedBy, ...data }),
    edit: (respondedBy, edited, data = {}) =>
      about('ApprovalResponded', {
        ...{ ...responded, respondedBy, proposal: 2, actionDigest: digestOfEdit(edited) },
        decision: {
          ...{ type: 'edit', arguments: edited, sensitive: [], salt, verdict: verdict('require') },
          ...{ requirement: null, clock: null },
        },
        ...data,
      }),
    withdraw: (withdrawnBy, data = {}) =>
      about('ResponseWithdrawn', {
        ...{ approvalId: approvalId(), withdrawnBy, ends: 'vote', withdrawnAt: minute(2), ...data },
      }),
    claim: (data = {}) =>
      about('ExecutionClaimed', {
        ...{ attempt: 1, resolverId: 'r', claimedBy: 'worker', actionDigest: digest, idempotencyKey: callId },
        ...{ claimedAt: minute(3), leaseUntil: minute(4), ...data },
      }),
    report: (data = {}) =>
      about('ExecutionSucceeded', {
        ...{ attempt: 1, executedBy: 'resolver', reportedBy: 'worker', reportedAt: minute(3), output: null, ...data },
      }),
    grant: (type, data = {}) =>
      append(
        `grant-${grantId}`,
        type,
        type === 'GrantCreated' || type === 'GrantProposed' ? { ...terms, ...data } : data,
      ),
    batch: (type, data = {}) => {
      const callIds = batched['batchCallIds'] as string[];
      const decided = { callIds, requestedBy: 'agent', callId, begunAt: minute(1) };
      return append(batchOf(callIds), type, { ...decided, ...data });
    },
  };
}

/** A call that two people approved. */
export function approvedStory(): Story {
  return story()
    .policy()
    .request()
    .ask()
    .respond('alice')
    .respond('bob', { resolution: 'approved', respondedAt: minute(2), executeBy: minute(12) });
}
