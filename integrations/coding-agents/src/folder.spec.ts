import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { bash, decided, open } from './testing/hook-place.js';
import { until } from './testing/until.js';

let place: string;
beforeEach(() => {
  place = realpathSync(mkdtempSync(join(tmpdir(), 'hook-folder-')));
  for (const name of ['staging', 'production']) mkdirSync(join(place, name));
  linkTo('staging');
});
afterEach(() => {
  rmSync(place, { recursive: true });
});

function linkTo(name: string): void {
  rmSync(join(place, 'current'), { force: true });
  symlinkSync(join(place, name), join(place, 'current'));
}

const inLink = (id: string, more: object = {}): object => ({ ...bash(id), cwd: join(place, 'current'), ...more });
const permissionIn = (answer: Parameters<typeof decided>[0]): unknown => decided(answer)['permissionDecision'];

describe('a call in a folder that is reached through a link', () => {
  it('has the folder without links and dots, for people and policy', async () => {
    const { before, countersign } = open();
    await before(inLink('t1'));
    await before(inLink('t2', { cwd: `${place}/staging/../production/` }));
    const labels = ['t1', 't2'].map((id) => countersign.callOf(id).approval?.labels);
    expect(labels).toEqual([{ cwd: join(place, 'staging') }, { cwd: join(place, 'production') }]);
  });

  it('is another call after the link has another target', async () => {
    const { before, countersign, asked } = open();
    await before(inLink('t1'));
    countersign.approve('t1');
    linkTo('production');
    expect(permissionIn(await before(inLink('t2')))).toBe('deny');
    expect(countersign.callOf('t1').state).toBe('approved');
    expect(asked.at(-1)).toBe('t2');
  });

  it('is not allowed where the link gets another target while people decide', async () => {
    const { before, countersign } = open();
    const held = before(inLink('t1'), { holdMs: 5_000 });
    await until(() => countersign.callOf('t1').state === 'awaiting_approval');
    linkTo('production');
    countersign.approve('t1');
    const answer = await held;
    expect(permissionIn(answer)).toBe('deny');
    expect(answer.stdout).toContain('leads to another folder');
    expect(countersign.callOf('t1').state).toBe('approved');
  });

  it('has its report, also without a call id', async () => {
    const { before, after, countersign, asked } = open('copilot');
    const call = { sessionId: 's1', cwd: join(place, 'current'), toolName: 'bash', toolArgs: { command: 'make' } };
    await before(call, { gate: 'none' });
    await after({ ...call, toolResult: 'ok' });
    expect(asked.map((id) => countersign.callOf(id).state)).toEqual(['succeeded']);
  });

  it('is denied where the path cannot be looked up', async () => {
    const { before, asked } = open();
    symlinkSync(join(place, 'circle'), join(place, 'circle'));
    const answer = await before(inLink('t1', { cwd: join(place, 'circle') }), { gate: 'none' });
    expect(answer).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('cannot be looked up (ELOOP)') });
    expect(asked).toEqual([]);
  });
});
