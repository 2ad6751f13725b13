import { describe, expect, it } from '@jest/globals';
import {
  approvalId,
  approvedStory,
  args,
  batched,
  callId,
  digest,
  digestOfEdit,
  grantId,
  identity,
  minute,
  requirement,
  salt,
  story,
  use,
  verdict,
} from '../testing/story.js';
import type { Requirement } from '@countersign/contracts';
import type { Story } from '../testing/story.js';
import type { JudgedEvent, LegalityRule } from './judged-event.js';
import { derivedName, digestOf, digestOfAction } from './digests.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

/** What the judge finds, by event. */
function findingsOf(log: Story) {
  return detailsOf(log).map(({ rule, stream, eventId }) => ({ rule, stream, eventId }));
}

function detailsOf({ events }: Story) {
  const legality = createLegality(new Map());
  return events.flatMap((stored) => {
    const { stream, eventId } = stored;
    const event = readStored(stored);
    if ('unreadable' in event) throw new Error(`${eventId}: ${event.unreadable}`);
    return legality.judge(event).illegal.map((one) => ({ ...one, stream, eventId }));
  });
}

const asked = story().policy().request().ask();
const approved = approvedStory();
const claimed = approved.claim();
const expired = asked.about('ApprovalExpired', { approvalId: approvalId(), expiredAt: minute(10) });
const high = { risk: 'high' as const };
const silent = { onTimeout: 'allow' as const };
const bySilence = {
  ...{ automatic: true, via: 'policy', groups: [], assurance: 'low', respondedAt: minute(10) },
  ...{ resolution: 'approved', executeBy: minute(20) },
};
const upward = { onTimeout: 'escalate' as const, escalation: [{ to: ['managers'], expiresInMs: 600_000 }] };
const escalation = {
  ...{ approvalId: approvalId(), level: 1, to: ['managers'], requirement: 0, expiresAt: minute(20) },
  escalatedAt: minute(10),
};
const escalated = story().policy().request().ask({}, upward).about('ApprovalEscalated', escalation);
const approving = { resolution: 'approved', respondedAt: minute(2), executeBy: minute(12) };
const granted = story().policy().grant('GrantCreated');
const edited = asked.edit('alice', { amount: 1 });
/** Alice proposed what is asked, and has lost the right to vote since. */
const lostEdit = edited.respond('bob', {
  ...{ proposal: 2, actionDigest: digestOfEdit({ amount: 1 }), endedVotes: ['alice'] },
});
const silentAfterSame = story()
  .policy()
  .request()
  .ask({}, silent)
  .edit('alice', args, { proposal: 1 })
  .respond('policy', bySilence);
const editOf = (amount: number, change: Partial<Requirement>, expiresAt: string | null) => ({
  ...{ type: 'edit', arguments: { amount }, sensitive: [], salt, verdict: verdict('require') },
  ...{ requirement: { ...requirement, ...change }, clock: { expiresAt } },
});
/** Asked about an edit by the rule of the request and by that of the edit. */
const askedByTwo = (change: Partial<Requirement>, expiresAt: string | null = minute(11)): Story =>
  asked.edit('alice', { amount: 1 }, { decision: editOf(1, change, expiresAt) });
const ofStage = (groups: string[], deny: number) => ({ mode: 'quorum' as const, approve: 2, deny, groups });
const askedTwice = askedByTwo({ stages: [ofStage(['ops', 'sales'], 1), ofStage(['ops'], 1)] });
const askedOfTwoDenials = askedByTwo({ stages: [ofStage(['ops', 'sales'], 2)] });
/** A denial of the edit that ends nothing. */
const denied = (
  told: Story,
  { respondedBy = 'bob', ...data }: { respondedBy?: string; groups?: string[] } = {},
): Story =>
  told.respond(respondedBy, {
    ...{ proposal: 2, actionDigest: digestOfEdit({ amount: 1 }), decision: { type: 'deny' } },
    ...{ respondedAt: minute(2), ...data },
  });
const twoStages = {
  stages: [
    { mode: 'quorum' as const, approve: 1, deny: 1, groups: ['ops'] },
    { mode: 'all-of' as const, approve: 1, deny: 1, groups: ['security', 'legal'] },
  ],
};
const byGrant = { verdict: verdict('allow', { grantId }) };
/** A call that a grant with other terms covers. */
const coveredBy = (terms: Readonly<Record<string, unknown>>): Story =>
  story().policy().grant('GrantCreated', terms).grant('GrantUsed', use).request().allow(byGrant);
const clientRun = story()
  .policy()
  .request({ clientExecuted: true })
  .ask()
  .respond('alice')
  .respond('bob', { resolution: 'approved', respondedAt: minute(2), executeBy: minute(12) });
const unknown = claimed.about('ExecutionOutcomeUnknown', { attempt: 1, reason: 'lost', unknownSince: minute(5) });
const retried = unknown.about('ExecutionReconciled', {
  ...{ status: 'retry', note: 'it did not run', reconciledBy: 'alice', reconciledAt: minute(6) },
});
const idempotent = story()
  .policy()
  .request({ idempotent: true })
  .allow()
  .claim()
  .about('ExecutionLapsed', { attempt: 1, lapsedAt: minute(4) });

const legal: readonly (readonly [name: string, log: Story])[] = [
  ['two people approve, and a worker runs the call', claimed.report()],
  ['one of two people denies', asked.respond('alice', { decision: { type: 'deny' }, resolution: 'denied' })],
  ['one denial of two that a rule needs, which may be the rule that counts it', denied(askedOfTwoDenials)],
  [
    'an edit of an edit keeps the deadline of its rule',
    askedByTwo({}).edit(
      'bob',
      { amount: 2 },
      { proposal: 3, respondedAt: minute(2), decision: editOf(2, {}, minute(11)) },
    ),
  ],
  ['an edit ends the vote before it', asked.respond('bob').edit('alice', { amount: 1 })],
  [
    'two people approve an edit, which runs',
    edited
      .respond('bob', { ...approving, proposal: 2, actionDigest: digestOfEdit({ amount: 1 }) })
      .claim({ actionDigest: digestOfEdit({ amount: 1 }) }),
  ],
  [
    'the author of an edit withdraws it',
    edited.withdraw('alice', { ends: 'proposal' }).respond('bob', { proposal: 3 }),
  ],
  [
    'the author of an edit whose vote was lost ends it',
    lostEdit.withdraw('alice', { ends: 'proposal' }).respond('bob', { proposal: 3 }),
  ],
  [
    'the one for whom a delegate proposed ends it',
    asked
      .edit('alice', { amount: 1 }, { onBehalfOf: 'erin' })
      .respond('bob', { proposal: 2, actionDigest: digestOfEdit({ amount: 1 }), endedVotes: ['alice'] })
      .withdraw('erin', { ends: 'proposal' })
      .respond('bob', { proposal: 3 }),
  ],
  ['an escalation lets managers in', escalated.respond('mia', { groups: ['managers'], respondedAt: minute(11) })],
  ['a call expires and people are asked again', expired.ask({ approvalId: approvalId(2), round: 2 })],
  [
    'silence approves',
    story()
      .policy()
      .request()
      .ask({}, silent)
      .respond('policy', bySilence)
      .claim({ claimedAt: minute(11), leaseUntil: minute(12) }),
  ],
  ['a person says that a lost call may run again', retried.claim({ attempt: 2 }).report({ attempt: 2 })],
  ['an idempotent tool runs twice', idempotent.claim({ attempt: 2 })],
  [
    'a grant covers exactly these arguments',
    coveredBy({
      match: { digest: digestOf([digestOf({ arguments: args, toolName: 'refund' }), salt]), salt },
      labels: {},
      requestedBy: 'agent',
      agentId: 'agent',
      runId: 'run',
    }).claim(),
  ],
  [
    'a client reports late what it ran',
    clientRun.report({ attempt: null, executedBy: 'client', reportedAt: minute(13), late: 'execute-by-over' }),
  ],
  ['a grant covers a call', granted.grant('GrantUsed', use).request().allow(byGrant).claim()],
  [
    'an approved call is not claimed in time',
    approved.about('ApprovalLapsed', { approvalId: approvalId(), lapsedAt: minute(12) }),
  ],
];

/** The last event of each breaks the rule; all before it are legal. */
const broken: readonly (readonly [name: string, rule: LegalityRule, log: Story])[] = [
  ['a claim without an approval', 'claim', asked.claim()],
  [
    'a claim of a denied call',
    'claim',
    asked.respond('alice', { decision: { type: 'deny' }, resolution: 'denied' }).claim(),
  ],
  ['a claim of an expired call', 'claim', expired.claim()],
  ['a claim of other arguments', 'digest', approved.claim({ actionDigest: digestOfEdit({ amount: 500 }) })],
  [
    'a claim of the request where an edit was approved',
    'digest',
    edited.respond('bob', { ...approving, proposal: 2, actionDigest: digestOfEdit({ amount: 1 }) }).claim(),
  ],
  ['a claim after the right to run ended', 'claim', approved.claim({ claimedAt: minute(12), leaseUntil: minute(13) })],
  ['a second claim while the first runs', 'claim', claimed.claim({ attempt: 2 })],
  ['a claim with an old number', 'claim', retried.claim({ attempt: 1 })],
  ['a claim under another idempotency key', 'claim', approvedStory().claim({ idempotencyKey: 'other' })],
  ['a claim that skips a number', 'claim', approved.claim({ attempt: 2 })],
  ['a claim after the outcome', 'claim', claimed.report().claim({ attempt: 2 })],
  [
    'a renewal that moves a lease back',
    'lease',
    claimed.about('ExecutionClaimRenewed', { attempt: 1, leaseUntil: minute(4), renewedAt: minute(3) }),
  ],
  ['an outcome without a claim', 'outcome', approved.report()],
  ['a second outcome', 'outcome', claimed.report().report()],
  ['an outcome of another attempt', 'outcome', claimed.report({ attempt: 2 })],
  ['an outcome by another principal', 'outcome', claimed.report({ reportedBy: 'mallory' })],
  ['a late outcome that claims to be in time', 'outcome', claimed.report({ reportedAt: minute(5) })],
  [
    'an outcome of a client where a resolver runs the tool',
    'outcome',
    approved.report({ attempt: null, executedBy: 'client' }),
  ],
  ['a lost outcome that a process takes up again by itself', 'claim', unknown.claim({ attempt: 2 })],
  [
    'a lapse of a claim whose tool is not idempotent',
    'lease',
    claimed.about('ExecutionLapsed', { attempt: 1, lapsedAt: minute(5) }),
  ],
  [
    'a reconciliation of a known outcome',
    'outcome',
    claimed
      .report()
      .about('ExecutionReconciled', { status: 'failed', note: '', reconciledBy: 'a', reconciledAt: minute(6) }),
  ],
  ['an approval by one of two people', 'resolution', asked.respond('alice', { ...approving })],
  ['an approval that is still pending by its votes', 'resolution', asked.respond('alice').respond('bob')],
  ['a denial that is recorded as pending', 'resolution', asked.respond('alice', { decision: { type: 'deny' } })],
  ...[denied(askedTwice), denied(askedTwice, { groups: ['ops', 'sales'] })].map((log): (typeof broken)[number] => [
    'a denial that is recorded as pending, of two rules each of which one denial ends',
    'resolution',
    log,
  ]),
  [
    'two denials that are recorded as pending, of rules of which one needs two',
    'resolution',
    denied(denied(askedOfTwoDenials), { respondedBy: 'carol' }),
  ],
  [
    'an approval that a person had denied',
    'resolution',
    asked.respond('alice').respond('bob', { decision: { type: 'deny' }, ...approving }),
  ],
  [
    'a second resolution',
    'resolution',
    approved.respond('carol', { decision: { type: 'deny' }, resolution: 'denied' }),
  ],
  [
    'an expiry after the resolution',
    'resolution',
    approved.about('ApprovalExpired', { approvalId: approvalId(), expiredAt: minute(10) }),
  ],
  ['a person who votes twice', 'vote', asked.respond('alice').respond('Alice ', approving)],
  [
    'a delegate who votes for a person with a vote',
    'vote',
    asked.respond('alice').respond('carol', { ...approving, onBehalfOf: 'alice' }),
  ],
  ['a vote of a person who is not asked', 'vote', asked.respond('alice', { groups: ['sales'] })],
  [
    'a vote with too little assurance',
    'vote',
    story().policy().request().ask({}, { minAssurance: 'medium' }).respond('alice', { assurance: 'low' }),
  ],
  [
    'a decision that is not allowed',
    'vote',
    asked.respond('alice', { decision: { type: 'answer', output: 1 }, proposal: 2 }),
  ],
  [
    'a denial without the reason that is required',
    'vote',
    story()
      .policy()
      .request()
      .ask({}, { requireReason: ['deny'] })
      .respond('alice', { decision: { type: 'deny' }, resolution: 'denied' }),
  ],
  [
    'a denial with a reason of which a reader sees nothing',
    'vote',
    story()
      .policy()
      .request()
      .ask({}, { requireReason: ['deny'] })
      .respond('alice', { decision: { type: 'deny' }, resolution: 'denied', reason: '\u200b\u3164' }),
  ],
  ['the requester who approves', 'four-eyes', asked.respond('agent')],
  ['the requester who approves with an invisible character in the name', 'four-eyes', asked.respond('ag\u200bent')],
  ['the requester who approves with letters of double width', 'four-eyes', asked.respond('\uff21\uff27ent')],
  [
    'an erasure in a stream that is none of its subject',
    'stream',
    story().append('notes', 'SubjectErased', {
      ...{
        subject: 's',
        keys: [],
        calls: 0,
        values: 0,
        clearValues: 0,
        erasedBy: 'alice',
        erasedAt: minute(1),
        reason: null,
      },
    }),
  ],
  [
    'the end of a run in a stream that no process looks at',
    'stream',
    story().append('notes', 'RunCancelled', {
      ...{ runId: 'run', callIds: [], reason: 'r', cancelledBy: 'alice', cancelledAt: minute(1) },
    }),
  ],
  [
    'the person for whom the agent acts, who approves',
    'four-eyes',
    story().policy().request({ onBehalfOf: 'alice' }).ask().respond('alice'),
  ],
  [
    'the owner of the agent through a delegate',
    'four-eyes',
    story().policy().request({ owner: 'alice' }).ask().respond('bob', { onBehalfOf: 'alice' }),
  ],
  [
    'an approval by one person of two stages',
    'resolution',
    story()
      .policy()
      .request()
      .ask({}, twoStages)
      .respond('alice', { groups: ['ops', 'security'] })
      .respond('bob', { ...approving, groups: ['security', 'legal'] }),
  ],
  [
    'a vote for arguments that are not asked',
    'digest',
    asked.respond('alice', { actionDigest: digestOfEdit({ amount: 2 }) }),
  ],
  ['a vote for an earlier proposal', 'proposal', edited.respond('bob')],
  ['a vote by a person who was shown another proposal', 'proposal', asked.respond('alice', { shown: digest })],
  [
    'an edit whose digest is another one',
    'digest',
    asked.edit('alice', { amount: 1 }, { actionDigest: digestOfEdit({ amount: 2 }) }),
  ],
  [
    'an edit that the policy blocks',
    'verdict',
    asked.edit(
      'alice',
      { amount: 1 },
      {
        decision: {
          type: 'edit',
          arguments: { amount: 1 },
          sensitive: [],
          salt: '000102030405060708090a0b0c0d0e0f',
          verdict: verdict('block'),
          requirement: null,
          clock: null,
        },
      },
    ),
  ],
  ['an edit without a deadline, where its rule has one', 'deadline', askedByTwo({}, null)],
  ['an edit that waits longer than its rule says', 'deadline', askedByTwo({}, minute(60))],
  [
    'an edit by which what waits gets more time',
    'deadline',
    askedByTwo({}).edit(
      'bob',
      { amount: 2 },
      { proposal: 3, respondedAt: minute(2), decision: editOf(2, {}, minute(12)) },
    ),
  ],
  ['a response after the deadline', 'deadline', asked.respond('alice', { respondedAt: minute(10) })],
  [
    'a right to run for longer than the rule says',
    'resolution',
    asked.respond('alice').respond('bob', { ...approving, executeBy: minute(60) }),
  ],
  [
    'a denial that ends the run without its rule',
    'resolution',
    asked.respond('alice', { decision: { type: 'deny' }, resolution: 'denied', endsRun: true }),
  ],
  [
    'an expiry before the deadline',
    'deadline',
    asked.about('ApprovalExpired', { approvalId: approvalId(), expiredAt: minute(9) }),
  ],
  [
    'an expiry in the place of an escalation',
    'deadline',
    story()
      .policy()
      .request()
      .ask({}, upward)
      .about('ApprovalExpired', { approvalId: approvalId(), expiredAt: minute(10) }),
  ],
  [
    'an escalation to a group of nobody',
    'approval',
    story()
      .policy()
      .request()
      .ask({}, upward)
      .about('ApprovalEscalated', { ...escalation, to: ['sales'] }),
  ],
  [
    'an escalation to nobody, whose people have not agreed',
    'approval',
    story()
      .policy()
      .request()
      .ask({}, upward)
      .about('ApprovalEscalated', { ...escalation, to: [] }),
  ],
  ['an escalation that no rule asks for', 'approval', asked.about('ApprovalEscalated', escalation)],
  ['silence where no rule lets it approve', 'silence', asked.respond('policy', bySilence)],
  [
    'silence about a call of high risk',
    'silence',
    story()
      .policy()
      .request()
      .ask({}, { ...silent, ...high })
      .respond('policy', bySilence),
  ],
  ...Object.entries({
    ...{ respondedBy: 'alice', via: 'inbox', assurance: 'medium', groups: ['ops'], onBehalfOf: 'bob' },
    ...{ instruction: 'pay now', shown: digest, credential: 'token:alice', roles: ['approver'] },
  }).map(([member, value]): (typeof broken)[number] => [
    `silence with the ${member} of a person`,
    'silence',
    story()
      .policy()
      .request()
      .ask({}, silent)
      .respond('policy', { ...bySilence, [member]: value }),
  ]),
  [
    'silence before the deadline',
    'silence',
    story()
      .policy()
      .request()
      .ask({}, silent)
      .respond('policy', { ...bySilence, respondedAt: minute(9), executeBy: minute(19) }),
  ],
  [
    'silence after an edit',
    'silence',
    story()
      .policy()
      .request()
      .ask({}, silent)
      .edit('alice', { amount: 1 })
      .withdraw('alice', { ends: 'proposal' })
      .respond('policy', { ...bySilence, proposal: 3 }),
  ],
  ['silence after an edit that left the arguments as they were', 'silence', silentAfterSame],
  ['the withdrawal of no vote', 'withdrawal', asked.withdraw('alice')],
  ['the end of a request by its requester', 'withdrawal', asked.withdraw('agent', { ends: 'proposal' })],
  [
    'the end of the request that is asked again by its requester',
    'withdrawal',
    edited.withdraw('alice', { ends: 'proposal' }).withdraw('agent', { ends: 'proposal' }),
  ],
  ['the end of the vote alone that proposed, and was lost', 'withdrawal', lostEdit.withdraw('alice')],
  ['the end of an edit by another person', 'withdrawal', lostEdit.withdraw('carol', { ends: 'proposal' })],
  ['a withdrawal that leaves the proposal of its author', 'withdrawal', edited.withdraw('alice')],
  [
    'an unapproved edit that is asked about in the next round',
    'digest',
    edited
      .about('ApprovalExpired', { approvalId: approvalId(), expiredAt: minute(10) })
      .ask({ approvalId: approvalId(2), round: 2, actionDigest: digestOfEdit({ amount: 1 }) }),
  ],
  [
    'a question about a denied call',
    'approval',
    asked
      .respond('alice', { decision: { type: 'deny' }, resolution: 'denied' })
      .ask({ approvalId: approvalId(2), round: 2 }),
  ],
  ['a round that is skipped', 'approval', expired.ask({ approvalId: approvalId(3), round: 3 })],
  [
    "a deadline that is not the rule's",
    'deadline',
    story()
      .policy()
      .request()
      .ask({ expiresAt: minute(60) }),
  ],
  [
    'a request whose digest is another one',
    'digest',
    story()
      .policy()
      .request({ actionDigest: digestOfEdit({ amount: 2 }) }),
  ],
  [
    'a request whose schema has another hash',
    'digest',
    story()
      .policy()
      .request({ toolSchema: { type: 'object' } }),
  ],
  ['a request under the id of another call', 'request', story().policy().request({ runId: 'other' })],
  ['a second request', 'request', asked.request()],
  ['an event without a request', 'request', story().policy().allow()],
  [
    'an allowed call with the verdict of a question',
    'verdict',
    story()
      .policy()
      .request()
      .allow({ verdict: verdict('require') }),
  ],
  [
    'a call that is allowed after it was denied',
    'verdict',
    asked.respond('alice', { decision: { type: 'deny' }, resolution: 'denied' }).allow(),
  ],
  [
    'a cancellation after the claim',
    'claim',
    claimed.about('ToolCallCancelled', { approvalId: null, reason: '', cancelledBy: 'agent', cancelledAt: minute(5) }),
  ],
  ['a lapse in time', 'deadline', approved.about('ApprovalLapsed', { approvalId: approvalId(), lapsedAt: minute(11) })],
  [
    'a call of another tenant in the stream',
    'stream',
    asked.append(
      `toolCall-${callId}`,
      'ToolCallAllowed',
      { verdict: verdict('allow'), allowedAt: minute(1) },
      { tenant: 'other' },
    ),
  ],
  ['a call that no grant covers', 'grant', granted.request().allow(byGrant)],
  [
    'a use of a grant that has none left',
    'grant',
    granted.grant('GrantUsed', use).grant('GrantUsed', { ...use, callId: 'tc_other', nth: 2 }),
  ],
  [
    'a use of a grant that waits for a second person',
    'grant',
    story().policy().grant('GrantProposed', high).grant('GrantUsed', use),
  ],
  [
    'a use of a revoked grant',
    'grant',
    granted
      .grant('GrantRevoked', { grantId, revokedBy: 'alice', via: 'api', revokedAt: minute(1) })
      .grant('GrantUsed', use),
  ],
  ['a use of an expired grant', 'deadline', granted.grant('GrantUsed', { ...use, usedAt: minute(30) })],
  [
    'a grant that its creator confirms',
    'four-eyes',
    story()
      .policy()
      .grant('GrantProposed', high)
      .grant('GrantConfirmed', { grantId, confirmedBy: 'alice', via: 'api', confirmedAt: minute(1) }),
  ],
  ['a grant of high risk without a second person', 'grant', story().policy().grant('GrantCreated', high)],
  [
    'a sequential call that is allowed without a place',
    'turn',
    story()
      .policy()
      .request({ ...batched, batchMode: 'sequential' })
      .allow(),
  ],
  [
    'a sequential call that people are asked about without a place',
    'turn',
    story()
      .policy()
      .request({ ...batched, batchMode: 'sequential' })
      .ask(),
  ],
  ['a claim of a member whose batch has not begun', 'batch', story().policy().request(batched).allow().claim()],
  ['a batch that begins while a member waits', 'batch', story().policy().request(batched).ask().batch('BatchBegun')],
  ['a policy under the hash of another', 'policy', story().policy({ content: { version: 1, default: 'allow' } })],
  [
    'a vote whose headers name another run',
    'stream',
    asked.append(`toolCall-${callId}`, 'ApprovalResponded', asked.respond('alice').events.at(-1)?.data as never, {
      runId: 'other',
    }),
  ],
  [
    'a vote whose headers name another tool',
    'stream',
    asked.append(`toolCall-${callId}`, 'ApprovalResponded', asked.respond('alice').events.at(-1)?.data as never, {
      tool: { toolCallId: 'call', toolName: 'harmless', agentId: 'agent' },
    }),
  ],
  [
    'a request whose headers name another agent',
    'stream',
    story()
      .policy()
      .request({}, { tool: { toolCallId: 'call', toolName: 'refund', agentId: 'other' } }),
  ],
  ['a grant of another run', 'grant', coveredBy({ runId: 'other' })],
  ['a grant of another agent', 'grant', coveredBy({ agentId: 'other' })],
  ['a grant for calls of another principal', 'grant', coveredBy({ requestedBy: 'other' })],
  ['a grant for calls with another label', 'grant', coveredBy({ labels: { cwd: '/tmp' } })],
  ['a grant for calls with another schema', 'grant', coveredBy({ toolSchemaHash: digestOf({}) })],
  ['a grant for other arguments', 'grant', coveredBy({ match: { digest: digestOf(['x', salt]), salt } })],
  ['a grant of another tenant', 'stream', story().policy().grant('GrantCreated', { tenant: 'other' })],
  [
    'a revocation of another grant',
    'stream',
    granted.grant('GrantRevoked', { grantId: 'grn_x', revokedBy: 'alice', via: 'api', revokedAt: minute(1) }),
  ],
  [
    'a call that is requested after the revocation of its grant',
    'grant',
    granted
      .grant('GrantUsed', use)
      .grant('GrantRevoked', { grantId, revokedBy: 'alice', via: 'api', revokedAt: minute(1) })
      .request({ requestedAt: minute(20) })
      .allow({ ...byGrant, allowedAt: minute(20) }),
  ],
  [
    'a call that is requested after the end of its grant',
    'grant',
    granted
      .grant('GrantUsed', use)
      .request({ requestedAt: minute(31) })
      .allow({ ...byGrant, allowedAt: minute(31) }),
  ],
  [
    'a denial that does not end its run, as its rule says',
    'resolution',
    story()
      .policy()
      .request()
      .ask({}, { denyEndsRun: true })
      .respond('alice', { decision: { type: 'deny' }, resolution: 'denied' }),
  ],
  ['a use of another grant', 'stream', granted.grant('GrantUsed', { ...use, grantId: 'grn_x' })],
  [
    'a policy in the stream of another tenant',
    'stream',
    story().append('policy-other', 'PolicyActivated', story().policy().events[0]?.data as never),
  ],
  ['the end of a vote that nobody has', 'vote', asked.respond('alice', { endedVotes: ['bob'] })],
  [
    'an escalation that ends a vote that nobody has',
    'vote',
    story()
      .policy()
      .request()
      .ask({}, upward)
      .about('ApprovalEscalated', { ...escalation, endedVotes: ['bob'] }),
  ],
  [
    'an output of a client after its right to run that claims to be in time',
    'outcome',
    clientRun.report({ attempt: null, executedBy: 'client', reportedAt: minute(13) }),
  ],
  [
    'an output of a client in time that claims to be late',
    'outcome',
    clientRun.report({ attempt: null, executedBy: 'client', late: 'execute-by-over' }),
  ],
  [
    'an event of an older version after a newer one',
    'stream',
    asked.append(
      `toolCall-${callId}`,
      'ApprovalExpired',
      { approvalId: approvalId(), expiredAt: minute(10) },
      { schemaVersion: 1 },
    ),
  ],
  [
    'a claim in a stream of messages',
    'stream',
    story().append('delivery-x', 'ExecutionClaimed', claimed.events.at(-1)?.data as Record<string, unknown>),
  ],
];

describe('the judge of legality', () => {
  it.each(legal)('accepts a log in which %s', (_, log) => {
    expect(findingsOf(log)).toEqual([]);
  });

  it.each(broken)('finds %s (%s)', (_, rule, log) => {
    const { stream, eventId } = log.events.at(-1) ?? { stream: '', eventId: '' };
    expect(findingsOf(log)).toEqual([{ rule, stream, eventId }]);
  });

  it('finds an event that is missing and one that is there twice', () => {
    const { events } = approved;
    const without = story(events.filter(({ eventId }) => eventId !== 'event-2'));
    expect(findingsOf(without)[0]).toMatchObject({ rule: 'revision', eventId: 'event-3' });
    expect(findingsOf(story([...events, ...events.slice(-1)]))[0]).toMatchObject({
      rule: 'revision',
      eventId: 'event-5',
    });
  });

  it.each([
    ['that claim to be erased', { erased: ['/arguments/amount'] }],
    ['whose key claims to be lost', { missing: ['/arguments/amount'] }],
    ['that claim to be sealed, and are not', { sealed: { key: 'key', pointers: ['/arguments/amount'], box: '' } }],
    ['that claim to be sealed, and are not there', { sealed: { key: 'key', pointers: ['/arguments/x'], box: '' } }],
  ])('does not read an event with values %s', (_, metadata) => {
    const { events } = story().request({}, metadata);
    expect(readStored(events[0] as (typeof events)[number])).toHaveProperty('unreadable');
  });

  it.each([
    ['ends the vote of another', asked.respond('alice').respond('bob', { endedVotes: ['alice'] })],
    ['withdraws the vote of another name', asked.respond('alice').withdraw('bob', { castBy: 'alice' })],
  ])('does not say that somebody rightly %s', (_, log) => {
    const legality = createLegality(new Map());
    const judged = log.events.map((stored) => legality.judge(readStored(stored) as JudgedEvent));
    expect(judged.at(-1)).toEqual({ illegal: [], unproven: ['ended-votes', 'unrecorded-rights'] });
  });

  it('says which calls it judged by the rules of an older version after a newer one', () => {
    const old = { schemaVersion: 1 };
    const log = story().policy().request({}, old);
    const legality = createLegality(new Map());
    const judged = log.events.map((stored) => legality.judge(readStored(stored) as JudgedEvent));
    expect(judged.map(({ unproven }) => unproven)).toEqual([[], ['older-rules', 'unrecorded-rights']]);
  });

  it('says where sealed values keep it from computing a digest', () => {
    const sealed = { key: 'key', pointers: ['/arguments/amount', '/salt'], box: '' };
    const { events } = story().request({ arguments: { ...args, amount: '[sealed]' }, salt: '[sealed]' }, { sealed });
    const event = readStored(events[0] as (typeof events)[number]);
    expect('unreadable' in event ? event : createLegality(new Map()).judge(event)).toEqual({
      ...{ illegal: [], unproven: ['sealed-values', 'unrecorded-rights'] },
    });
  });

  it('names the versions of policies that no event has recorded', () => {
    const legality = createLegality(new Map());
    const { events } = story().request().ask({}, { stages: requirement.stages });
    for (const stored of events) {
      const event = readStored(stored);
      if (!('unreadable' in event)) legality.judge(event);
    }
    expect(legality.unrecordedPolicies()).toEqual([verdict('require')['policyVersion']]);
  });

  it('knows the built-in policy of the tenant, which no event needs to record', () => {
    const legality = createLegality(new Map());
    const builtIn = verdict('allow', { policyVersion: digestOf({ version: 1, tenant: 'default', default: 'allow' }) });
    for (const stored of story().request().allow({ verdict: builtIn }).events) {
      const event = readStored(stored);
      if (!('unreadable' in event)) legality.judge(event);
    }
    expect(legality.unknownPolicies()).toEqual([]);
    expect(legality.unrecordedPolicies()).toHaveLength(1);
  });
});

it('silence after an edit that left the arguments as they were names its person', () => {
  expect(detailsOf(silentAfterSame).map(({ detail }) => detail)).toEqual([
    'silence approves what alice had edited, to what was asked already: older versions let it',
  ]);
});

describe('a request inside another call', () => {
  const outer = story().policy().request({ onBehalfOf: 'alice' });
  const { data } = outer.events[1] as { readonly data: object };
  const innerId = derivedName('tc_', ['default', 'run', 'inner']);
  const facts = { ...identity, toolCallId: 'inner', agentId: 'agent', toolName: 'refund', toolSchemaHash: null };
  const link = {
    callId,
    agentId: 'agent',
    toolName: 'refund',
    runId: 'run',
    requestedBy: 'agent',
    onBehalfOf: 'alice',
  };
  const inside = (told: Story, change: object, ...around: readonly object[]): Story =>
    told.append(
      `toolCall-${innerId}`,
      'ToolCallRequested',
      {
        ...{
          ...data,
          onBehalfOf: undefined,
          toolCallId: 'inner',
          callId: innerId,
          chain: [...around, { ...link, ...change }],
        },
        actionDigest: digestOfAction(facts, args, salt),
      },
      { callId: innerId },
    );
  const judged = (told: Story) => {
    const legality = createLegality(new Map());
    const words = JSON.parse(JSON.stringify(told.events)) as Story['events'];
    return words.map((stored) => legality.judge(readStored(stored) as JudgedEvent)).at(-1);
  };

  it('names that call and its people', () => {
    expect(judged(inside(outer, {}))).toMatchObject({ illegal: [], unproven: ['unrecorded-rights'] });
  });

  it.each<readonly [string, object, ...object[]]>([
    ['another requester', { requestedBy: 'other' }],
    ['another tool', { toolName: 'read' }],
    ['nobody for whom it acts', { onBehalfOf: undefined }],
    ['another person for whom it acts', { onBehalfOf: 'bob' }],
    ['a call around that one, which there is not', {}, { ...link, callId: 'tc_other' }],
  ])('is found where it names %s', (_, change, ...around) => {
    expect(judged(inside(outer, change, ...around))?.illegal).toMatchObject([{ rule: 'request' }]);
  });

  it('is unproven where the call around it was not shown', () => {
    expect(judged(inside(story().policy(), {}))?.unproven).toContain('outer-call');
  });
});
