import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { approvalIdOf, deriveCallId, limits, toolCallStream } from '@countersign/contracts';
import { EventStoreUnavailableError } from '@countersign/event-store';
import * as api from './commands.js';
import { agent, alice, actor, codeOf, done, openPolicyWorld, step } from './testing/policy-world.js';
import type { PolicyWorld } from './testing/policy-world.js';

const yaml = `
rules:
  - { id: pay, match: { tools: [pay] }, then: { require: { batch: all-or-nothing } } }
  - { id: mail, match: { tools: [mail] }, then: { require: { batch: independent } } }
`;

let world: PolicyWorld;
let last = 0;
const id = (): string => `command-${String(++last)}`;
const callId = (toolCallId: string): string => deriveCallId('default', 'run-1', toolCallId);
const request = (body: Parameters<typeof api.requestToolCalls>[2], by = world.commands, commandId = id()) =>
  api.requestToolCalls(by, agent, body, commandId);
const answer = (toolCallId: string, type: 'approve' | 'deny') =>
  api.respond(world.commands, alice, approvalIdOf(callId(toolCallId), 1), { decision: { type } }, id());
const claim = (toolCallId: string) =>
  api.claim(world.commands, actor('worker', 'resolver'), callId(toolCallId), { resolverId: 'w' }, id());
const requestOf = async (toolCallId: string) => {
  const { state } = await world.commands.handler.load(toolCallStream(callId(toolCallId)));
  return state.status === 'recorded' ? state.request : undefined;
};

beforeEach(async () => {
  world = await openPolicyWorld(yaml);
});
afterEach(() => world.close());

describe('a rule that makes the step all-or-nothing', () => {
  it('binds the calls of the step that it does not match as well', async () => {
    done(await request(step('read:a', 'pay:b')));
    expect(codeOf(await claim('a'))).toBe('batch-incomplete');
    done(await answer('b', 'deny'));
    expect(await world.stateOf(callId('a'))).toBe('cancelled');
  });

  it('lets all of them run once all may', async () => {
    done(await request(step('read:a', 'pay:b')));
    done(await answer('b', 'approve'));
    expect([codeOf(await claim('a')), codeOf(await claim('b'))]).toEqual(['done', 'done']);
  });

  it('leaves a step of one call and a step without such a rule as they are', async () => {
    done(await request(step('pay:a')));
    done(await request(step('read:b', 'mail:c')));
    expect(await requestOf('a')).toMatchObject({ batchMode: 'independent', batchCallIds: [] });
    expect(await requestOf('b')).toMatchObject({ batchMode: 'independent' });
    expect(codeOf(await claim('b'))).toBe('done');
  });

  it('never weakens a batch that the agent made all-or-nothing', async () => {
    done(await request({ ...step('read:a', 'mail:b'), batchMode: 'all-or-nothing' }));
    expect(await requestOf('a')).toMatchObject({ batchMode: 'all-or-nothing' });
    expect(await requestOf('a')).not.toHaveProperty('batchRuleId');
    expect(codeOf(await claim('a'))).toBe('batch-incomplete');
  });

  it('records which rule it was', async () => {
    done(await request(step('read:a', 'pay:b')));
    const members = [callId('a'), callId('b')];
    expect(await requestOf('a')).toMatchObject({ batchRuleId: 'pay', batchCallIds: members });
  });

  it('a repeat of the request adds nothing, and so does one under other rules', async () => {
    done(await request(step('read:a', 'pay:b')));
    expect(done(await request(step('read:a', 'pay:b')))).toMatchObject({ isNew: false });
    world.activate('default: allow');
    expect(done(await request(step('read:a', 'pay:b')))).toMatchObject({ isNew: false });
    expect(done(await request(step('read:a')))).toMatchObject({ isNew: false });
  });

  it('a repeat under a stricter rule adds nothing to calls that were recorded as independent', async () => {
    world.activate('default: allow');
    done(await request(step('read:a', 'pay:b')));
    world.activate(yaml);
    expect(done(await request(step('read:a', 'pay:b')))).toMatchObject({ isNew: false });
    expect(codeOf(await claim('a'))).toBe('done');
  });

  it('the retry of a step that was recorded in part completes the same batch, under other rules too', async () => {
    const { store } = world;
    let first: ReturnType<typeof store.append> | undefined;
    const crashing: typeof store.append = async (...append) => {
      if (first === undefined) return (first = store.append(...append));
      await first;
      throw new EventStoreUnavailableError('crashed');
    };
    const broken = world.another({ store: { ...store, append: crashing } });
    await expect(request(step('read:a', 'pay:b', 'read:c'), broken, 'step')).rejects.toThrow('crashed');
    world.activate('default: allow');
    done(await request(step('read:a', 'pay:b', 'read:c'), world.commands, 'step'));
    const lists = await Promise.all(['a', 'b', 'c'].map(async (one) => (await requestOf(one))?.batchCallIds));
    expect(lists).toEqual(Array(3).fill([callId('a'), callId('b'), callId('c')]));
    expect(codeOf(await claim('a'))).toBe('done');
  });

  it('binds the new calls of a step, and no call that was recorded before', async () => {
    done(await request(step('read:a')));
    done(await request(step('read:a', 'read:b', 'pay:c')));
    expect(await requestOf('b')).toMatchObject({ batchCallIds: [callId('b'), callId('c')] });
    expect(codeOf(await claim('a'))).toBe('done');
    expect(codeOf(await claim('b'))).toBe('batch-incomplete');
  });

  it('refuses a step of more calls than such a batch may have, and records none', async () => {
    const many = Array.from({ length: limits.batchMembersMax + 1 }, (_, index) => `pay:${String(index)}`);
    expect(codeOf(await request(step(...many)))).toBe('invalid-request');
    expect(await requestOf('0')).toBeUndefined();
  });
});
