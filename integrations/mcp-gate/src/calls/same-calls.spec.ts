import { describe, expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { createSameCalls, type Attached, type SameCalls } from './same-calls.js';

const never = new Promise<boolean>(() => undefined);

/** A request for the one call of this spec. */
const ask = (same: SameCalls, delivered = never, givenId?: string): Attached =>
  same.attach({ name: 'pay', args: { euros: 5 }, givenId }, delivered);

const second = (at: number): string => new Date(at * 1_000).toISOString();

/** Takes over calls of an earlier process: the state of each, and when it began and ended, in seconds. */
async function remembered(
  ...calls: readonly (readonly [state: string, from: number, to: number | null])[]
): Promise<SameCalls> {
  const same = createSameCalls();
  const views = calls.map(([state, from, to], index) => ({
    ...{ toolCallId: `call_${index + 1}`, toolName: 'pay', arguments: { euros: 5 }, state },
    ...{ requestedAt: second(from), settledAt: to === null ? null : second(to) },
  }));
  await same.remember(ReadableStream.from(views as unknown as ToolCallView[]), () => true);
  return same;
}

describe('two equal calls at once', () => {
  it('are two calls', () => {
    const same = createSameCalls();
    expect(ask(same).toolCallId).not.toBe(ask(same).toolCallId);
  });

  it('are the same call when its outcome is unknown', () => {
    const same = createSameCalls();
    const first = ask(same, Promise.resolve(true));
    first.end('unknown');
    expect([ask(same).toolCallId, ask(same).toolCallId]).toEqual([first.toolCallId, first.toolCallId]);
  });

  it.each(['unknown', 'executing'])('are the same call when an earlier process left it %s', async (state) => {
    const same = await remembered([state, 0, null]);
    expect([ask(same).toolCallId, ask(same).toolCallId]).toEqual(['call_1', 'call_1']);
  });
});

describe('a call whose request has its final result', () => {
  it.each([true, false])('is told when the client got it: %s', async (isDelivered) => {
    const same = createSameCalls();
    const delivered = Promise.resolve(isDelivered);
    const first = ask(same, delivered);
    first.end('final');
    first.release();
    await delivered;
    expect(ask(same).toolCallId === first.toolCallId).toBe(!isDelivered);
  });

  it.each(['final', 'unknown'] as const)(
    'stays told when an earlier request for it ends later: %s',
    async (outcome) => {
      const same = createSameCalls();
      const dropped = ask(same, Promise.resolve(false), 'toolu_1');
      const delivered = Promise.resolve(true);
      ask(same, delivered, 'toolu_1').end('final');
      await delivered;
      dropped.end(outcome);
      expect(ask(same).toolCallId).not.toBe('toolu_1');
    },
  );
});

describe('the calls of an earlier process', () => {
  it('are told, except the latest: each began when the client had the result of the one before', async () => {
    const same = await remembered(['succeeded', 0, 1], ['denied', 2, 3], ['succeeded', 4, 5]);
    expect(ask(same).toolCallId).toBe('call_3');
    expect(ask(same).toolCallId).toMatch(/^mcp_/);
  });

  it('are not told when they were waiting at the same time', async () => {
    const same = await remembered(['succeeded', 0, 3], ['succeeded', 2, 4]);
    expect([ask(same).toolCallId, ask(same).toolCallId]).toEqual(['call_1', 'call_2']);
  });

  it('stay unknown, however many came later', async () => {
    const same = await remembered(['unknown', 0, 1], ['succeeded', 2, 3]);
    expect(ask(same).toolCallId).toBe('call_1');
  });

  it('are taken over once, also when the first attempt failed', async () => {
    const same = await remembered(['awaiting_approval', 0, null]);
    await same.remember(ReadableStream.from([]), () => true);
    expect(ask(same).toolCallId).toMatch(/_1$/);
  });
});

describe('the number of a new call', () => {
  const numberOf = ({ toolCallId }: Attached): string => /_(\d+)$/.exec(toolCallId)?.[1] ?? '';
  const viewOf = (toolCallId: string) =>
    ({
      ...{ toolCallId, toolName: 'pay', arguments: { euros: 5 }, state: 'succeeded' },
      ...{ requestedAt: second(0), settledAt: second(1) },
    }) as unknown as ToolCallView;

  it('follows the highest one in use, also when there are gaps', async () => {
    const first = ask(createSameCalls()).toolCallId;
    const same = createSameCalls();
    await same.remember(ReadableStream.from([viewOf(first.replace(/1$/, '2'))]), () => true);
    expect([ask(same), ask(same)].map(numberOf)).toEqual(['2', '3']);
  });

  it('is none of a call for another server', async () => {
    const first = ask(createSameCalls()).toolCallId;
    const same = createSameCalls();
    await same.remember(ReadableStream.from([viewOf(first)]), () => false);
    expect(numberOf(ask(same))).toBe('2');
  });

  it('is none that the client gave to a call itself', () => {
    const first = ask(createSameCalls()).toolCallId;
    const same = createSameCalls();
    ask(same, never, first);
    expect(numberOf(ask(same))).toBe('2');
  });
});

describe('a call that Countersign refused', () => {
  it('is no call for the next equal request', () => {
    const same = createSameCalls();
    const first = ask(same, never, 'toolu_1');
    first.refused();
    first.release();
    expect(ask(same, never, 'toolu_2').toolCallId).toBe('toolu_2');
  });

  it('stays the same call when it was recorded before', () => {
    const same = createSameCalls();
    const first = ask(same, never, 'toolu_1');
    first.recorded();
    first.refused();
    first.release();
    expect(ask(same, never, 'toolu_2').toolCallId).toBe('toolu_1');
  });
});

it('refuses an id of the client under which the run has a call for another server', async () => {
  const same = createSameCalls();
  const view = { toolCallId: 'toolu_1', toolName: 'read', arguments: {}, state: 'succeeded' };
  await same.remember(ReadableStream.from([view as unknown as ToolCallView]), () => false);
  expect(() => ask(same, never, 'toolu_1')).toThrow(/toolu_1.*another MCP server.*--run-id/);
  expect(ask(same, never, 'toolu_2').toolCallId).toBe('toolu_2');
});

it.each(['unknown', 'executing'])('refuses an equal call while one for another server is %s', async (state) => {
  const same = createSameCalls();
  const view = { toolCallId: 'call_1', toolName: 'pay', arguments: { euros: 5 }, state };
  await same.remember(ReadableStream.from([view as unknown as ToolCallView]), () => false);
  expect(() => ask(same)).toThrow(/call_1.*Reconcile it.*--run-id/);
});
