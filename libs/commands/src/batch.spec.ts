import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readable } from '@countersign/event-store/testing';
import { approvalIdOf, toolCallStream } from '@countersign/contracts';
import type { NewEvent, RequestedCall } from '@countersign/contracts';
import { callState } from '@countersign/domain';
import { EventStoreUnavailableError, openEmbeddedEventStore } from '@countersign/event-store';
import type { EmbeddedEventStore, EventStore } from '@countersign/event-store';
import { createLivePolicies, loadPolicy } from '@countersign/policy';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import type { Actor } from './actor.js';
import * as api from './commands.js';
import type { CommandPorts } from './ports.js';
import type { Result } from './result.js';
import { actor, agent, alice } from './testing/policy-world.js';
import { createWriteSide } from './write-side.js';

const worker = actor('worker', 'resolver');
const bob = actor('bob', 'approver');
const dora = actor('dora', 'approver');
const hourMs = 60 * 60 * 1000;

let folder: string;
let store: EmbeddedEventStore;
let clock: ReturnType<typeof createVirtualClock>;
let commands: CommandPorts;
let last = 0;

const id = (): string => `command-${String(++last)}`;

/** A separate process over the store, or over a test's wrapper of it. */
const processOver = (over: EventStore): CommandPorts =>
  createWriteSide({
    store: over,
    tools: { find: () => undefined },
    ids: createSystemIds(),
    log: createSilentLog(),
  });

/** The store of a process in which something happens just before it appends events of a type. */
function before(type: NewEvent['type'], act: () => Promise<unknown>): EventStore {
  let acted: Promise<unknown> | undefined;
  return {
    ...store,
    append: async (stream, revision, events) => {
      if (events.some((event) => event.type === type)) await (acted ??= act());
      return store.append(stream, revision, events);
    },
  };
}

/** A process that crashes just before it appends events of a type. */
const crashingBefore = (type: NewEvent['type']): CommandPorts =>
  processOver(before(type, () => Promise.reject(new EventStoreUnavailableError('the process has crashed'))));

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-batch-'));
  clock = createVirtualClock();
  store = await openEmbeddedEventStore({ folder, clock, log: createSilentLog() });
  commands = processOver(store);
});

afterEach(async () => {
  await store.close();
  rmSync(folder, { recursive: true });
});

function done<T>(outcome: Result<T>): T {
  if (outcome.status !== 'done') throw new Error(`rejected: ${JSON.stringify(outcome.refusal)}`);
  return outcome.value;
}

const codeOf = (outcome: Result<unknown>): string => (outcome.status === 'refused' ? outcome.refusal.code : 'done');

type Call = Partial<RequestedCall> & { readonly toolCallId: string };

const bodyOf = (calls: readonly Call[], runId = 'run-1') => ({
  runId,
  batchMode: 'all-or-nothing' as const,
  calls: calls.map((call) => ({ toolName: 'get_file', arguments: {}, ...call })),
});

/** A batch of two calls, both allowed by default. */
async function pair(first: Partial<RequestedCall> = {}, second: Partial<RequestedCall> = {}, runId = 'run-1') {
  const calls = [
    { toolCallId: 'a', ...first },
    { toolCallId: 'b', ...second },
  ];
  const { callIds } = done(await api.requestToolCalls(commands, agent, bodyOf(calls, runId), id()));
  const [a = '', b = ''] = callIds;
  return { a, b };
}

const claim = (callId: string, by = commands) => api.claim(by, worker, callId, { resolverId: 'w' }, id());
const cancel = (callId: string, by = commands) => api.cancelToolCall(by, agent, callId, 'not needed', id());
const ask = (callId: string, by = commands) => api.requestApproval(by, agent, callId, { reason: 'unsure' }, id());
const respondAs = (person: Actor, callId: string, type: 'approve' | 'deny', by = commands, commandId = id()) => {
  const reason = type === 'deny' ? { reason: 'too risky' } : {};
  return api.respond(by, person, approvalIdOf(callId, 1), { decision: { type }, ...reason }, commandId);
};
const answer = (callId: string, type: 'approve' | 'deny', by = commands) => respondAs(alice, callId, type, by);

async function stateOf(callId: string) {
  const call = await api.findCall(commands, 'default', callId);
  return call === undefined ? 'missing' : callState(call);
}

const typesOf = async (prefix: string) =>
  (await store.readAll(0, 1000)).filter(({ stream }) => stream.startsWith(prefix)).map(({ type }) => type);

describe('a batch that has begun', () => {
  it('can no longer be called off in any way', async () => {
    const { a, b } = await pair();
    done(await claim(a));
    expect(codeOf(await cancel(b))).toBe('batch-begun');
    expect(codeOf(await ask(b))).toBe('batch-begun');
    expect(await stateOf(b)).toBe('allowed');
    expect(codeOf(await claim(b))).toBe('done');
    expect(await typesOf('batch-')).toEqual(['BatchBegun']);
  });

  it('has begun with the output of a client, which a batch that is incomplete does not take', async () => {
    const { a, b } = await pair({ clientExecuted: true }, { needsApproval: true });
    const submit = () => api.submitClientOutput(commands, agent, a, { status: 'succeeded', output: 1 }, id());
    expect(codeOf(await submit())).toBe('batch-incomplete');
    done(await answer(b, 'approve'));
    expect(codeOf(await submit())).toBe('done');
    expect(codeOf(await cancel(b))).toBe('batch-begun');
  });

  it('does not lapse: an approved member stays claimable after executeBy', async () => {
    const { a, b } = await pair({}, { needsApproval: true });
    done(await answer(b, 'approve'));
    done(await claim(a));
    await clock.advanceAsync(2 * hourMs);
    expect(await api.fireDue(commands, 'default', b)).toBeGreaterThan(0);
    expect(await stateOf(b)).toBe('approved');
    expect(await api.fireDue(commands, 'default', b)).toBeNull();
    expect(codeOf(await claim(b))).toBe('done');
  });

  it('lets a member be claimed after executeBy also before that is recorded', async () => {
    const { a, b } = await pair({}, { needsApproval: true });
    done(await answer(b, 'approve'));
    done(await claim(a));
    await clock.advanceAsync(2 * hourMs);
    expect(codeOf(await claim(b))).toBe('done');
  });

  it('has still begun after a crash before its claim: any worker may claim, and a cancel is refused', async () => {
    const { a, b } = await pair();
    await expect(claim(a, crashingBefore('ExecutionClaimed'))).rejects.toThrow('crashed');
    expect(await typesOf('batch-')).toEqual(['BatchBegun']);
    expect([codeOf(await cancel(a)), codeOf(await cancel(b))]).toEqual(['batch-begun', 'batch-begun']);
    expect([codeOf(await claim(b)), codeOf(await claim(a))]).toEqual(['done', 'done']);
  });
});

describe('a batch that is broken', () => {
  it('lets no member run, and has no open member', async () => {
    const { a, b } = await pair();
    done(await cancel(b));
    expect([await stateOf(a), await stateOf(b)]).toEqual(['cancelled', 'cancelled']);
    expect(codeOf(await claim(a))).toBe('not-approved');
    expect(await typesOf('batch-')).toEqual(['BatchBroken']);
  });

  it('is closed by the process manager after a crash behind its word, in the name of the one who broke it', async () => {
    const { a, b } = await pair();
    const commandId = id();
    const crashing = crashingBefore('ToolCallCancelled');
    await expect(api.cancelToolCall(crashing, agent, b, 'not needed', commandId)).rejects.toThrow('crashed');
    expect([await stateOf(a), await stateOf(b)]).toEqual(['allowed', 'allowed']);
    expect(await api.closeBatch(commands, 'default', b)).toBeGreaterThan(0);
    expect([await stateOf(a), await stateOf(b)]).toEqual(['cancelled', 'cancelled']);
    expect(await api.findCall(commands, 'default', b)).toMatchObject({
      permission: { reason: 'not needed', cancelledBy: 'agent' },
    });
    expect(codeOf(await api.cancelToolCall(commands, agent, b, 'not needed', commandId))).toBe('done');
  });

  it('is closed by the next claim after a crash behind its word', async () => {
    const { a, b } = await pair();
    await expect(cancel(b, crashingBefore('ToolCallCancelled'))).rejects.toThrow('crashed');
    expect(codeOf(await claim(a))).toBe('batch-incomplete');
    expect([await stateOf(a), await stateOf(b)]).toEqual(['cancelled', 'cancelled']);
  });

  it('is closed by the process manager after a crash between the end of a member and the word', async () => {
    const { a, b } = await pair({}, { needsApproval: true });
    await expect(answer(b, 'deny', crashingBefore('BatchBroken'))).rejects.toThrow('crashed');
    expect([await stateOf(b), codeOf(await claim(a))]).toEqual(['denied', 'batch-incomplete']);
    expect(await api.closeBatch(commands, 'default', b)).toBeGreaterThan(0);
    expect([await stateOf(a), await typesOf('batch-')]).toEqual(['cancelled', ['BatchBroken']]);
  });

  it('ends by the lapse of a member, and records the lapse after a crash', async () => {
    const { a, b } = await pair({}, { needsApproval: true });
    done(await answer(b, 'approve'));
    await clock.advanceAsync(2 * hourMs);
    await expect(api.fireDue(crashingBefore('ApprovalLapsed'), 'default', b)).rejects.toThrow('crashed');
    await api.closeBatch(commands, 'default', b);
    expect([await stateOf(a), await stateOf(b)]).toEqual(['cancelled', 'expired']);
    expect(codeOf(await ask(b))).toBe('batch-incomplete');
  });

  it('cancels what a retry of its request records later', async () => {
    const calls = [{ toolCallId: 'a' }, { toolCallId: 'b' }];
    let first: Promise<unknown> | undefined;
    const halfway = processOver({
      ...store,
      append: async (...given) => {
        if (first === undefined) return (first = store.append(...given));
        await first;
        throw new EventStoreUnavailableError('the process has crashed');
      },
    });
    await expect(api.requestToolCalls(halfway, agent, bodyOf(calls), id())).rejects.toThrow('crashed');
    const recorded = (await store.readAll(0, 10))[0]?.metadata.callId ?? '';
    done(await cancel(recorded));
    const { callIds } = done(await api.requestToolCalls(commands, agent, bodyOf(calls), id()));
    expect(await Promise.all(callIds.map(stateOf))).toEqual(['cancelled', 'cancelled']);
  });
});

describe('two processes at the same moment', () => {
  it('never claim one member and cancel another', async () => {
    const other = processOver(store);
    for (let n = 0; n < 60; n += 1) {
      const { a, b } = await pair({}, {}, `run-${String(n)}`);
      const [claimed, cancelled] = await Promise.all(
        n % 2 === 0 ? [claim(a), cancel(b, other)] : [cancel(b), claim(a, other)],
      ).then((both) => (n % 2 === 0 ? both : both.toReversed()));
      const codes = [claimed, cancelled].map((outcome) => codeOf(outcome as Result<unknown>));
      const states = [await stateOf(a), await stateOf(b)];
      expect([...codes, ...states].join(' ')).toMatch(
        /^(done batch-begun executing allowed|(batch-incomplete|not-approved) done cancelled cancelled)$/,
      );
    }
  });

  it.each(['BatchBegun', 'ExecutionClaimed'] as const)(
    'agree on the word when the cancellation comes just before %s is appended',
    async (type) => {
      const { a, b } = await pair();
      let cancelled = '';
      const claiming = processOver(before(type, async () => (cancelled = codeOf(await cancel(b)))));
      const claimed = codeOf(await claim(a, claiming));
      const begun = type === 'ExecutionClaimed';
      expect([claimed, cancelled]).toEqual(begun ? ['done', 'batch-begun'] : ['batch-incomplete', 'done']);
      expect([await stateOf(a), await stateOf(b)]).toEqual(
        begun ? ['executing', 'allowed'] : ['cancelled', 'cancelled'],
      );
    },
  );

  it.each(['BatchBroken', 'ToolCallCancelled'] as const)(
    'agree on the word when the claim comes just before %s is appended',
    async (type) => {
      const { a, b } = await pair();
      let claimed = '';
      const cancelling = processOver(before(type, async () => (claimed = codeOf(await claim(a)))));
      const begun = type === 'BatchBroken';
      expect(codeOf(await cancel(b, cancelling))).toBe(begun ? 'batch-begun' : 'done');
      expect(claimed).toBe(begun ? 'done' : 'batch-incomplete');
      expect([await stateOf(a), await stateOf(b)]).toEqual(
        begun ? ['executing', 'allowed'] : ['cancelled', 'cancelled'],
      );
    },
  );

  it('close a question that was asked while the batch began', async () => {
    const { a, b } = await pair();
    const asking = processOver(before('ApprovalRequested', () => claim(a)));
    expect(codeOf(await ask(b, asking))).toBe('batch-begun');
    expect(await stateOf(b)).toBe('allowed');
    expect(codeOf(await claim(b))).toBe('done');
  });

  it('never run one member and deny another by a question that was asked while the batch began', async () => {
    const { a, b } = await pair();
    const asking = processOver(
      before('ToolCallCommitted', () => Promise.reject(new EventStoreUnavailableError('the process has crashed'))),
    );
    const racing = processOver(before('BatchBegun', async () => done(await ask(b))));
    // The claim had looked at its siblings before the question was recorded.
    done(await claim(a, racing));
    expect(await stateOf(b)).toBe('awaiting_approval');
    await expect(answer(b, 'deny', asking)).rejects.toThrow('crashed');
    expect(codeOf(await answer(b, 'deny'))).toBe('batch-begun');
    expect(await stateOf(b)).toBe('allowed');
  });

  it('break the batch by a denial that is faster than the claim', async () => {
    const { a, b } = await pair();
    const racing = processOver(
      before('BatchBegun', async () => {
        done(await ask(b));
        done(await answer(b, 'deny'));
      }),
    );
    expect(codeOf(await claim(a, racing))).toBe('batch-incomplete');
    expect([await stateOf(a), await stateOf(b)]).toEqual(['cancelled', 'denied']);
  });

  it.each(['approve', 'deny'] as const)(
    'tell a person that their denial took effect when it broke the batch just before another person could %s',
    async (type) => {
      const { a, b } = await pair();
      done(await ask(b));
      const racing = processOver(before('ApprovalResponded', () => respondAs(bob, b, type)));
      const denial = (by = commands) => respondAs(dora, b, 'deny', by, 'denial');
      expect(codeOf(await denial(racing))).toBe('done');
      const end =
        type === 'deny' ? { status: 'denied' } : { status: 'cancelled', reason: 'too risky', cancelledBy: 'dora' };
      expect(await stateOf(a)).toBe('cancelled');
      expect(await api.findCall(commands, 'default', b)).toMatchObject({ permission: end });
      expect(codeOf(await denial())).toBe('done');
    },
  );

  it('refuse a denial that comes after the approval, and break nothing', async () => {
    const { a, b } = await pair();
    done(await ask(b));
    done(await respondAs(bob, b, 'approve'));
    expect(codeOf(await respondAs(dora, b, 'deny'))).toBe('already-resolved');
    expect([await stateOf(a), await stateOf(b)]).toEqual(['allowed', 'approved']);
  });
});

describe('a batch that a rule made all-or-nothing', () => {
  const pay = '{ id: pay, match: { tools: [pay] }, then: { require: { batch: all-or-nothing } } }';
  const policies = createLivePolicies(loadPolicy('p.yaml', `version: 1\nrules: [${pay}]`));
  const step = {
    runId: 'run-1',
    calls: [...bodyOf([{ toolCallId: 'a' }, { toolCallId: 'b', toolName: 'pay' }]).calls],
  };
  const over = (by: EventStore) => ({ ...processOver(by), policies });

  it('holds like one that the agent made', async () => {
    const { callIds } = done(await api.requestToolCalls(over(store), agent, step, id()));
    const [a = '', b = ''] = callIds;
    expect(codeOf(await claim(a))).toBe('batch-incomplete');
    done(await answer(b, 'deny'));
    expect([await stateOf(a), await stateOf(b)]).toEqual(['cancelled', 'denied']);
  });

  it('is completed by the retry of a step that was recorded in part, under other rules too', async () => {
    let first: ReturnType<EventStore['append']> | undefined;
    const crashing: EventStore['append'] = async (...append) => {
      if (first === undefined) return (first = store.append(...append));
      await first;
      throw new EventStoreUnavailableError('crashed');
    };
    const broken = over({ ...store, append: crashing });
    await expect(api.requestToolCalls(broken, agent, step, 'step')).rejects.toThrow('crashed');
    const { callIds } = done(await api.requestToolCalls(commands, agent, step, 'step'));
    const calls = await Promise.all(callIds.map((callId) => api.findCall(commands, 'default', callId)));
    expect(calls.map((call) => call?.request.batchCallIds)).toEqual([callIds, callIds]);
  });
});

describe('a rule that asks about the whole step', () => {
  const wire = '{ id: wire, match: { tools: [wire] }, then: { require: { batch: any-asks-all, QUORUM } } }';
  const policyOf = (quorum: string) =>
    createLivePolicies(loadPolicy('p.yaml', `version: 1\nrules: [${wire.replace('QUORUM', quorum)}]`));
  const over = (by: EventStore, quorum = 'fourEyes: true') => ({ ...processOver(by), policies: policyOf(quorum) });
  const body = (runId = 'run-1') => ({
    runId,
    calls: [...bodyOf([{ toolCallId: 'read' }, { toolCallId: 'w', toolName: 'wire' }]).calls],
  });
  const requested = async (by = over(store)) =>
    done(await api.requestToolCalls(by, agent, body(), id())).callIds as [string, string];
  const respondToAll = (who: Actor, calls: readonly string[], type: 'approve' | 'deny') =>
    api.respondInBulk(
      over(store),
      who,
      { approvalIds: calls.map((callId) => approvalIdOf(callId, 1)), decision: { type }, mode: 'all-or-nothing' },
      id(),
    );
  const states = (calls: readonly string[]) => Promise.all(calls.map(stateOf));

  it('lets the other calls wait, and one response decides about all of them', async () => {
    const calls = await requested();
    expect(await states(calls)).toEqual(['awaiting_approval', 'awaiting_approval']);
    expect(codeOf(await claim(calls[0]))).toBe('not-approved');
    done(await respondToAll(bob, calls, 'approve'));
    expect(await states(calls)).toEqual(['approved', 'approved']);
    expect([codeOf(await claim(calls[0])), codeOf(await claim(calls[1]))]).toEqual(['done', 'done']);
  });

  it('runs nothing while a call of it waits, in another process and after a restart too', async () => {
    const calls = await requested();
    done(await respondAs(bob, calls[0], 'approve'));
    expect(codeOf(await claim(calls[0]))).toBe('batch-incomplete');
    const other = over(store);
    expect(codeOf(await api.claim(other, worker, calls[0], { resolverId: 'w' }, id()))).toBe('batch-incomplete');
    done(await respondAs(dora, calls[1], 'approve'));
    expect(codeOf(await api.claim(other, worker, calls[0], { resolverId: 'w' }, id()))).toBe('done');
  });

  it('ends all with one denial, whichever call it is about', async () => {
    const calls = await requested();
    done(await respondAs(bob, calls[0], 'deny'));
    expect(await states(calls)).toEqual(['denied', 'cancelled']);
  });

  it('needs its quorum for every call', async () => {
    const calls = await requested(over(store, 'quorum: { approve: 2 }'));
    done(await respondToAll(bob, calls, 'approve'));
    expect(await states(calls)).toEqual(['awaiting_approval', 'awaiting_approval']);
    done(await respondToAll(dora, calls, 'approve'));
    expect(await states(calls)).toEqual(['approved', 'approved']);
  });
});

describe('the calls of another principal', () => {
  const mallory = actor('mallory', 'agent');

  it('cannot be put into a batch, so they can neither be cancelled nor held up by one', async () => {
    const body = { ...bodyOf([{ toolCallId: 'theirs', needsApproval: true }]), batchMode: 'independent' as const };
    const [theirs = ''] = done(await api.requestToolCalls(commands, agent, body, id())).callIds;
    const attack = bodyOf([{ toolCallId: 'own' }, { toolCallId: 'theirs', needsApproval: true }]);
    const head = await store.head();
    const outcome = await api.requestToolCalls(commands, mallory, { ...attack, agentId: 'agent' }, id());
    expect(codeOf(outcome)).toBe('tool-call-mismatch');
    expect([await store.head(), await stateOf(theirs)]).toEqual([head, 'awaiting_approval']);
  });

  it('are no members either when both request at the same moment', async () => {
    const alone = { ...bodyOf([{ toolCallId: 'theirs' }]), agentId: 'agent', batchMode: 'independent' as const };
    const attack = { ...bodyOf([{ toolCallId: 'own' }, { toolCallId: 'theirs' }]), agentId: 'agent' };
    const racing = processOver(before('ToolCallRequested', () => api.requestToolCalls(commands, agent, alone, id())));
    expect(codeOf(await api.requestToolCalls(racing, mallory, attack, id()))).toBe('tool-call-mismatch');
    const requested = readable(await store.readAll(0, 100)).filter(({ type }) => type === 'ToolCallRequested');
    const idOf = (name: string) =>
      requested.find(({ data }) => (data as { toolCallId?: string }).toolCallId === name)?.metadata.callId ?? '';
    expect(codeOf(await api.claim(commands, worker, idOf('own'), { resolverId: 'w' }, id()))).toBe('batch-incomplete');
    done(await api.cancelToolCall(commands, mallory, idOf('own'), 'gotcha', id()));
    expect(await stateOf(idOf('theirs'))).toBe('allowed');
  });

  it('are not a batch with the same calls in another list', async () => {
    await pair();
    const three = bodyOf([{ toolCallId: 'a' }, { toolCallId: 'b' }, { toolCallId: 'c' }]);
    expect(codeOf(await api.requestToolCalls(commands, agent, three, id()))).toBe('tool-call-mismatch');
    const reversed = bodyOf([{ toolCallId: 'b' }, { toolCallId: 'a' }]);
    expect(done(await api.requestToolCalls(commands, agent, reversed, id())).isNew).toBe(false);
  });
});

describe('the cost of a batch', () => {
  it('is limited: members carry the list of all of them', async () => {
    const calls = (count: number) => Array.from({ length: count }, (_, n) => ({ toolCallId: `c${String(n)}` }));
    expect(codeOf(await api.requestToolCalls(commands, agent, bodyOf(calls(65)), id()))).toBe('invalid-request');
    expect(codeOf(await api.requestToolCalls(commands, agent, bodyOf(calls(64)), id()))).toBe('done');
    const independent = { ...bodyOf(calls(256), 'run-2'), batchMode: 'independent' as const };
    done(await api.requestToolCalls(commands, agent, independent, id()));
    const bytes = readable(await store.readAll(0, 1000)).reduce(
      (sum, event) => sum + JSON.stringify(event.data).length,
      0,
    );
    expect(bytes).toBeLessThan(700_000);
  });

  it('is nothing for a call that stands alone and for independent calls: no read and no append more', async () => {
    const seen: string[] = [];
    const counting = processOver({
      ...store,
      append: (stream, ...given) => {
        seen.push(`append ${stream}`);
        return store.append(stream, ...given);
      },
      readStream: (stream, ...given) => {
        seen.push(`read ${stream}`);
        return store.readStream(stream, ...given);
      },
    });
    const body = { ...bodyOf([{ toolCallId: 'a', needsApproval: true }, { toolCallId: 'b' }]) };
    const { callIds } = done(await api.requestToolCalls(counting, agent, { ...body, batchMode: 'independent' }, id()));
    const [a = '', b = ''] = callIds;
    done(await answer(a, 'approve', counting));
    done(await claim(a, counting));
    done(await api.reportExecution(counting, worker, a, { attempt: 1, status: 'succeeded', output: 1 }, id()));
    done(await cancel(b, counting));
    const stream = toolCallStream(a);
    expect(seen.filter((one) => one.endsWith(stream))).toEqual([
      `read ${stream}`,
      `append ${stream}`,
      `append ${stream}`,
      `append ${stream}`,
      `append ${stream}`,
    ]);
    expect(seen.filter((one) => one.includes('batch-'))).toEqual([]);
  });
});
