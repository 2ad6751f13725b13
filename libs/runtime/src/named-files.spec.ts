import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ConfigError } from './config.js';
import { makeFolderOf, readFileOf, readSecretOf, readTextFile } from './named-files.js';

const folder = mkdtempSync(join(tmpdir(), 'countersign-named-'));
const at = (name: string): string => join(folder, name);

beforeAll(() => {
  writeFileSync(at('secret'), 'two words \r\n\n');
  writeFileSync(at('empty'), '\n');
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

describe('a file that a variable names', () => {
  it.each([
    ['none', `file not found: ${at('none')}. Create it or unset the variable.`],
    ['secret/below', `file not found: ${at('secret/below')}. A part of its path is a file: correct the path.`],
    ['.', `this is a folder: ${at('.')}. Name a file.`],
  ])('is a problem of the variable with cause and remedy: %s', (name, problem) => {
    const read = (): unknown => readFileOf('COUNTERSIGN_X', at(name));
    expect(read).toThrow(ConfigError);
    expect(read).toThrow(`COUNTERSIGN_X: ${problem}`);
  });

  it('has a secret without the line ends after it, never an empty one', () => {
    expect(readSecretOf('COUNTERSIGN_X', at('secret')).reveal()).toBe('two words ');
    expect(() => readSecretOf('COUNTERSIGN_X', at('empty'))).toThrow(
      `COUNTERSIGN_X: the file is empty: ${at('empty')}. Write the secret into it.`,
    );
  });
});

it('says to correct the path of a missing file that no variable names', () => {
  expect(() => readTextFile(at('none'))).toThrow(`file not found: ${at('none')}. Create it or correct the path.`);
});

describe('a folder that a variable names', () => {
  it('is made for its owner alone', () => {
    makeFolderOf('COUNTERSIGN_X', at('a/b'));
    expect(statSync(at('a/b')).isDirectory()).toBe(true);
    if (process.platform !== 'win32') expect(statSync(at('a/b')).mode & 0o777).toBe(0o700);
  });

  it.each(['secret', 'secret/below'])('cannot be a file or below one: %s', (name) => {
    expect(() => {
      makeFolderOf('COUNTERSIGN_X', at(name));
    }).toThrow(
      `COUNTERSIGN_X: a file is in the place of the folder or of a part of its path: ${at(name)}. Name a folder.`,
    );
  });
});
