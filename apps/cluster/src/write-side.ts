import {
  createWriteSide,
  forgetStreams,
  policyInForce,
  recordAtStart,
  recordPolicy,
  recordShadowPolicy,
} from '@countersign/commands';
import type { CommandPorts, People, ServiceTools, WriteSidePorts } from '@countersign/commands';
import { createDecidingClock } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { createLivePolicies } from '@countersign/policy';
import type { KnownPeople, LivePolicies, PolicyContent } from '@countersign/policy';
import {
  createStopFile,
  followPolicyFile,
  followShadowPolicy,
  noteRefused,
  policyParts,
  recordConfiguration,
} from '@countersign/shell';
import type { SystemLog } from '@countersign/shell';
import { isStoreAway, untilDone } from './role-process.js';
import type { LedgerStore, RoleProcess } from './role-process.js';

/** The options of a process that judges. `people`: default: not known. */
type JudgingOptions = Pick<WriteSidePorts, 'writeOnly' | 'grants' | 'history'> & {
  readonly people?: KnownPeople & People;
  /** Where a changed policy is recorded as configuration of this process. Default: nowhere. */
  readonly system?: SystemLog;
};

/** The commands over the log of the process. Their cached streams are copies: an erasure drops them. */
function createCommands(
  { config: { dataFolder }, ids, log }: RoleProcess,
  { store, vault, unreadable }: LedgerStore,
  ports: Omit<WriteSidePorts, 'store' | 'ids' | 'log'>,
): CommandPorts {
  const stopFile = createStopFile(dataFolder);
  const commands = createWriteSide({ store, forbidding: unreadable, stopFile, ids, log, ...ports });
  vault?.keepInMemory(() => {
    forgetStreams(commands);
  });
  return commands;
}

/** The commands of a process that judges requests: which policy it judges by is recorded first. */
export async function openJudgingWriteSide(
  process: RoleProcess,
  ledgerStore: LedgerStore,
  policy: PolicyContent | null,
  tools: ServiceTools,
  { people, system, ...options }: JudgingOptions = {},
): Promise<CommandPorts> {
  const { log } = process;
  const { store, ownRecord } = ledgerStore;
  const { acceptedPolicy: accepted } = process.config;
  const recordIn = async (target: EventStore, content: PolicyContent | null): Promise<void> => {
    await recordPolicy(target, content, timeOf(store), { accepted });
    if (system !== undefined) await recordConfiguration(system, policyParts(system, content));
  };
  const tenant = policy?.tenant ?? 'default';
  const forbidding = await untilDone(process, 'policy', isStoreAway, () =>
    // Also while the log is read-only: the gateway that goes on with it must start.
    recordAtStart(() => recordIn(ownRecord, policy), tenant, ledgerStore.unreadable, log),
  );
  const policies = livePolicies(process, policy, (content) => recordIn(store, content), people, system);
  const shadow = openShadow(process, store, people);
  return createCommands(process, ledgerStore, { policies, forbidding, shadow, people, tools, ...options });
}

function openShadow(
  { config: { shadowPolicyFile: file }, clock, log, onStop, followed }: RoleProcess,
  store: EventStore,
  people?: KnownPeople,
): CommandPorts['shadow'] {
  if (file === null) return undefined;
  const record = async (content: PolicyContent): Promise<void> => recordShadowPolicy(store, content, timeOf(store));
  const shadow = followShadowPolicy({ file, people, record, clock, log });
  onStop(shadow.close);
  followed({ name: 'policy-shadow', isCurrent: shadow.isCurrent });
  return shadow;
}

/** The store's time, as it is recorded. @throws EventStoreUnavailableError while it is not known. */
function timeOf({ clock }: EventStore): string {
  return new Date(createDecidingClock(clock).now()).toISOString();
}

const noTools: ServiceTools = { find: () => undefined };

/** The commands of a process that judges nothing; `tools` are those that it claims and reports for. */
export function openWriteSide(
  process: RoleProcess,
  ledgerStore: LedgerStore,
  { tools = noTools, ...options }: Partial<Pick<WriteSidePorts, 'tools' | 'history'>> = {},
): CommandPorts {
  return createCommands(process, ledgerStore, { tools, ...options });
}

/**
 * The commands of a process that judges what is recorded, by `policy`, which the gateways record: it receives the responses of people, ends
 * what waits for them, or gives calls their turn.
 */
export function openAnsweringWriteSide(
  process: RoleProcess,
  ledgerStore: LedgerStore,
  policy: PolicyContent | null,
  { people, ...options }: Pick<JudgingOptions, 'people' | 'grants' | 'history'>,
): CommandPorts {
  const policies = livePolicies(process, policy, () => Promise.resolve(), people);
  const inForce = (tenant: string): Promise<string> => policyInForce(ledgerStore.store, tenant);
  return createCommands(process, ledgerStore, { policies, policyInForce: inForce, people, tools: noTools, ...options });
}

/** The policies of this process. Those of a file follow its changes. */
function livePolicies(
  { config: { policyFile: file }, clock, log, onStop, followed }: RoleProcess,
  policy: PolicyContent | null,
  record: (content: PolicyContent) => Promise<void>,
  people?: KnownPeople,
  system?: SystemLog,
): LivePolicies {
  const policies = createLivePolicies(policy);
  if (file === null || policy === null) return policies;
  const onRefused = (error: unknown): void => {
    if (system !== undefined) noteRefused(system, 'policy', error, file);
  };
  const follower = followPolicyFile({ file, tenant: policy.tenant, policies, people, record, onRefused, clock, log });
  onStop(follower.close);
  followed({ name: 'policy', isCurrent: follower.isCurrent });
  return policies;
}
