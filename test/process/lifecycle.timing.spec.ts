import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { audit } from './audit/audit.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { freePort } from '../ports.js';
import { createRandom } from './harness/random.js';
import { startServer } from './harness/server.js';
import { install } from './harness/standalone.js';
import { folderComplaints } from './harness/verified-folder.js';
import { eventually, within } from './harness/wait.js';
import { requestOne, someCall } from './traffic/scene.js';
import { settle } from './traffic/settle.js';
import { countedTools } from './traffic/tools.js';
import { startTraffic } from './traffic/traffic.js';

cleanUpAfterEach();

describe('SIGTERM', () => {
  test('in the middle of traffic, four times: it stops with 0 within seconds, and nothing acknowledged is lost', async () => {
    const tools = await countedTools(temporaryFolder());
    const ledger = await install({ COUNTERSIGN_TOOLS: tools.toolsFile });
    const { port, tokens, journal, http, stage } = ledger;
    const traffic = startTraffic({ port, tokens, journal, random: createRandom(7), users: 8, prefix: 't' });
    for (let stop = 1; stop <= 4; stop += 1) {
      const known = journal.acknowledgements.length;
      await eventually('traffic', () => (journal.acknowledgements.length > known + 100 ? true : undefined));
      const startedAt = performance.now();
      expect(await ledger.server().stop('SIGTERM')).toEqual({ code: 0, signal: null });
      expect(performance.now() - startedAt).toBeLessThan(5000);
      await ledger.restart();
    }
    await traffic.stop();
    expect(await settle(http, tokens, stage)).toEqual([]);
    const entries = await ledger.stopAndRead();
    journal.executions.push(...tools.executions());
    expect(audit(entries, journal)).toEqual([]);
    expect(await folderComplaints(ledger.dataFolder)).toEqual([]);
  }, 240_000);
});

test('killed during its first start, at any moment, it starts the next time', async () => {
  const random = createRandom(11);
  for (let attempt = 0; attempt < 8; attempt += 1) {
    const [folder, port] = [temporaryFolder(), await freePort()];
    const first = startServer({ folder, port });
    await within(
      random.int(100, 900),
      first.ready().catch(() => undefined),
    );
    await first.stop('SIGKILL');
    const next = startServer({ folder, port });
    await next.ready();
    await next.stop('SIGKILL');
    expect(await folderComplaints(join(folder, 'data'))).toEqual([]);
  }
}, 240_000);

test('the log, the views and the keys are for their owner alone', async () => {
  const { dataFolder, stage } = await install();
  await requestOne(stage, someCall(stage));
  const open = readdirSync(dataFolder).filter((name) => (statSync(join(dataFolder, name)).mode & 0o077) !== 0);
  const isFolderClosed = (statSync(dataFolder).mode & 0o077) === 0;
  expect(isFolderClosed ? [] : open).toEqual([]);
  expect(statSync(join(dataFolder, 'tokens.json')).mode & 0o077).toBe(0);
}, 240_000);
