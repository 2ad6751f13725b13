import { hostname } from 'node:os';
import {
  createExecutions,
  createResolver,
  createResolverApp,
  createResolverMetrics,
  loadTools,
} from '@countersign/resolver';
import type { RuntimePorts } from '@countersign/shell';
import type { RoleConfig } from '../config.js';
import { openTopics } from '../kafka.js';
import { openEventStore } from '../role-process.js';
import type { OpenRole } from '../role-process.js';
import { subscriptionCheck } from '../subscription-check.js';
import { openWriteSide } from '../write-side.js';

/** Executes the calls of the tools file. */
export async function readResolver(config: RoleConfig, { log }: RuntimePorts): Promise<OpenRole> {
  const tools = await loadTools(config.toolsFile, process.env);
  if (tools.tools.length === 0) {
    log.warn({}, 'COUNTERSIGN_TOOLS lists no tools: this resolver executes nothing');
    return async () => undefined;
  }
  return async (roleProcess) => {
    const { clock, ids, tracing, registry, onStop, check } = roleProcess;
    const commands = openWriteSide(roleProcess, await openEventStore(roleProcess), tools);
    const { bus, names } = await openTopics(roleProcess, ({ events, deadLetters }) => [events, deadLetters]);
    const resolverId = `${hostname()}/${String(process.pid)}`;
    const executions = createExecutions(commands, ids);
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
