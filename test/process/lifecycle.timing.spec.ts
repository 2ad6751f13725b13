import { describe, expect, test } from '@jest/globals';
import { audit } from './audit/audit.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { createRandom } from './harness/random.js';
import { install } from './harness/standalone.js';
import { folderComplaints } from './harness/verified-folder.js';
import { eventually } from './harness/wait.js';
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
