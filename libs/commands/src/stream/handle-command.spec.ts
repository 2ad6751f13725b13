import { currentSchemaVersion } from '@countersign/contracts';
import type { RecordedEvent, Refusal, ToolCallEvent } from '@countersign/contracts';
import type { Decider } from '@countersign/domain';
import { EventStoreUnavailableError, noStream, OutcomeUnknownError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createSimulatedEventStore, createSimulatedLog, sampleEvent, readable } from '@countersign/event-store/testing';
import type { AppendFault, SimulatedLog } from '@countersign/event-store/testing';
import { createSystemIds, systemClock } from '@countersign/runtime';
import { createRandom, createSeededIds } from '@countersign/runtime/testing';
import { createCommandHandler } from './handle-command.js';
import type { CommandHandler, CommandMeta } from './handle-command.js';

/** A counter up to three: a small rule that can refuse. */
interface Count {
  readonly value: number;
  readonly reasons: readonly string[];
}
interface Add {
  readonly by: number;
  readonly reason: string;
}
const tooMany: Refusal = { code: 'already-resolved', detail: 'there are three already' };

const counter: Decider<Count, Add, ToolCallEvent> = {
  initialState: () => ({ value: 0, reasons: [] }),
  decide: ({ by, reason }, { value, reasons }) => {
    if (reasons.includes(reason)) return { status: 'accepted', events: [] };
    if (value + by > 3) return { status: 'refused', refusal: tooMany };
    const { type, data } = sampleEvent(reason) as unknown as ToolCallEvent;
    return { status: 'accepted', events: Array.from({ length: by }, () => ({ type, data }) as ToolCallEvent) };
  },
  evolve: ({ value, reasons }, event) => ({
    value: value + 1,
    reasons: [...reasons, (event.data as { reason: string }).reason],
  }),
  isTerminal: () => false,
};

interface Bench {
  readonly handler: CommandHandler<Count, ToolCallEvent>;
  readonly store: EventStore;
  /** Faults of the next appends. */
  readonly faults: AppendFault[];
  readonly reads: string[];
}

function bench(log: SimulatedLog = createSimulatedLog(), cacheSize = 10): Bench {
  const faults: AppendFault[] = [];
  const reads: string[] = [];
  const clock = systemClock;
  const store = createSimulatedEventStore({ clock, log, fault: () => faults.shift() ?? 'none' });
  const counted: EventStore = {
    ...store,
    readStream: (stream, fromRevision) => {
      reads.push(`${stream}@${fromRevision ?? 0}`);
      return store.readStream(stream, fromRevision);
    },
  };
  const handler = createCommandHandler({ store: counted, fold: counter, cacheSize, clock, ids: createSystemIds() });
  return { handler, store, faults, reads };
}

let commands = 0;
type Meta = Omit<CommandMeta, 'isRepeat'>;
const meta = (commandId = `command-${(commands += 1)}`): Meta => ({
  commandId,
  tenant: 'default',
  callId: 'tc_1',
  runId: 'run-1',
});
const add =
  (by: number, reason = `reason-${(commands += 1)}`) =>
  (state: Count) =>
    counter.decide({ by, reason }, state);
/** The same, without a look at the state. */
const addAlways =
  (reason = `reason-${(commands += 1)}`) =>
  () =>
    counter.decide({ by: 1, reason }, counter.initialState());

describe('a command that is write only', () => {
  const blind = (commandId?: string): Meta => ({ ...meta(commandId), writeOnly: true });

  it('is recorded without a read', async () => {
    const { handler, store, reads } = bench();
    const result = await handler.handleCommand('a', add(2), blind());
    expect(result).toMatchObject({ status: 'accepted', state: { value: 2 }, revision: 1 });
    expect([reads, (await store.readStream('a')).length]).toEqual([[], 2]);
  });

  it('is decided again on what is there after all', async () => {
    const log = createSimulatedLog();
    await bench(log).handler.handleCommand('a', add(2), meta());
    const { handler, store, reads } = bench(log);
    expect(await handler.handleCommand('a', add(1), blind())).toMatchObject({ state: { value: 3 }, revision: 2 });
    const refused = await handler.handleCommand('a', add(2), blind());
    expect(refused).toMatchObject({ status: 'refused', refusal: tooMany, state: { value: 3 } });
    expect(reads).toEqual(['a@0', 'a@0']);
    expect(await store.readStream('a')).toHaveLength(3);
  });

  it('is recognised when it comes again, also after the stream has grown', async () => {
    const log = createSimulatedLog();
    await bench(log).handler.handleCommand('a', add(2, 'first'), blind('c1'));
    await bench(log).handler.handleCommand('a', add(1), meta());
    const { handler, store } = bench(log);
    expect((await handler.handleCommand('a', add(2, 'first'), blind('c1'))).status).toBe('accepted');
    expect(await store.readStream('a')).toHaveLength(3);
  });

  it('is refused only after a read', async () => {
    const { handler, store, reads } = bench();
    expect((await handler.handleCommand('a', add(4), blind())).status).toBe('refused');
    expect([reads, await store.readStream('a')]).toEqual([['a@0'], []]);
  });
});

describe('handling a command', () => {
  it('gives every event of a stream the trace of the first', async () => {
    const log = createSimulatedLog();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    await bench(log).handler.handleCommand('a', add(1), { ...meta(), traceparent });
    const { handler, store } = bench(log);
    await handler.handleCommand('a', add(1), meta());
    const recorded = readable(await store.readStream('a'));
    expect(recorded.map(({ metadata }) => metadata.traceparent)).toEqual([traceparent, traceparent]);
  });

  it('records what the decider says, and answers with the state after it', async () => {
    const { handler, store } = bench();
    const result = await handler.handleCommand('a', add(2, 'first'), meta('c1'));
    expect(result).toMatchObject({
      status: 'accepted',
      state: { value: 2 },
      revision: 1,
      position: 2,
      repeated: false,
    });
    const recorded = await store.readStream('a');
    expect(result).toMatchObject({ events: recorded });
    expect(recorded.map(({ metadata }) => metadata)).toEqual(
      [1, 2].map(() => ({
        tenant: 'default',
        callId: 'tc_1',
        runId: 'run-1',
        schemaVersion: currentSchemaVersion,
        commandId: 'c1',
      })),
    );
  });

  it('decides on what is recorded, not on what it wrote, over a store that reads nothing back', async () => {
    const log = createSimulatedLog();
    const { store } = bench(log);
    let appends = 0;
    const blind: EventStore = {
      ...store,
      append: async (...args) => {
        appends += 1;
        const result = await store.append(...args);
        return result.status === 'committed' ? { ...result, position: 0, events: [] } : result;
      },
    };
    const ports = { store: blind, fold: counter, cacheSize: 10, clock: systemClock, ids: createSystemIds() };
    const handler = createCommandHandler(ports);
    // Another process recorded the same command with other data; the store treats ours as its duplicate.
    await handler.load('a');
    await bench(log).handler.handleCommand('a', add(2, 'theirs'), meta('c1'));
    const ours = await handler.handleCommand('a', add(2, 'ours'), meta('c1'));
    expect(ours).toMatchObject({ status: 'accepted', state: { value: 2 }, revision: 1, events: [] });
    expect(await handler.handleCommand('a', add(1, 'next'), meta())).toMatchObject({
      state: { reasons: ['theirs', 'theirs', 'next'] },
    });
    expect(appends).toBe(2);
  });

  it('takes the run of the first event when it is told none', async () => {
    const { handler, store } = bench();
    await handler.handleCommand('a', add(1), meta());
    await handler.handleCommand('a', add(1), { commandId: 'c2', tenant: 'default', callId: 'tc_1' });
    expect((await store.readStream('a'))[1]?.metadata.runId).toBe('run-1');
  });

  it('names the tool of the call in every event, also where an older version named it in the request alone', async () => {
    const { handler, store } = bench();
    const tool = { toolCallId: 'call-1', toolName: 'delete_file', agentId: 'billing' };
    const { data, ...sample } = sampleEvent();
    await store.append('a', noStream, [{ ...sample, type: 'ToolCallRequested', data: { ...data, ...tool } }]);
    await handler.handleCommand('a', add(1), meta());
    await handler.handleCommand('a', add(1), meta());
    expect(readable(await store.readStream('a', 1)).map(({ metadata }) => metadata.tool)).toEqual([tool, tool]);
  });

  it('gives the events of each decision ids that no other decision gives, also not one of the same command', async () => {
    const idsOf = async (): Promise<readonly string[]> => {
      const { handler, store } = bench();
      await handler.handleCommand('a', add(2), meta('c1'));
      return (await store.readStream('a')).map(({ eventId }) => eventId);
    };
    expect(new Set([...(await idsOf()), ...(await idsOf())]).size).toBe(4);
  });

  it('records a command once that two processes decide differently, and shows both what is recorded', async () => {
    const log = createSimulatedLog();
    const handlers = [bench(log), bench(log)].map(({ handler }) => handler);
    const decisions = [add(1, 'x'), add(1, 'y')];
    const answers = await Promise.all(
      handlers.map((one, at) => one.handleCommand('a', decisions[at] ?? add(1), meta('c1'))),
    );
    const recorded = await bench(log).store.readStream('a');
    const reasons = readable(recorded).map(({ data }) => (data as { reason?: string }).reason);
    expect(reasons).toHaveLength(1);
    for (const { state } of answers) expect(state).toEqual({ value: 1, reasons });
    expect(answers.map((one) => one.status === 'accepted' && one.repeated).toSorted()).toEqual([false, true]);
  });

  describe('on a stream that it learned of from a subscription', () => {
    const learned = async (count: number, of = count) => {
      const log = createSimulatedLog();
      for (let at = 0; at < of; at += 1)
        await bench(log).handler.handleCommand('a', add(1, `by ${at}`), meta(`c${at}`));
      const { handler, reads, store } = bench(log);
      handler.learn((await store.readStream('a')).slice(0, count));
      return { handler, reads, store };
    };

    it('needs no read, and knows the commands that others gave', async () => {
      const { handler, reads } = await learned(2);
      const answer = await handler.handleCommand('a', add(1), meta('new'));
      expect(answer).toMatchObject({ status: 'accepted', revision: 2, state: { value: 3 } });
      expect(reads).toEqual([]);
      expect(await handler.handleCommand('a', add(1), meta('c1'))).toMatchObject({ repeated: true });
    });

    it('decides again after a conflict where it had not learned all: what is behind is never decided on', async () => {
      const { handler, reads } = await learned(2, 3);
      const decided: number[] = [];
      const decide = (state: Count): ReturnType<typeof counter.decide> => {
        decided.push(state.value);
        return counter.decide({ by: 1, reason: 'late' }, state);
      };
      expect(await handler.handleCommand('a', decide, meta('new'))).toMatchObject({
        status: 'refused',
        state: { value: 3 },
      });
      expect(decided).toEqual([2, 3]);
      expect(reads.length).toBeGreaterThan(0);
    });

    it('reads a stream of which it learned only later events, or with a gap', async () => {
      for (const lacking of [0, 1]) {
        const { store } = await learned(3);
        const { handler, reads } = bench();
        handler.learn((await store.readStream('a')).filter(({ revision }) => revision !== lacking));
        await handler.handleCommand('a', add(1), meta('new'));
        expect(reads).toEqual(lacking === 0 ? ['a@0'] : ['a@1', 'a@0']);
      }
    });

    it('forgets what it learned when values were erased, and keeps no later part of it', async () => {
      const { handler, reads, store } = await learned(1, 2);
      handler.forget();
      handler.learn(await store.readStream('a', 1));
      await handler.handleCommand('a', add(1), meta('new'));
      expect(reads).toEqual(['a@0']);
    });
  });

  it('returns a refusal, decided at once or later, and records nothing', async () => {
    const { handler, store } = bench();
    expect(await handler.handleCommand('a', add(4), meta())).toEqual({
      status: 'refused',
      refusal: tooMany,
      state: { value: 0, reasons: [] },
      revision: noStream,
    });
    const built = await handler.handleCommand('a', async () => ({ status: 'refused', refusal: tooMany }), meta());
    expect(built).toMatchObject({ status: 'refused', refusal: tooMany });
    expect(await store.head()).toBe(0);
  });

  it('accepts without events what the log already says', async () => {
    const { handler } = bench();
    await handler.handleCommand('a', add(1, 'same'), meta());
    expect(await handler.handleCommand('a', add(1, 'same'), meta())).toMatchObject({
      status: 'accepted',
      events: [],
      repeated: false,
      revision: 0,
      position: 1,
    });
  });

  it('recognises a repeated command by its id, also with other content', async () => {
    const log = createSimulatedLog();
    const first = bench(log);
    await first.handler.handleCommand('a', add(1, 'x'), meta('c1'));
    await first.handler.handleCommand('a', add(1, 'y'), meta('c2'));
    for (const { handler } of [first, bench(log)]) {
      const repeated = await handler.handleCommand('a', add(1, 'x'), meta('c1'));
      expect(repeated).toMatchObject({
        status: 'accepted',
        events: [],
        repeated: true,
        state: { value: 2 },
        position: 2,
      });
    }
    expect(log.events).toHaveLength(2);
  });

  it('adds nothing when the same command comes many times at once', async () => {
    const { handler, store } = bench();
    const results = await Promise.all([1, 2, 3, 4].map(() => handler.handleCommand('a', add(1, 'x'), meta('c1'))));
    expect(results.map((result) => result.status === 'accepted' && result.repeated)).toEqual([false, true, true, true]);
    expect(await store.head()).toBe(1);
  });
});

describe('commands on one stream', () => {
  it('wait for each other in this process: none meets a conflict', async () => {
    const { handler, store } = bench();
    let appends = 0;
    const handlerOver = createCommandHandler({
      store: { ...store, append: (...args) => ((appends += 1), store.append(...args)) },
      fold: counter,
      cacheSize: 10,
      clock: systemClock,
      ids: createSystemIds(),
    });
    await Promise.all(Array.from({ length: 50 }, () => handlerOver.handleCommand('a', addAlways(), meta())));
    expect(appends).toBe(50);
    expect(await handler.load('a')).toMatchObject({ revision: 49 });
  });

  it('go on after one of them failed', async () => {
    const { handler, faults } = bench();
    faults.push('unavailable');
    const [failed, next] = await Promise.allSettled([1, 2].map(() => handler.handleCommand('a', add(1), meta())));
    expect(failed).toMatchObject({ status: 'rejected', reason: expect.any(EventStoreUnavailableError) as unknown });
    expect(next).toMatchObject({ status: 'fulfilled', value: { status: 'accepted', revision: 0 } });
  });

  it('of several processes are decided again on the state that the other one left', async () => {
    const log = createSimulatedLog();
    const [one, two] = [bench(log), bench(log)];
    await one.handler.handleCommand('a', add(1), meta());
    await two.handler.handleCommand('a', add(1), meta());
    const states: number[] = [];
    const result = await one.handler.handleCommand(
      'a',
      async (state) => (states.push(state.value), add(1)(state)),
      meta(),
    );
    expect(states).toEqual([1, 2]);
    expect(result).toMatchObject({ status: 'accepted', state: { value: 3 }, revision: 2 });
    // The newest state refuses, although the cached state would allow it.
    expect(await two.handler.handleCommand('a', add(1), meta())).toMatchObject({
      status: 'refused',
      state: { value: 3 },
    });
  });

  it('are not refused on a state that another process has changed since', async () => {
    const log = createSimulatedLog();
    const [one, two] = [bench(log), bench(log)];
    await one.handler.handleCommand('a', add(1), meta());
    await two.handler.handleCommand('a', add(1), meta());
    const onlyAfterTwo = (state: Count) =>
      state.value < 2 ? ({ status: 'refused', refusal: tooMany } as const) : add(1, 'third')(state);
    expect(await one.handler.handleCommand('a', onlyAfterTwo, meta())).toMatchObject({
      status: 'accepted',
      revision: 2,
    });
  });

  it('are all recorded, each once, when several processes write at once', async () => {
    const log = createSimulatedLog();
    const handlers = [1, 2, 3].map((seed) => {
      const clock = systemClock;
      const store = createSimulatedEventStore({ clock, log, latencyMs: () => 1 });
      return createCommandHandler({
        store,
        fold: counter,
        cacheSize: 10,
        clock,
        ids: createSeededIds(createRandom(seed)),
      });
    });
    const results = await Promise.all(
      handlers.flatMap(({ handleCommand }) => [1, 2, 3].map(() => handleCommand('a', addAlways(), meta()))),
    );
    expect(results.every(({ status }) => status === 'accepted')).toBe(true);
    expect(log.events).toHaveLength(9);
    expect(new Set(log.events.map(({ metadata }) => metadata.commandId)).size).toBe(9);
  });

  it('end with an error when there is no end of conflicts', async () => {
    const { store } = bench();
    const contended = { ...store, append: async () => ({ status: 'conflict', actualRevision: 7 }) as const };
    const options = {
      fold: counter,
      cacheSize: 10,
      clock: systemClock,
      ids: { ...createSystemIds(), randomBytes: () => new Uint8Array(1) },
    };
    const { handleCommand } = createCommandHandler({ ...options, store: contended });
    await expect(handleCommand('a', add(1), meta())).rejects.toThrow(EventStoreUnavailableError);
  });
});

describe('an append of unknown outcome', () => {
  it.each<[string, AppendFault]>([
    ['was not written', 'lost-request'],
    ['was written', 'lost-reply'],
  ])('that %s is repeated until it is known, and recorded once', async (_, fault) => {
    const { handler, store, faults } = bench();
    faults.push(fault, fault, 'unavailable');
    expect(await handler.handleCommand('a', add(2), meta())).toMatchObject({
      status: 'accepted',
      revision: 1,
      state: { value: 2 },
    });
    expect(await store.head()).toBe(2);
    expect(await handler.handleCommand('a', add(1), meta())).toMatchObject({ status: 'accepted', revision: 2 });
  });

  it('that was written before another process wrote is told by a fresh look', async () => {
    const log = createSimulatedLog();
    const [one, two] = [bench(log), bench(log)];
    const lossy: EventStore = {
      ...one.store,
      append: async (stream, revision, events) => {
        const result = await one.store.append(stream, revision, events);
        await two.handler.handleCommand('a', add(1, 'between'), meta('other'));
        return result.status === 'committed' ? { status: 'unknown', cause: 'gone' } : result;
      },
    };
    let appends = 0;
    const store = {
      ...one.store,
      append: ((...args) => ((appends += 1) === 1 ? lossy : one.store).append(...args)) as EventStore['append'],
    };
    const { handleCommand } = createCommandHandler({
      store,
      fold: counter,
      cacheSize: 10,
      clock: systemClock,
      ids: createSystemIds(),
    });
    expect(await handleCommand('a', add(1, 'mine'), meta('mine'))).toMatchObject({ status: 'accepted', revision: 0 });
    expect(log.events.map(({ metadata }) => metadata.commandId)).toEqual(['mine', 'other']);
  });

  it('that stays unknown is an error that says that repeating is safe; and it is', async () => {
    const { handler, store, faults } = bench();
    faults.push('lost-reply', ...Array.from({ length: 5 }, () => 'unavailable' as const));
    const first = handler.handleCommand('a', add(1), meta('c1'));
    await expect(first).rejects.toThrow(OutcomeUnknownError);
    await expect(first).rejects.toThrow('repeating the request is safe');
    expect(await handler.handleCommand('a', add(1), meta('c1'))).toMatchObject({ status: 'accepted', repeated: true });
    expect(await store.head()).toBe(1);
  });
});

describe('folded streams', () => {
  it('are kept: a second command reads nothing', async () => {
    const { handler, reads } = bench();
    await handler.handleCommand('a', add(1), meta());
    await handler.handleCommand('a', add(1), meta());
    expect(reads).toEqual(['a@0']);
  });

  it('are not kept once nothing more is expected of them', async () => {
    const { store, reads } = bench();
    const clock = systemClock;
    const ending = { ...counter, isTerminal: ({ value }: Count) => value === 3 };
    const counted: EventStore = {
      ...store,
      readStream: (...given) => {
        reads.push(given[0]);
        return store.readStream(...given);
      },
    };
    const ports = { store: counted, fold: ending, cacheSize: 10, clock, ids: createSystemIds() };
    const handler = createCommandHandler(ports);
    for (let times = 0; times < 3; times += 1) await handler.handleCommand('a', add(1), meta());
    expect(reads).toEqual(['a']);
    // A late command is decided all the same, on what the store has.
    expect(await handler.handleCommand('a', add(1), meta())).toMatchObject({ status: 'refused', refusal: tooMany });
    expect(reads).toEqual(['a', 'a']);
  });

  it('are bounded: the one not used for longest is read again', async () => {
    const { handler, reads } = bench(createSimulatedLog(), 1);
    for (const stream of ['a', 'b', 'a', 'c', 'a', 'b']) {
      await handler.handleCommand(stream, add(stream === 'a' ? 1 : 2), meta());
    }
    expect(reads).toEqual(['a@0', 'b@0', 'c@0', 'b@0']);
  });

  it('are read from their beginning after they were forgotten, also one whose command was in progress', async () => {
    const { handler, reads } = bench();
    await handler.handleCommand('a', add(1), meta());
    handler.forget();
    await handler.handleCommand('a', add(1), meta());
    await handler.handleCommand(
      'b',
      (state) => {
        handler.forget();
        return add(1)(state);
      },
      meta(),
    );
    await handler.handleCommand('b', add(1), meta());
    await handler.handleCommand('b', add(1), meta());
    expect(reads).toEqual(['a@0', 'a@0', 'b@0', 'b@0']);
  });

  it('can be looked at: always as the store has them', async () => {
    const log = createSimulatedLog();
    const [one, two] = [bench(log), bench(log)];
    expect(await one.handler.load('a')).toMatchObject({ revision: noStream, state: { value: 0 } });
    await two.handler.handleCommand('a', add(2), meta());
    expect(await one.handler.load('a')).toMatchObject({ revision: 1, position: 2, state: { value: 2 } });
    expect(one.reads).toEqual(['a@0', 'a@0']);
  });

  it('are forgotten when the store was put back to an older state', async () => {
    const log = createSimulatedLog();
    const { handler } = bench(log);
    await handler.handleCommand('a', add(1), meta());
    await handler.handleCommand('a', add(1), meta());
    log.events.pop();
    log.streams.set(
      'a',
      log.events.filter((event: RecordedEvent) => event.stream === 'a'),
    );
    expect(await handler.handleCommand('a', add(1), meta())).toMatchObject({
      status: 'accepted',
      revision: 1,
      state: { value: 2 },
    });
  });
});
