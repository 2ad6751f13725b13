import {
  createLedger,
  createLedgerApp,
  createLedgerMetrics,
  createOpenCalls,
  loadRequestKeys,
} from '@countersign/ledger';
import { loadTools } from '@countersign/resolver';
import { readPolicy } from '@countersign/shell';
import type { OutsideWorld } from '@countersign/shell';
import type { RoleConfig } from '../config.js';
import { openTopics } from '../kafka.js';
import { openEventStore } from '../role-process.js';
import type { OpenRole } from '../role-process.js';
import { subscriptionCheck } from '../subscription-check.js';
import { openViews } from '../views.js';
import { openJudgingWriteSide } from '../write-side.js';

/** Takes requests off Kafka; with the views it knows which calls of a run are open when a whole run is cancelled. */
export async function readLedger(config: RoleConfig, world: OutsideWorld): Promise<OpenRole> {
  const policy = readPolicy(config.policyFile);
  const tools = await loadTools(config.toolsFile, process.env);
  const { requests } = config;
  if (requests === null) throw new Error('the ledger has no configuration of its requests');
  const keys = requests.keysFile === null ? null : await loadRequestKeys(requests.keysFile, world.log);
  const unsigned = { mode: requests.unsigned, tenant: requests.tenant, principal: requests.principal };
  return async (process) => {
    const { clock, ids, log, registry, onStop, check } = process;
    if (keys !== null) onStop(keys.close);
    // Nobody hears from this process what it recorded: the events topic tells.
    const store = await openEventStore(process, { readsBack: false });
    const commands = await openJudgingWriteSide(process, store, policy, tools, { looksFirst: false });
    const readModel = await openViews(process, store);
    const { bus, names } = await openTopics(process, (topics) => [topics.requests, topics.deadLetters]);
    const metrics = createLedgerMetrics(registry);
    const openCalls = createOpenCalls({ store, readModel, clock });
    const ledger = createLedger({ commands, store, openCalls, keys, unsigned, clock, ids, log, metrics });
    const app = await createLedgerApp({ ledger, bus, topic: names.requests, log });
    onStop(() => app.close());
    await app.listen();
    check(subscriptionCheck('consumer', app.status));
  };
}
