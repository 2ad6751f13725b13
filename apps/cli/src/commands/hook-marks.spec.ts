import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { execFileSync } from 'node:child_process';
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
    const folder = join(place, 'marks');
    for (const text of ['1', '2']) fileMarks(folder).set('call_1', text);
    expect([fileMarks(folder).get('call_1'), fileMarks(folder).get('call_2')]).toEqual(['2', undefined]);
  });

  it('do not follow a link that stands in the place of a mark', () => {
    const folder = join(place, 'links');
    const file = join(place, 'kept.txt');
    writeFileSync(file, 'kept');
    mkdirSync(folder);
    symlinkSync(file, join(folder, 'call_1'));
    symlinkSync(join(place, 'made.txt'), join(folder, 'call_2'));
    for (const key of ['call_1', 'call_2']) fileMarks(folder).set(key, '');
    expect([readFileSync(file, 'utf8'), readdirSync(place).includes('made.txt')]).toEqual(['kept', false]);
  });

  it('are not read from a link, a pipe, a folder or a large file', () => {
    const folder = join(place, 'others');
    mkdirSync(join(folder, 'folder'), { recursive: true });
    writeFileSync(join(folder, 'large'), '1'.repeat(33));
    writeFileSync(join(place, 'one.txt'), '1');
    symlinkSync(join(place, 'one.txt'), join(folder, 'link'));
    execFileSync('mkfifo', [join(folder, 'pipe')]);
    const keys = ['folder', 'large', 'link', 'pipe'];
    expect(keys.map((key) => fileMarks(folder).get(key))).toEqual(keys.map(() => undefined));
    fileMarks(folder).set('pipe', '2');
    expect(fileMarks(folder).get('pipe')).toBe('2');
  });

  it('make no folder where there is none for them', () => {
    const folder = join(place, 'missing', 'marks');
    fileMarks(folder).set('call_1', '');
    expect(fileMarks(folder).get('call_1')).toBeUndefined();
    expect(readdirSync(place)).not.toContain('missing');
  });

  it('are neither written nor read in a folder that is a link', () => {
    const target = join(place, 'target');
    const folder = join(place, 'folder-link');
    mkdirSync(target);
    writeFileSync(join(target, 'call_1'), '');
    symlinkSync(target, folder);
    fileMarks(folder).set('call_2', '');
    expect([fileMarks(folder).get('call_1'), readdirSync(target)]).toEqual([undefined, ['call_1']]);
  });
});
