import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { startCommand } from './start.js';

/** Commands of the audit; and durations, which are read by commands whose libraries have the contracts anyway. */
const loadedWhenTheyRun = /^(?:audit|backup|bundle|sqlite|verifier)\/|^commands\/audit|^(?:duration|lease)-option/;

describe('countersign start', () => {
  it('knows its roles', async () => {
    await expect(startCommand('everything')).rejects.toMatchObject({
      exitCode: 2,
      message: 'There is no process "everything".',
    });
  });

  it('loads the server, as do the commands of operators and no others: the others start in a fraction of that time', () => {
    const folder = import.meta.dirname;
    const sources = globSync('**/*.ts', { cwd: folder }).filter((file) => !/\.spec\.ts$|^testing/.test(file));
    expect(sources.length).toBeGreaterThan(20);
    // The text library imports nothing, neither the server nor an external package.
    const loading = sources
      .filter((file) => !loadedWhenTheyRun.test(file))
      .filter((file) =>
        /^import (?!type )[^;]*'@countersign\/(?!(?:text|http-client)')/m.test(
          readFileSync(join(folder, file), 'utf8'),
        ),
      );
    expect(loading).toEqual([]);
    const lazily = sources.filter((file) => readFileSync(join(folder, file), 'utf8').includes("import('@countersign/"));
    expect(lazily.toSorted()).toEqual([
      'audit/judge-timestamps.ts',
      'commands/acp.ts',
      'commands/audit-cut.ts',
      'commands/backup.ts',
      'commands/channels.ts',
      'commands/conformance.ts',
      'commands/dead-letters.ts',
      'commands/grants.ts',
      'commands/hook.ts',
      'commands/kafka.ts',
      'commands/keys.ts',
      'commands/known-people.ts',
      'commands/mcp-approver.ts',
      'commands/mcp.ts',
      'commands/policy-input.ts',
      'commands/policy.ts',
      'commands/projector.ts',
      'commands/respond-to-many.ts',
      'commands/restore.ts',
      'commands/store.ts',
      'commands/topics.ts',
      'json-input.ts',
      'start.ts',
    ]);
  });
});
