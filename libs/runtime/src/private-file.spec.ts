import { chmodSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { keepPrivate } from './private-file.js';

let folder: string;
let umask: number;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-'));
  umask = process.umask(0);
});
afterEach(() => {
  process.umask(umask);
  rmSync(folder, { recursive: true });
});

const modeOf = (file: string): string => (statSync(file).mode & 0o777).toString(8);

describe('a private file', () => {
  it('is created with the mode 600 in a folder that is open to everybody', () => {
    chmodSync(folder, 0o777);
    keepPrivate(join(folder, 'a.db'));
    expect(modeOf(join(folder, 'a.db'))).toBe('600');
  });

  it('that exists with a wider mode is tightened, with the files of SQLite beside it, and keeps its content', () => {
    const files = ['a.db', 'a.db-wal', 'a.db-shm'].map((name) => join(folder, name));
    for (const file of files) writeFileSync(file, 'content', { mode: 0o666 });
    keepPrivate(join(folder, 'a.db'));
    expect(files.map(modeOf)).toEqual(['600', '600', '600']);
    expect(files.map((file) => statSync(file).size)).toEqual([7, 7, 7]);
  });

  it('is not created where its folder is missing', () => {
    expect(() => {
      keepPrivate(join(folder, 'missing', 'a.db'));
    }).toThrow(/ENOENT/);
  });
});
