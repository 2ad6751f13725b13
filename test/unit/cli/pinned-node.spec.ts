import { join } from 'node:path';
import { isRecentSqlite } from '@countersign/event-store/testing';

const launcher = join(import.meta.dirname, '../../../apps/cli/bin/pinned-node.js');
const { isOlder, isRecent } = (await import(launcher)) as {
  isOlder: (version: string, than: string) => boolean;
  isRecent: (versions: { readonly node: string; readonly sqlite?: string }) => boolean;
};

describe('a Node is recent enough', () => {
  it.each([
    ['the pinned one', '26.12.1', '3.54.0', true],
    ['the first 24 with SQLite 3.51', '24.13.1', '3.51.2', true],
    ['a 24 with an older SQLite', '24.11.1', '3.50.4', false],
    ['the first 24', '24.0.0', '3.49.1', false],
    ['a later major release', '26.3.0', '3.53.1', true],
    ['a later major release built with an older SQLite', '26.3.0', '3.50.4', false],
    ['an older major release with a recent SQLite', '22.23.3', '3.53.4', false],
    ['one without SQLite', '20.20.2', undefined, false],
  ])('%s', (_, node, sqlite, expected) => {
    expect(isRecent({ node, ...(sqlite === undefined ? {} : { sqlite }) })).toBe(expected);
  });
});

describe('a Node hands over to the pinned one', () => {
  it.each([
    ['24.21.0', '26.12.1', true],
    ['26.9.9', '26.12.1', true],
    ['26.12.0', '26.12.1', true],
    ['26.12.1', '26.12.1', false],
    ['26.12.2', '26.12.1', false],
    ['27.0.0', '26.12.1', false],
  ])('%s to %s: %s', (running, pinned, expected) => {
    expect(isOlder(running, pinned)).toBe(expected);
  });
});

describe('the event store takes a SQLite', () => {
  it.each([
    ['3.49.1', false],
    ['3.50.4', false],
    ['3.51.0', true],
    ['3.53.4', true],
    ['4.0.0', true],
  ])('%s: %s', (version, expected) => {
    expect(isRecentSqlite(version)).toBe(expected);
  });
});
