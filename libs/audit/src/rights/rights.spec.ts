import { describe, expect, it } from '@jest/globals';
import type { EventType } from '@countersign/contracts';
import { digestOf } from '../legality/digests.js';
import { approvedStory, callId, grantId, minute, recordedAt, story, use } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';

type Members = Readonly<Record<string, unknown>>;

const entry = (principal: string, more: Members = {}): Members => ({
  ...{ credential: `token:${principal}`, principal, roles: ['approver'], groups: ['ops'], agentIds: [] },
  ...{ rights: digestOf({ principal, ...more }), ...more },
});

/** A change of the configuration as a process records it. */
const changed = (told: Story, change: Members, process = 'p1'): Story =>
  told.append(`system-default-${process}`, 'ConfigurationChanged', {
    ...{ processId: process, configures: 'tokens', digest: null, added: [], changed: [], removed: [], summary: [] },
    ...{ changedAt: minute(0), ...change },
  });

const people = ['alice', 'bob'].map((name) => entry(name));
const agent = entry('agent', { roles: ['agent'], groups: [] });
const worker = entry('worker', { roles: ['resolver'], groups: [] });
const recordedOnly = (added: readonly Members[]): Story => changed(story().policy(), { added });
const recorded = (added: readonly Members[] = people): Story => recordedOnly([agent, worker, ...added]);
const asked = (told: Story = recorded(), request: Members = {}): Story => told.request(request).ask();
/** The same log, once many other events are recorded, a minute each. */
const later = (told: Story, minutes = 31): Story =>
  Array.from({ length: minutes }).reduce<Story>((before) => before.policy(), told);
const proof = (name: string, more: Members = {}): Members => ({
  ...{ credential: `token:${name}`, roles: ['approver'] },
  ...more,
});
const approvedBy = (told: Story, name: string, more: Members = {}): Story =>
  told.respond(name, { ...proof(name), ...more });

const provider = (told: Story): Story =>
  changed(told, { configures: 'oidc', summary: ['issuer https://id.example/', 'client inbox'] });
const chat = (told: Story): Story =>
  changed(told, { configures: 'channels', summary: ['chat (slack)', 'mail (email)'] });
const policyOf = (...approvers: readonly Members[]): Members => {
  const content = { version: 1, rules: [], approvers };
  return { policyVersion: digestOf(content), content };
};
const carol = 'https://id.example#carol';

describe('an act of a person is legal', () => {
  const viaChat = { credential: 'slack:T1:U1', roles: ['approver'], via: 'chat', assurance: 'low' };
  const delegated = { id: 'dora', groups: ['ops'], delegates: [{ to: 'alice', from: minute(-9), until: minute(9) }] };

  it.each<readonly [string, Story]>([
    ['with a credential of the tokens file', approvedBy(asked(), 'alice')],
    [
      'with fewer rights than the record has',
      approvedBy(asked(recorded([entry('alice', { roles: ['approver', 'admin'], groups: ['ops', 'fin'] })])), 'alice'),
    ],
    [
      'with a second credential of the person',
      approvedBy(asked(recorded([...people, entry('alice', { credential: 'token:2' })])), 'alice', {
        credential: 'token:2',
      }),
    ],
    [
      'with the groups of another credential of the person',
      approvedBy(asked(recorded([entry('alice', { groups: [] }), entry('alice', { credential: 'token:2' })])), 'alice'),
    ],
    [
      'with the groups of the channels file',
      approvedBy(
        asked(
          changed(recorded([entry('alice', { groups: [] })]), {
            configures: 'people',
            summary: ['al fin', 'alice fin ops'],
          }),
        ),
        'alice',
      ),
    ],
    [
      'with the groups of the policy',
      approvedBy(
        asked(recorded([entry('alice', { groups: [] })]).policy(policyOf({ id: 'alice', groups: ['ops'] }))),
        'alice',
      ),
    ],
    ['through a channel', asked(chat(recorded())).respond('alice', viaChat)],
    [
      'by mail',
      asked(chat(recorded())).respond('alice', {
        ...viaChat,
        credential: 'mail:a@b.example',
        via: 'mail',
        assurance: 'medium',
      }),
    ],
    [
      'in place of another approver',
      approvedBy(asked(recorded([...people, entry('dora', { groups: [] })]).policy(policyOf(delegated))), 'alice', {
        onBehalfOf: 'dora',
      }),
    ],
    ['by silence', asked().about('ApprovalExpired', { approvalId: `apr_${callId.slice(3)}_1`, expiredAt: minute(10) })],
    [
      'of an agent that cancels',
      asked(recorded([entry('agent', { roles: ['agent'] })])).about('ToolCallCancelled', {
        ...proof('agent', { roles: ['agent'] }),
        approvalId: `apr_${callId.slice(3)}_1`,
        reason: 'no',
        cancelledBy: 'agent',
        cancelledAt: minute(2),
      }),
    ],
    [
      'of the service',
      asked().about('ToolCallCancelled', {
        approvalId: `apr_${callId.slice(3)}_1`,
        reason: 'no',
        cancelledBy: 'countersign',
        cancelledAt: minute(2),
      }),
    ],
  ])('%s', (_, told) => {
    expect(wordsOf(told)).toEqual([]);
  });

  it.each<readonly [string, Story]>([
    ['that runs a call', recorded().request().allow().claim().report()],
    ['of the service that runs a call', recorded().request().allow().claim({ claimedBy: 'countersign-resolver' })],
    [
      'that asks for another agent, with its owner',
      recorded([entry('other', { roles: ['agent'], agentIds: ['a?ent', 'x*'], owner: 'alice' })]).request({
        ...{ requestedBy: 'other', owner: 'alice' },
      }),
    ],
    [
      'that reports what its client did',
      recorded()
        .request({ clientExecuted: true })
        .allow()
        .report({
          ...{ attempt: null, executedBy: 'client', reportedBy: 'agent' },
        }),
    ],
  ])('of a program %s', (_, told) => {
    expect(wordsOf(told)).toEqual([]);
  });

  it('while a request was under way when the file changed', () => {
    const removed = changed(asked(), { removed: [entry('alice')], changedAt: minute(0) });
    expect(wordsOf(approvedBy(removed, 'alice', { respondedAt: minute(2) }))).toEqual([]);
  });

  it('where another process has the credential still', () => {
    const twice = changed(
      changed(recorded(), { added: people }, 'p2'),
      { removed: people, changedAt: minute(-60) },
      'p1',
    );
    expect(wordsOf(approvedBy(asked(twice), 'alice'))).toEqual([]);
  });

  it('with a credential that came back', () => {
    const removed = changed(recorded(), { removed: people, changedAt: minute(-60) });
    expect(wordsOf(approvedBy(asked(changed(removed, { added: people, changedAt: minute(-30) })), 'alice'))).toEqual(
      [],
    );
  });
});

describe('an act of a person is found', () => {
  const gone = changed(recorded(), { removed: [entry('alice')], changedAt: minute(-20) });
  const less = changed(recorded(), { changed: [entry('alice', { groups: ['fin'] })], changedAt: minute(-20) });
  const reader = recorded([entry('alice', { roles: ['auditor'] })]);

  it.each<readonly [string, string, Story]>([
    ['with a credential that never was', 'was not in the tokens file', approvedBy(asked(), 'mallory')],
    [
      'with a credential of another person',
      'is a credential of bob',
      approvedBy(asked(), 'alice', { credential: 'token:bob' }),
    ],
    ['with a credential that was removed', 'was removed', approvedBy(asked(gone), 'alice')],
    [
      'with a credential that is added afterwards',
      'was not in the tokens file',
      changed(approvedBy(asked(recorded([])), 'alice'), { added: people }),
    ],
    [
      'with a group that the person never had',
      'nothing gave alice the group ops',
      approvedBy(asked(recorded([entry('alice', { groups: ['fin'] })])), 'alice'),
    ],
    ['with a group that was taken away', 'nothing gave alice the group ops', approvedBy(asked(less), 'alice')],
    [
      'with the group of another person',
      'nothing gave alice the group ops',
      approvedBy(
        asked(
          changed(recorded([entry('alice', { groups: [] }), entry('bob')]), {
            configures: 'people',
            summary: ['alice fin', 'bob ops'],
          }),
        ),
        'alice',
      ),
    ],
    [
      'without the role that it needs',
      'had not the roles: auditor, (needs approver)',
      approvedBy(asked(reader), 'alice', { roles: ['auditor'] }),
    ],
    ['with a role that the credential has not', 'had not the roles: approver', approvedBy(asked(reader), 'alice')],
    [
      'with more assurance than the credential gives',
      'gives less assurance',
      approvedBy(asked(recorded([entry('alice', { maxAssurance: 'low' })])), 'alice'),
    ],
    ['with a credential of no kind', 'is no credential', approvedBy(asked(), 'alice', { credential: 'alice' })],
    [
      'through a chat that nobody configured',
      'such a channel of slack',
      asked().respond('alice', { ...proof('alice'), credential: 'slack:T1:U1', via: 'chat' }),
    ],
    [
      'through a channel of another type',
      'such a channel of telegram',
      asked(chat(recorded())).respond('alice', {
        ...{ ...proof('alice'), credential: 'telegram:7', via: 'chat', assurance: 'low' },
      }),
    ],
    [
      'by a person of a chat who is no approver',
      'no entry of the tokens file gave mallory',
      asked(chat(recorded())).respond('mallory', { ...proof('x'), credential: 'slack:T1:U1', via: 'chat' }),
    ],
    [
      'with a passkey, by a person who is no approver',
      'no entry of the tokens file gave mallory',
      asked().respond('mallory', { ...proof('x'), credential: 'passkey:x' }),
    ],
    [
      'by a person with the name of the service',
      'was not in the tokens file',
      asked().respond('countersign', proof('countersign')),
    ],
    [
      'with more assurance than an MCP client gives',
      'through mcp gives less assurance',
      approvedBy(asked(), 'alice', { via: 'mcp', assurance: 'medium' }),
    ],
    [
      'with more assurance than Telegram gives',
      'through chat gives less assurance',
      asked(changed(recorded(), { configures: 'channels', summary: ['chat (telegram)'] })).respond('alice', {
        ...{ credential: 'telegram:7', roles: ['approver'], via: 'chat', assurance: 'medium' },
      }),
    ],
    [
      'with a passkey that has signed nothing',
      'has signed nothing',
      asked().respond('alice', { ...proof('x'), credential: 'passkey:x' }),
    ],
    [
      'with a credential whose removal has a time of next year',
      'was removed',
      approvedBy(
        later(
          changed(recorded().request().ask({ expiresAt: null }, { expiresInMs: 'never' }), {
            ...{ removed: [entry('alice')], changedAt: '2027-12-01T00:00:00.000Z' },
          }),
        ),
        'alice',
        { respondedAt: minute(30) },
      ),
    ],
    [
      'that decides with the vote of a person whose only credential was removed long before',
      'gave alice the role approver',
      approvedBy(
        later(
          changed(approvedBy(recorded().request().ask({ expiresAt: null }, { expiresInMs: 'never' }), 'alice'), {
            removed: [entry('alice')],
            changedAt: minute(3),
          }),
        ),
        'bob',
        { respondedAt: minute(30), resolution: 'approved', executeBy: minute(40) },
      ),
    ],
    [
      'that asks without the role agent',
      'gave agent the role agent',
      recordedOnly([entry('agent', { roles: ['resolver'] }), ...people]).request(),
    ],
    ['that asks without an entry', 'gave agent the role agent', recordedOnly(people).request()],
    [
      'that asks for an agent of another principal',
      'lets it request for the agent agent',
      recordedOnly([entry('other', { roles: ['agent'], agentIds: ['a', 'agent-*'] })]).request({
        requestedBy: 'other',
      }),
    ],
    [
      'that asks for an agent without its owner, who could approve it',
      'lets it request for the agent agent of no owner',
      recordedOnly([{ ...agent, owner: 'alice' }]).request(),
    ],
    [
      'that asks once more without the role agent',
      'gave bob the role agent or admin',
      recorded().request().ask({ requestedBy: 'bob' }),
    ],
    [
      'that claims without the role resolver',
      'gave agent the role resolver',
      recorded().request().allow().claim({ claimedBy: 'agent' }),
    ],
    [
      'that reports what a client did, and is not its agent',
      'gave worker the role agent or admin',
      recorded().request({ clientExecuted: true }).allow().report({ attempt: null, executedBy: 'client' }),
    ],
    [
      'of a provider that nobody configured',
      'configured with the provider',
      asked().respond(carol, { ...proof('x'), credential: 'oidc:https://id.example#1' }),
    ],
    [
      'of a provider at another host',
      'configured with the provider',
      asked(provider(recorded())).respond('https://other.example#carol', {
        ...proof('x'),
        credential: 'oidc:https://other.example#1',
      }),
    ],
    [
      'of a provider with a credential of another one',
      'is no credential of',
      asked(provider(recorded())).respond(carol, { ...proof('x'), credential: 'oidc:https://other.example#1' }),
    ],
    [
      'in place of a person who delegated nothing',
      'no policy let alice respond in place of bob',
      approvedBy(asked(), 'alice', { onBehalfOf: 'bob' }),
    ],
    [
      'in place of a person who is no approver',
      'dora was no approver',
      approvedBy(
        asked(
          recorded().policy(
            policyOf({ id: 'dora', groups: ['ops'], delegates: [{ to: 'alice', from: minute(-9), until: minute(9) }] }),
          ),
        ),
        'alice',
        { onBehalfOf: 'dora' },
      ),
    ],
    [
      'in place of another after the delegation ended',
      'no policy let alice respond',
      approvedBy(
        asked(
          recorded([...people, entry('dora')]).policy(
            policyOf({ id: 'dora', delegates: [{ to: 'alice', from: minute(-90), until: minute(-30) }] }),
          ),
        ),
        'alice',
        { onBehalfOf: 'dora' },
      ),
    ],
    [
      'with the groups of a candidate policy',
      'nothing gave alice the group ops',
      approvedBy(
        asked(
          recorded([entry('alice', { groups: [] })]).append('shadow-policy-default', 'ShadowPolicyActivated', {
            ...policyOf({ id: 'alice', groups: ['ops'] }),
            activatedBy: 'operator',
            activatedAt: minute(0),
          }),
        ),
        'alice',
      ),
    ],
  ])('%s', (_, why, told) => {
    expect(wordsOf(told)).toEqual([expect.stringMatching(new RegExp(`^rights: .*${why.replace(/[()]/g, '\\$&')}`))]);
  });

  it('in place of another before the delegation begins, with a time after its record', () => {
    const told = recordedAt(
      minute(5),
      approvedBy(
        recorded([...people, entry('dora')])
          .policy(policyOf({ id: 'dora', delegates: [{ to: 'alice', from: minute(60), until: minute(90) }] }))
          .request()
          .ask({ expiresAt: null }, { expiresInMs: 'never' }),
        'alice',
        { onBehalfOf: 'dora', respondedAt: minute(70) },
      ),
    );
    expect(wordsOf(told)).toEqual([
      expect.stringMatching(/^rights: no policy let alice respond/),
      expect.stringMatching(/^time: /),
    ]);
  });

  const times: Members = {
    revokedAt: minute(1),
    erasedAt: minute(1),
    restoredAt: minute(1),
    acceptedAt: minute(1),
    confirmedAt: minute(1),
  };
  const erased = { subject: 's', keys: [], calls: 0, values: 0, clearValues: 0, reason: null };
  const system = { processId: 'p1' };

  it.each<readonly [string, EventType, Members]>([
    ['subject-s', 'SubjectErased', { ...erased, erasedBy: 'alice' }],
    ['system-default-p1', 'LogRestored', { ...system, principal: 'alice', reason: 'r', checkpoint: null, why: 'w' }],
    ['system-default-p1', 'LogEndAccepted', { ...system, from: 2, to: 1, by: 'alice', reason: 'r' }],
    [
      'runCancellation-1',
      'RunCancelled',
      { runId: 'run', callIds: [], reason: 'r', cancelledBy: 'alice', cancelledAt: minute(1) },
    ],
  ])('in the stream %s: %s without the role admin', (stream, type, data) => {
    const { [timeOf(type)]: at } = times;
    const body = { ...data, ...(at === undefined ? {} : { [timeOf(type)]: at }) };
    expect(wordsOf(recorded().append(stream, type, { ...body, ...proof('alice') }))).toEqual([
      expect.stringContaining('rights: token:alice had not the roles'),
    ]);
    const boss = recorded([entry('alice', { roles: ['admin'] })]);
    expect(wordsOf(boss.append(stream, type, { ...body, ...proof('alice', { roles: ['admin'] }) }))).toEqual([]);
  });

  it('where a grant is created, or revoked, with the credential of another', () => {
    const created = recorded().grant('GrantCreated', proof('alice'));
    expect(wordsOf(created)).toEqual([]);
    expect(wordsOf(recorded().grant('GrantCreated', proof('bob')))).toEqual([expect.stringContaining('not of alice')]);
    const revoked = { grantId: 'x', revokedBy: 'bob', via: 'api', revokedAt: minute(1), ...proof('alice') };
    expect(wordsOf(created.grant('GrantRevoked', revoked)).join()).toContain('not of bob');
  });

  it('but not where the service revoked a grant, since its run was cancelled', () => {
    const revoked = { grantId, revokedBy: 'countersign', via: 'policy', revokedAt: minute(1) };
    expect(wordsOf(recorded().grant('GrantCreated', proof('alice')).grant('GrantRevoked', revoked))).toEqual([]);
  });

  it('where a grant is used whose creator, or second person, is no approver any more', () => {
    const confirmed = { grantId, confirmedBy: 'bob', via: 'api', confirmedAt: minute(1), ...proof('bob') };
    const created = recorded()
      .grant('GrantProposed', { ...proof('alice'), risk: 'high' })
      .grant('GrantConfirmed', confirmed);
    const without = (name: string): Story =>
      changed(created, { removed: [entry(name)], changedAt: minute(-20) }).grant('GrantUsed', use);
    expect(wordsOf(created.grant('GrantUsed', use))).toEqual([]);
    expect(wordsOf(without('alice'))).toEqual([expect.stringContaining('gave alice the role approver')]);
    expect(wordsOf(without('bob'))).toEqual([expect.stringContaining('gave bob the role approver')]);
  });

  it('where somebody signed in with the credential of another', () => {
    const signedIn = (principal: string): Story =>
      recorded().append('system-default-p1', 'SignedIn', {
        ...{ processId: 'p1', principal, with: 'token', signedInAt: minute(0), ...proof('alice') },
      });
    expect(wordsOf(signedIn('alice'))).toEqual([]);
    expect(wordsOf(signedIn('bob'))).toEqual([expect.stringContaining('not of bob')]);
  });

  it('and its vote counts for the rest of the log, so that one lie is one finding', () => {
    const told = approvedBy(asked(), 'mallory').respond('bob', {
      ...proof('bob'),
      ...{ resolution: 'approved', respondedAt: minute(2), executeBy: minute(12) },
    });
    expect(wordsOf(told.claim().report())).toHaveLength(1);
  });
});

describe('what no record can show is said to be unproven', () => {
  const unreadable = (told: Story): Story =>
    told.append('system-default-p2', 'ConfigurationChanged', { processId: 'p2' }, { schemaVersion: 99 });
  const notifier = (told: Story): Story =>
    told.append('system-default-p2', 'ProcessStarted', {
      ...{ processId: 'p2', role: 'notifier', version: '1', commit: null, files: {}, startedAt: minute(0) },
    });
  const viaChat = { credential: 'slack:T1:U1', roles: ['approver'], via: 'chat', assurance: 'low' };
  const poor = recorded([entry('alice', { groups: [] })]);

  it.each<readonly [string, string, Story]>([
    ['unrecorded-rights', 'a log without a log of record', asked(story().policy()).respond('alice')],
    [
      'unrecorded-rights',
      'a vote before the first record',
      changed(asked(story().policy()).respond('alice', proof('alice')), { added: people }),
    ],
    ['unrecorded-rights', 'a record that cannot be read', approvedBy(asked(unreadable(recorded())), 'mallory')],
    [
      'unrecorded-rights',
      'a list of groups that was cut',
      approvedBy(asked(recorded([entry('alice', { groups: ['a'], more: 1 })])), 'alice'),
    ],
    [
      'unrecorded-rights',
      'a list of people that was cut',
      approvedBy(asked(changed(poor, { configures: 'people', summary: ['bob ops', 'and 3 more'] })), 'alice'),
    ],
    [
      'provider-rights',
      'a person of a provider',
      asked(provider(recorded())).respond(carol, { ...proof('x'), credential: 'oidc:https://id.example#1' }),
    ],
    [
      'provider-rights',
      'the groups of a person of a provider who has a token too',
      asked(provider(recorded([entry(carol, { credential: 'token:c', groups: [] })]))).respond(carol, proof('c')),
    ],
    [
      'notifier-rights',
      'the groups of a person of a chat, where a notifier has a policy file',
      asked(notifier(chat(poor))).respond('alice', viaChat),
    ],
    ['no-credential', 'a vote that names no credential', asked().respond('alice')],
  ])('%s: %s', (unproven, _, told) => {
    expect([...new Set(wordsOf(told))].filter((word) => word !== 'set-aside')).toEqual([unproven]);
  });

  it('but not what an event that cannot be read has no say in', () => {
    const told = recorded().append('system-default-p1', 'SignedIn', { processId: 'p1' }, { schemaVersion: 99 });
    expect(wordsOf(approvedBy(asked(told), 'mallory'))).toEqual([
      expect.stringContaining('was not in the tokens file'),
    ]);
  });

  it('late-record: an event that says that it is older than a removal long before it', () => {
    const removed = changed(asked(), { removed: people, changedAt: minute(4) });
    expect(wordsOf(approvedBy(later(removed, 20), 'alice'))).toEqual(['past-end', 'other-time', 'late-record']);
  });

  const windowed = (from: number, until: number): Story =>
    recorded([...people, entry('dora')]).policy(
      policyOf({ id: 'dora', delegates: [{ to: 'alice', from: minute(from), until: minute(until) }] }),
    );

  it.each<readonly [string, Story]>([
    ['a group was taken away', changed(asked(), { changed: [entry('alice', { groups: ['fin'] })] })],
    [
      'the channels file gave no group any more',
      changed(
        changed(asked(recorded([entry('alice', { groups: [] })])), { configures: 'people', summary: ['alice ops'] }),
        { configures: 'people', summary: ['alice fin'] },
      ),
    ],
    [
      'a policy gave no group any more',
      asked(recorded([entry('alice', { groups: [] })]).policy(policyOf({ id: 'alice', groups: ['ops'] }))).policy(),
    ],
  ])('late-record: a vote that says that it is older than the time at which %s', (_, told) => {
    expect(wordsOf(approvedBy(later(told), 'alice'))).toEqual(['past-end', 'other-time', 'late-record']);
  });

  it('late-record: a vote of a delegate that says that it is older than the end of the delegation', () => {
    const told = approvedBy(later(asked(windowed(-9, 2))), 'alice', { onBehalfOf: 'dora' });
    expect(wordsOf(told)).toEqual(['past-end', 'other-time', 'late-record']);
  });

  it('other-time: a vote that says that it is older than its record, so that its deadline was not over', () => {
    expect(wordsOf(approvedBy(later(asked()), 'alice'))).toEqual(['past-end', 'other-time']);
  });

  it('other-time: a report that says that it is older than its record, so that its lease was not over', () => {
    const claimed = approvedBy(asked(), 'alice').claim();
    expect(wordsOf(claimed.report())).not.toContain('other-time');
    expect(wordsOf(later(claimed).report())).toContain('other-time');
  });

  it('set-back: events that are recorded before an event before them', () => {
    const [first, ...others] = approvedBy(asked(), 'alice', { respondedAt: minute(-60) }).events.toReversed();
    const told = story([...others.toReversed(), { ...first!, recordedAt: minute(-60) }]);
    expect(wordsOf(told)).toEqual(['set-back']);
  });

  it('ledger-rights: a request of a program that may have sent it over Kafka', () => {
    const ledger = recordedOnly([worker, ...people]).append('system-default-p2', 'ProcessStarted', {
      ...{ processId: 'p2', role: 'ledger', version: '1', commit: null, files: {}, startedAt: minute(0) },
    });
    expect(wordsOf(approvedBy(asked(ledger), 'alice'))).toEqual(['ledger-rights']);
    expect(wordsOf(asked(recorded([]), { owner: 'bob' })).join()).toContain('agent of bob');
  });

  it('unrecorded-rights: a request for an agent that a list which was cut may have', () => {
    const cut = { ...agent, agentIds: ['other'], principal: 'agent', more: 1 };
    expect(wordsOf(asked(recordedOnly([cut]), { requestedBy: 'agent', owner: 'bob' }))).toEqual(['unrecorded-rights']);
  });

  it('no-credential: a vote without one counts no group that the person never had', () => {
    const { events } = approvedStory();
    const bare = recorded([entry('alice', { groups: ['fin'] })]);
    expect(events.length).toBeGreaterThan(0);
    expect(wordsOf(asked(bare).respond('alice'))).toEqual([
      expect.stringContaining('rights: nothing gave alice the group ops'),
      'no-credential',
    ]);
  });
});

function timeOf(type: EventType): string {
  return (
    { SubjectErased: 'erasedAt', LogRestored: 'restoredAt', LogEndAccepted: 'acceptedAt' }[type as string] ?? 'none'
  );
}
