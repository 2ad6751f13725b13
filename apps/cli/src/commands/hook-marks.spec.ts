import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileMarks } from './hook-marks.js';

let place: string;
beforeAll(() => {
  place = mkdtempSync(join(tmpdir(), 'hook-marks-'));
});
afterAll(() => {
  rmSync(place, { recursive: true });
});

describe('the marks of a hook', () => {
  it('are there for the next process', () => {
    const folder = join(place, 'new', 'marks');
    fileMarks(folder).add('call_1');
    expect([fileMarks(folder).has('call_1'), fileMarks(folder).has('call_2')]).toEqual([true, false]);
  });

  it('do not follow a link that stands in the place of a mark', () => {
    const folder = join(place, 'links');
    const file = join(place, 'kept.txt');
    writeFileSync(file, 'kept');
    mkdirSync(folder);
    symlinkSync(file, join(folder, 'call_1'));
    symlinkSync(join(place, 'made.txt'), join(folder, 'call_2'));
    for (const key of ['call_1', 'call_2']) fileMarks(folder).add(key);
    expect([readFileSync(file, 'utf8'), readdirSync(place).includes('made.txt')]).toEqual(['kept', false]);
  });

  it('are neither written nor read in a folder that is a link', () => {
    const target = join(place, 'target');
    const folder = join(place, 'folder-link');
    mkdirSync(target);
    writeFileSync(join(target, 'call_1'), '');
    symlinkSync(target, folder);
    fileMarks(folder).add('call_2');
    expect([fileMarks(folder).has('call_1'), readdirSync(target)]).toEqual([false, ['call_1']]);
  });
});
