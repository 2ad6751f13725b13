import { createWriteSide, recordPolicy } from '@countersign/commands';
import type { CommandPorts, ServiceTools, WriteSidePorts } from '@countersign/commands';
import type { EventStore } from '@countersign/event-store';
import type { PolicyContent } from '@countersign/policy';
import { isStoreAway, untilDone } from './role-process.js';
import type { RoleProcess } from './role-process.js';

/** The commands of a process that judges requests: which policy it judges by is recorded first. */
export async function openJudgingWriteSide(
  process: RoleProcess,
  store: EventStore,
  policy: PolicyContent | null,
  tools: ServiceTools,
  options: Pick<WriteSidePorts, 'writeOnly'> = {},
): Promise<CommandPorts> {
  const { clock, ids, log } = process;
  const activatedAt = new Date(clock.now()).toISOString();
  await untilDone(process, 'policy', isStoreAway, () => recordPolicy(store, policy, activatedAt));
  return createWriteSide({ store, policy, tools, clock, ids, log, ...options });
}

const noTools: ServiceTools = { find: () => undefined };

/** The commands of a process that judges nothing; `tools` are those that it claims and reports for. */
export function openWriteSide({ clock, ids, log }: RoleProcess, store: EventStore, tools = noTools): CommandPorts {
  return createWriteSide({ store, policy: null, tools, clock, ids, log });
}

/**
 * The commands of a process that receives people's responses. Edits are judged by `policy`, which the gateways record.
 */
export function openAnsweringWriteSide(
  { clock, ids, log }: RoleProcess,
  store: EventStore,
  policy: PolicyContent,
): CommandPorts {
  return createWriteSide({ store, policy, tools: noTools, clock, ids, log });
}
