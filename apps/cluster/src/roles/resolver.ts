import { hostname } from 'node:os';
import { runCancellationStream } from '@countersign/contracts';
import {
  createExecutions,
  createResolver,
  createResolverApp,
  createResolverMetrics,
  loadTools,
} from '@countersign/resolver';
import { createHistory } from '@countersign/shell';
import type { RuntimePorts } from '@countersign/shell';
import type { RoleConfig } from '../config.js';
import { followLog } from '../follow-log.js';
import { openTopics } from '../kafka.js';
import { openReceipts } from '../receipts.js';
import { openRecord } from '../record.js';
import { openEventStore } from '../role-process.js';
import type { LedgerStore, OpenRole } from '../role-process.js';
import { subscriptionCheck } from '../subscription-check.js';
import { openViews } from '../views.js';
import { openWriteSide } from '../write-side.js';

/** The streams of which one that cannot be read forbids a claim. It names the run, and no stream of a call does. */
const forbiddingStreams = [runCancellationStream('')];

/** Learns of the cancellations that cannot be read. Resolves when those recorded so far are known. */
export function followForbidding(
  process: Parameters<typeof followLog>[0],
  { store }: Pick<LedgerStore, 'store'>,
): Promise<void> {
  // The store itself looks at what passes.
  return followLog(process, 'cancellations', store, { streams: forbiddingStreams, onEvents: () => undefined });
}

/** Executes the calls of the tools file. */
export async function readResolver(config: RoleConfig, { log }: RuntimePorts): Promise<OpenRole> {
  const tools = await loadTools(config.toolsFile, process.env);
  if (tools.tools.length === 0) {
    log.warn({}, 'COUNTERSIGN_TOOLS lists no tools: this resolver executes nothing');
    return async () => undefined;
  }
  return async (roleProcess) => {
    const { clock, ids, tracing, registry, onStop, check } = roleProcess;
    const ledgerStore = await openEventStore(roleProcess);
    const receipts = openReceipts(roleProcess);
    await openRecord(roleProcess, ledgerStore.ownRecord, { tools: tools.tools, receipts: receipts ?? null });
    await followForbidding(roleProcess, ledgerStore);
    // A receipt tells the place of the call in its run.
    const readModel = receipts === undefined ? undefined : await openViews(roleProcess, ledgerStore);
    const commands = openWriteSide(roleProcess, ledgerStore, {
      tools,
      ...(readModel && { history: createHistory(readModel, { clock, waitMs: 250 }) }),
    });
    const { bus, names } = await openTopics(roleProcess, ({ events, deadLetters }) => [events, deadLetters]);
    const resolverId = `${hostname()}/${String(process.pid)}`;
    const executions = createExecutions(commands, ids, receipts?.receipts);
    const { leaseMs } = config;
    const resolver = createResolver({
      ...{ executions, tools, clock, ids, log, tracing, resolverId },
      ...(leaseMs === null ? {} : { leaseMs }),
      metrics: createResolverMetrics(registry),
    });
    const app = await createResolverApp({ resolver, bus, topic: names.events, log, tracing });
    onStop(() => app.close());
    await app.listen();
    check(subscriptionCheck('consumer', app.status));
  };
}
