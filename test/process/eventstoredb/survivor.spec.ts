import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { startServerProcess } from '../../eventstoredb-server/server-process.ts';
import { cleanUpAfterEach, onCleanup } from '../harness/cleanup.js';

cleanUpAfterEach();

it.each(['esdb', 'kurrentdb'])(
  'a process with the client of %s:// survives every fault of its server, and ends by itself',
  async (scheme) => {
    const server = await startServerProcess();
    onCleanup(() => server.stop());
    const program = join(import.meta.dirname, 'survivor.ts');
    const run = promisify(execFile)(
      process.execPath,
      [program, server.url.replace(/^esdb/, scheme), String(server.controlPort)],
      {
        timeout: 110_000,
      },
    );
    const { outcomes, status } = JSON.parse((await run).stdout) as { outcomes: Record<string, string>; status: string };
    expect(status).toBe('committed');
    expect(Object.keys(outcomes)).toHaveLength(24);
  },
);
