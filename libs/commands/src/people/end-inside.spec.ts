import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { deriveCallId, toolCallStream } from '@countersign/contracts';
import type { RequestToolCalls } from '@countersign/contracts';
import * as api from '../commands.js';
import { actor, agent, codeOf, done, openPolicyWorld } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';

let world: PolicyWorld;
let last = 0;
const id = (): string => `command-${String(++last)}`;
const callId = (toolCallId: string): string => deriveCallId('default', 'run-1', toolCallId);
const other = actor('other', 'agent');

beforeEach(async () => {
  world = await openPolicyWorld('rules: [{ id: all, then: { require: {} } }]');
});
afterEach(() => world.close());

const step = (toolCallId: string, parent?: string): RequestToolCalls => {
  const around = parent === undefined ? {} : { parentCallId: callId(parent) };
  return { runId: 'run-1', calls: [{ toolName: 'delegate', toolCallId, arguments: {}, ...around }] };
};
const request = async (toolCallId: string, parent?: string, by = agent): Promise<void> => {
  done(await api.requestToolCalls(world.commands, by, step(toolCallId, parent), id()));
};
const cancel = async (toolCallId: string): Promise<void> => {
  done(await api.cancelToolCall(world.commands, agent, callId(toolCallId), 'not wanted', id()));
};
const states = (...calls: readonly string[]) => Promise.all(calls.map((one) => world.stateOf(callId(one))));

describe('a call inside a call that was cancelled', () => {
  it('is cancelled, as far as the read model lists it', async () => {
    await request('outer');
    await request('inner', 'outer');
    await request('foreign', 'outer', other);
    await cancel('outer');
    const openCalls = { inside: async () => [{ callId: callId('inner'), requestedBy: 'agent' }] };
    const ports = { commands: world.commands, openCalls };
    await api.endInside(ports, 'default', callId('outer'));
    await api.endInside(ports, 'default', callId('outer'));
    expect(await states('inner', 'foreign')).toEqual(['cancelled', 'awaiting_approval']);
  });

  it.each([
    ['of the same principal is cancelled', agent, 'cancelled'],
    ['of another principal is not: nobody ends the calls of others by a cancellation', other, 'awaiting_approval'],
  ])('and was cancelled while it was being recorded: one %s', async (_, by, state) => {
    await request('outer');
    let isFirst = true;
    const append: PolicyWorld['store']['append'] = async (stream, ...given) => {
      if (isFirst && stream === toolCallStream(callId('inner'))) {
        isFirst = false;
        await cancel('outer');
      }
      return world.store.append(stream, ...given);
    };
    const slow = world.another({ store: { ...world.store, append } });
    done(await api.requestToolCalls(slow, by, step('inner', 'outer'), id()));
    expect(await states('outer', 'inner')).toEqual(['cancelled', state]);
  });

  describe('and had expired before', () => {
    const ask = (ports = world.commands) => api.requestApproval(ports, agent, callId('inner'), {}, id());
    beforeEach(async () => {
      await request('outer');
      const { calls, ...rest } = step('inner', 'outer');
      const asked = { ...rest, calls: calls.map((call) => ({ ...call, expiresInMs: 1_000 })) };
      done(await api.requestToolCalls(world.commands, agent, asked, id()));
      world.clock.advance(1_000);
      await api.fireDue(world.commands, 'default', callId('inner'));
      expect(await states('outer', 'inner')).toEqual(['awaiting_approval', 'expired']);
    });

    it('is not asked about again', async () => {
      await cancel('outer');
      expect(codeOf(await ask())).toBe('already-settled');
      expect(await states('inner')).toEqual(['expired']);
    });

    it('holds nothing new, and nothing inside it is asked about again, after the call around it was cancelled', async () => {
      const { calls, ...rest } = step('innermost', 'inner');
      const asked = { ...rest, calls: calls.map((call) => ({ ...call, expiresInMs: 1_000 })) };
      done(await api.requestToolCalls(world.commands, agent, asked, id()));
      world.clock.advance(1_000);
      await api.fireDue(world.commands, 'default', callId('innermost'));
      await cancel('outer');
      const again = await api.requestApproval(world.commands, agent, callId('innermost'), {}, id());
      expect(codeOf(again)).toBe('already-settled');
      const late = await api.requestToolCalls(world.commands, agent, step('late', 'inner'), id());
      expect(codeOf(late)).toBe('already-settled');
    });

    it('is asked about while the call around it is open', async () => {
      done(await ask());
      expect(await states('inner')).toEqual(['awaiting_approval']);
    });

    it('is cancelled when the other one is cancelled while people are asked', async () => {
      let isFirst = true;
      const append: PolicyWorld['store']['append'] = async (stream, ...given) => {
        if (isFirst && stream === toolCallStream(callId('inner'))) {
          isFirst = false;
          await cancel('outer');
        }
        return world.store.append(stream, ...given);
      };
      expect(codeOf(await ask(world.another({ store: { ...world.store, append } })))).toBe('already-settled');
      expect(await states('inner')).toEqual(['cancelled']);
    });
  });

  it('is recorded after one look at each call around it', async () => {
    await request('outer');
    await request('inner', 'outer');
    const looked: string[] = [];
    const { handler } = world.commands;
    const watching: typeof handler = {
      ...handler,
      load: (stream) => (looked.push(stream), handler.load(stream)),
      look: (stream) => (looked.push(stream), handler.look(stream)),
    };
    const ports = { ...world.commands, handler: watching };
    done(await api.requestToolCalls(ports, agent, step('innermost', 'inner'), id()));
    // Before the record and after it: the calls around it may be cancelled meanwhile.
    const own = toolCallStream(callId('innermost'));
    const before = looked.slice(0, looked.indexOf(own));
    expect(before.toSorted()).toEqual([callId('inner'), callId('outer')].map(toolCallStream).toSorted());
  });

  it('is not recorded any more', async () => {
    await request('outer');
    await cancel('outer');
    expect(codeOf(await api.requestToolCalls(world.commands, agent, step('late', 'outer'), id()))).toBe(
      'already-settled',
    );
  });
});
