import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createStopFile } from './stop-file.js';

describe('the stop file', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'stop-file-'));
  });
  afterEach(() => {
    rmSync(folder, { recursive: true });
  });

  it('is seen in the turn after it was written, and its end in the turn after it was removed', async () => {
    const read = createStopFile(folder);
    expect(read()).toBeUndefined();
    writeFileSync(join(folder, 'STOP'), ' the bank calls \n');
    await nextTurn();
    expect([read(), read()]).toEqual(['the bank calls', 'the bank calls']);
    rmSync(join(folder, 'STOP'));
    await nextTurn();
    expect(read()).toBeUndefined();
  });

  it('stops without a reason, too', () => {
    writeFileSync(join(folder, 'STOP'), '');
    expect(createStopFile(folder)()).toBe(`there is the file ${join(folder, 'STOP')}`);
  });
});
