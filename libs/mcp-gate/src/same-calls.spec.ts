import { describe, expect, it } from '@jest/globals';
import type { ToolCallView } from '@countersign/contracts';
import { attach, createSameCalls, type KnownCall } from './same-calls.js';

const find = (same: ReturnType<typeof createSameCalls>): KnownCall => same.find('pay', { euros: 5 }, undefined);

describe('two equal calls at once', () => {
  it('are two calls', () => {
    const same = createSameCalls();
    const first = find(same);
    attach(first, new Promise(() => undefined));
    expect(find(same)).not.toBe(first);
  });

  it('are the same call when its outcome is unknown', () => {
    const same = createSameCalls();
    const first = find(same);
    attach(first, Promise.resolve(true)).end('unknown');
    attach(find(same), new Promise(() => undefined));
    expect(find(same)).toBe(first);
  });

  it.each(['unknown', 'executing'])('are the same call when an earlier process left it %s', (state) => {
    const same = createSameCalls();
    const view = { toolCallId: 'c', toolName: 'pay', arguments: { euros: 5 }, state, labels: {} };
    same.remember([view as unknown as ToolCallView]);
    attach(find(same), new Promise(() => undefined));
    expect(find(same).toolCallId).toBe('c');
  });
});

describe('a call whose request has its final result', () => {
  it.each([true, false])('is told when the client got it: %s', async (isDelivered) => {
    const same = createSameCalls();
    const first = find(same);
    const delivered = Promise.resolve(isDelivered);
    const attached = attach(first, delivered);
    attached.end('final');
    attached.release();
    await delivered;
    expect([first.attached, first.state]).toEqual([0, isDelivered ? 'told' : 'open']);
    expect(find(same) === first).toBe(!isDelivered);
  });
});
