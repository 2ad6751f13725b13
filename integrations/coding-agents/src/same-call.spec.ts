import { describe, expect, it } from '@jest/globals';
import { bash, decided, open } from './testing/hook-place.js';

const shell = (command: string): object => ({ sessionId: 's1', toolName: 'bash', toolArgs: { command } });

describe('a call of an agent without call ids', () => {
  it('is asked for again after an equal one was denied, although another call was edited into it', async () => {
    const { before, after, countersign, asked } = open('copilot');
    const ran = { ...shell('B'), toolResult: 'ok' };
    await before(shell('B'), { gate: 'none' });
    await after(ran);
    await before(shell('B'));
    const denied = asked.at(-1) ?? '';
    countersign.deny(denied);
    await before(shell('B'));
    await before(shell('A'));
    countersign.edit(asked.at(-1) ?? '', { command: 'B' });
    await before(shell('A'));
    await after(ran);
    expect((await before(shell('B'))).stdout).toContain('pending: approval');
    expect([denied.slice(-2), asked.at(-1)?.slice(-2)]).toEqual(['_2', '_3']);
  });
});

describe('a call of an agent with call ids', () => {
  it.each(['awaiting_approval', 'approved'] as const)('is %s still the same after 100 other calls', async (state) => {
    const { before, countersign, asked } = open();
    await before(bash('t1'));
    if (state === 'approved') countersign.approve('t1');
    for (let n = 0; n < 101; n += 1) await before(bash(`other-${n}`, `echo ${n}`), { gate: 'none' });
    const expected = state === 'approved' ? { permissionDecision: 'allow' } : { permissionDecision: 'deny' };
    expect(decided(await before(bash('t2')))).toMatchObject(expected);
    expect(asked).not.toContain('t2');
  });
});
