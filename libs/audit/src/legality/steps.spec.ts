import { describe, expect, it } from '@jest/globals';
import type { Requirement, StoredEvent } from '@countersign/contracts';
import { aboutCall, approvalOf, digestOfCall, idOf, requestCall } from '../testing/named-call.js';
import { one, rule, under } from '../testing/policy-story.js';
import type { Log } from '../testing/policy-story.js';
import { grantId, minute, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

type Members = Readonly<Record<string, unknown>>;
type Batch = NonNullable<Requirement['batch']>;

const members = { batchCallIds: ['a', 'b'].map(idOf) };
const all = { ...members, batchMode: 'all-or-nothing' };
const stepOf = (...names: readonly string[]): Members => ({ ...all, batchCallIds: names.map(idOf) });
const inTurn = { ...members, batchMode: 'sequential' };
const none = { batchCallIds: [] };
const batchOfOne = { ...none, batchMode: 'all-or-nothing' };

/** A policy in which the rule `pays` asks about the tool `refund` and says this of its step. */
const policyOf = (batch: Batch): Log => under([rule('pays', { require: { batch } }, { match: { tools: ['refund'] } })]);

const ask = (log: Log, told: Story, name: string, required: Partial<Requirement>, ruleId = 'pays'): Story =>
  aboutCall(told, name, 'ApprovalRequested', {
    ...{ approvalId: approvalOf(name), round: 1, actionDigest: digestOfCall(name), verdict: log.cite(ruleId) },
    ...{ requirement: { ...one, ...required }, reason: null, description: null, requestedBy: 'agent' },
    ...{ requestedAt: minute(0), expiresAt: minute(60) },
  });
const free = { toolName: 'free' };
const allow = (log: Log, told: Story, name: string, more: Members = {}, ruleId = 'default'): Story =>
  aboutCall(told, name, 'ToolCallAllowed', { verdict: log.cite(ruleId, 'allow', more), allowedAt: minute(0) });

/** A step in which only the call about which the rule asks takes its turn. */
const oneInTurn = (): Story => {
  const log = policyOf('sequential');
  const question = { approvalId: approvalOf('a'), round: 1, requirement: { ...one, batch: 'sequential' } };
  const queued = aboutCall(requestCall(log.told, 'a', inTurn), 'a', 'ToolCallQueued', {
    ...{ verdict: log.cite('pays'), queuedAt: minute(0) },
    question: { ...question, reason: null, description: null, requestedBy: 'agent' },
  });
  return allow(log, requestCall(queued, 'b', { ...free, ...members }), 'b');
};

/** A step of a call `a` about which the rule asks, and a free call `b` that is allowed. */
const mixed = (batch: Batch, ofA: Members, ofB: Members): Story => {
  const log = policyOf(batch);
  const asked = ask(log, requestCall(log.told, 'a', ofA), 'a', { batch });
  return allow(log, requestCall(asked, 'b', { ...free, ...ofB }), 'b');
};
/** The same, with the free call recorded first. */
const freeFirst = (batch: Batch, ofA: Members, ofB: Members): Story => {
  const log = policyOf(batch);
  const allowed = allow(log, requestCall(log.told, 'b', { ...free, ...ofB }), 'b');
  return ask(log, requestCall(allowed, 'a', ofA), 'a', { batch });
};
/** A step of two calls about which the rule asks. */
const both = (batch: Batch, ofA: Members, ofB: Members): Story => {
  const log = policyOf(batch);
  const asked = ask(log, requestCall(log.told, 'a', ofA), 'a', { batch });
  return ask(log, requestCall(asked, 'b', ofB), 'b', { batch });
};
/** A step of two calls, both of which a grant covers. */
const covered = (batch: Batch, request: Members): Story => {
  const log = policyOf(batch);
  const uses = ['a', 'b'].map((name, at) => ({
    ...{ grantId, callId: idOf(name), runId: 'run', nth: at + 1, usedAt: minute(0) },
  }));
  const granted = uses.reduce<Story>(
    (told, use) => told.grant('GrantUsed', use),
    log.told.grant('GrantCreated', { maxUses: 2 }),
  );
  return ['a', 'b'].reduce(
    (told, name) => allow(log, requestCall(told, name, request), name, { grantId }, 'pays'),
    granted,
  );
};
/** The free call is asked about with the other one, by the same rule or as its worker wants. */
const joined = (ruleId: string): Story => {
  const log = policyOf('any-asks-all');
  const asked = ask(log, requestCall(log.told, 'a', all), 'a', { batch: 'any-asks-all' });
  const required = ruleId === 'pays' ? { batch: 'any-asks-all' as const } : {};
  const told = requestCall(asked, 'b', { ...all, ...free, needsApproval: true });
  return aboutCall(told, 'b', 'ApprovalRequested', {
    ...{ approvalId: approvalOf('b'), round: 1, actionDigest: digestOfCall('b', 'free'), verdict: log.cite(ruleId) },
    ...{ requirement: { ...one, ...required }, reason: null, description: null, requestedBy: 'agent' },
    ...{ requestedAt: minute(0), expiresAt: minute(60) },
  });
};
const blocked = (): Story => {
  const log = under([
    rule('pays', { require: { batch: 'any-asks-all' } }, { match: { tools: ['refund'] } }),
    rule('no', { block: 'no' }, { match: { tools: ['free'] } }),
  ]);
  const asked = ask(log, requestCall(log.told, 'a', all), 'a', { batch: 'any-asks-all' });
  return aboutCall(requestCall(asked, 'b', { ...all, ...free }), 'b', 'ToolCallBlocked', {
    ...{ verdict: log.cite('no', 'block'), reason: 'no', blockedAt: minute(0) },
  });
};
/** The same log a week later: grants bind their steps since 29 November 2026. */
const aWeekLater = ({ events }: Story): Story =>
  story(JSON.parse(JSON.stringify(events).replaceAll('2026-11-2', '2026-12-2')) as StoredEvent[]);
const words = (told: Story): readonly string[] =>
  wordsOf(told).filter((word) => !['unrecorded-rights', 'asked-with-step', 'other-time', 'off-time'].includes(word));
const apart = { ...members, requestedAt: minute(0.01) };

describe('the calls of a step', () => {
  it.each<readonly [string, Story]>([
    ['are all asked about', joined('pays')],
    ['are blocked, and not asked about', blocked()],
    ['are bound by the rule of one of them', mixed('all-or-nothing', all, all)],
    ['are bound by the rules of both', both('all-or-nothing', all, all)],
    ['are bound where a grant covers them, and nobody is asked', aWeekLater(covered('any-asks-all', all))],
    ['are not of one step where each came by itself', mixed('any-asks-all', none, none)],
    ['are not of one step where a later one repeats a call', freeFirst('all-or-nothing', none, members)],
  ])('%s', (_, told) => {
    expect(words(told)).toEqual([]);
  });

  it.each<readonly [string, Story, string]>([
    ['nobody is asked about the free one', mixed('any-asks-all', all, all), 'asked nobody'],
    ['nobody is asked about the free one, which comes first', freeFirst('any-asks-all', all, all), 'asked nobody'],
    ['the worker alone asks about the free one', joined('needsApproval'), 'asked nobody'],
    ['nothing binds them, and one is free', mixed('any-asks-all', members, members), 'together or not at all'],
    ['the free one is not bound', mixed('all-or-nothing', all, members), 'together or not at all'],
    ['nothing binds them', both('all-or-nothing', members, members), 'together or not at all'],
    [
      'nothing binds them, and a grant covers them',
      aWeekLater(covered('all-or-nothing', members)),
      'together or not at all',
    ],
    ['the free one takes no turns', oneInTurn(), 'take turns'],
    ['none takes turns, and a grant covers them', covered('sequential', members), 'takes no turns'],
    ['each names another step', both('all-or-nothing', stepOf('a', 'c'), all), 'name different steps'],
    [
      'the first names the other, which names a third',
      both('all-or-nothing', all, stepOf('b', 'c')),
      'name different steps',
    ],
    ['one names others alone', both('all-or-nothing', stepOf('b', 'c'), all), 'without itself'],
    ['a single one takes no turns, and a grant covers it', covered('sequential', none), 'takes no turns'],
    ['a single one is called a batch', aWeekLater(covered('sequential', batchOfOne)), 'takes no turns'],
  ])('are found where %s', (_, told, word) => {
    expect(words(told).join()).toContain(word);
  });

  it.each<readonly [string, Story]>([
    ['asked about, and the other one was requested at another time', mixed('any-asks-all', all, apart)],
    ['free, and was requested before the other one', freeFirst('any-asks-all', all, apart)],
    [
      'of another step, and was requested at another time',
      both('all-or-nothing', { ...stepOf('a', 'c'), ...{ requestedAt: minute(0.01) } }, all),
    ],
    ['named by a bound call, and requested alone', mixed('any-asks-all', all, none)],
    ['bound by its rule and not by its request, and the other one came before', both('all-or-nothing', apart, members)],
  ])('are listed where one is %s', (_, told) => {
    expect(words(told)).toContain('step-apart');
    expect(words(told).filter((word) => word !== 'step-apart')).toEqual([]);
  });

  it('are not compared where the others are not shown, or cannot be read', () => {
    const log = policyOf('any-asks-all');
    const told = allow(log, requestCall(log.told, 'b', { ...free, ...members }), 'b');
    const read = told.events
      .map((event) => readStored(event))
      .flatMap((event) => ('unreadable' in event ? [] : [event]));
    const ofProof = createLegality(new Map(), { policies: [], isWhole: false });
    expect(read.flatMap((event) => ofProof.judge(event).unproven)).toContain('step-apart');
    const whole = createLegality(new Map());
    whole.setAside({ stream: `toolCall-${idOf('a')}`, revision: 0, type: 'ToolCallRequested' });
    expect(read.flatMap((event) => whole.judge(event).unproven)).toContain('step-apart');
  });
});
