import { createLedger, createLedgerApp, createLedgerMetrics, loadRequestKeys } from '@countersign/ledger';
import { createFileTokens, createPeople } from '@countersign/gateway';
import { loadTools } from '@countersign/resolver';
import { createHistory, createOpenCalls, loadConditions, readOptionalPolicy } from '@countersign/shell';
import type { Log } from '@countersign/runtime';
import type { RuntimePorts } from '@countersign/shell';
import type { RequestsConfig, RoleConfig } from '../config.js';
import { openTopics } from '../kafka.js';
import { openRecord } from '../record.js';
import { openEventStore } from '../role-process.js';
import type { OpenRole } from '../role-process.js';
import { subscriptionCheck } from '../subscription-check.js';
import { openViews } from '../views.js';
import { openJudgingWriteSide } from '../write-side.js';

/** Consumes requests from Kafka. It reads the read model to know which calls are open when a run is cancelled. */
export async function readLedger(config: RoleConfig, world: RuntimePorts): Promise<OpenRole> {
  const tokens = config.tokensFile === null ? undefined : createFileTokens(config.tokensFile, world.log);
  const known = createPeople({ tokens: () => tokens, channels: undefined, issuer: config.issuer });
  // The channels file, which this process does not have, may give groups as well.
  const people = { ...known, groupsOf: () => null };
  const policy = await readOptionalPolicy(config.policyFile, people);
  const tools = await loadTools(config.toolsFile, process.env);
  const { requests } = config;
  if (requests === null) throw new Error('the ledger has no configuration of its requests');
  const keys = requests.keysFile === null ? null : await loadRequestKeys(requests.keysFile, world.log);
  const unsigned = { mode: requests.unsigned, tenant: requests.tenant, principal: requests.principal };
  return async (process) => {
    const { ids, log, tracing, registry, onStop, check } = process;
    sayWhoMayAsk(log, requests);
    if (keys !== null) onStop(keys.close);
    if (tokens !== undefined) onStop(tokens.close);
    else log.warn({ remedy: grantsRemedy }, 'no standing grant covers the calls of this process');
    // No reader waits for this process's writes; the events topic announces them.
    const ledgerStore = await openEventStore(process, { writeOnly: true });
    const { store } = ledgerStore;
    const readModel = await openViews(process, ledgerStore);
    const system = await openRecord(process, ledgerStore.ownRecord, { tokens, tools: tools.tools });
    // Attack: a grant of a person who was removed. Without the tokens this process cannot know.
    const grants = tokens && { index: readModel.grants, conditions: loadConditions };
    const judging = { system, ...(grants && { grants, people }), writeOnly: true, history: createHistory(readModel) };
    const commands = await openJudgingWriteSide(process, ledgerStore, policy, tools, judging);
    const { bus, names } = await openTopics(process, (topics) => [topics.requests, topics.deadLetters]);
    const { clock } = commands;
    const metrics = createLedgerMetrics(registry);
    const openCalls = createOpenCalls({ store, readModel, clock });
    const ports = { commands, store, openCalls, clock, ids, log, metrics };
    const requestsPerSecond = config.requestsPerSecond ?? undefined;
    const ledger = createLedger({ ...ports, keys, unsigned, requestsPerSecond });
    const app = await createLedgerApp({ ledger, bus, topic: names.requests, log, tracing });
    onStop(() => app.close());
    await app.listen();
    check(subscriptionCheck('consumer', app.status));
  };
}

const grantsRemedy = 'set COUNTERSIGN_TOKENS_FILE to the file of the gateways: it says who is still an approver';

/** An operator whose producers do not sign must learn at the start why nothing is recorded. */
function sayWhoMayAsk(log: Log, { unsigned, keysFile, tenant, principal }: RequestsConfig): void {
  if (unsigned === 'allow') {
    log.info({ tenant, principal }, 'unsigned requests are allowed: all their producers share one principal');
  } else if (keysFile === null) {
    const remedy =
      'set COUNTERSIGN_REQUESTS_KEYS, or COUNTERSIGN_REQUESTS_UNSIGNED=allow where every producer is trusted';
    log.warn({ remedy }, 'unsigned requests are refused and no keys are configured: every request is refused');
  } else {
    log.info({ keysFile }, 'unsigned requests are refused');
  }
}
