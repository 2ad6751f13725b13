import { join } from 'node:path';
import { createWriteSide, recordAtStart, recordPolicy, recordShadowPolicy } from '@countersign/commands';
import type { CommandPorts, People } from '@countersign/commands';
import { createUnreadableWatch, openEmbeddedEventStore } from '@countersign/event-store';
import type { CommitMetrics, EmbeddedEventStore, UnreadableWatch } from '@countersign/event-store';
import { createEmbeddedMessageBus, topicNames } from '@countersign/message-bus';
import type { MessageBus, OnParked } from '@countersign/message-bus';
import { readNewestCheckpoint } from '@countersign/notary';
import { createLivePolicies } from '@countersign/policy';
import type { KnownPeople, PolicyContent } from '@countersign/policy';
import { createProjector } from '@countersign/projector';
import type { Projector } from '@countersign/projector';
import { openReadModel } from '@countersign/read-model';
import type { FileReadModel } from '@countersign/read-model';
import { loadTools } from '@countersign/resolver';
import type { ToolSet } from '@countersign/resolver';
import { makeFolderOf } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import {
  createHistory,
  createReadOnlyStore,
  createStopFile,
  createTracedStore,
  followPolicyFile,
  followShadowPolicy,
  loadConditions,
  noteAcceptedEnd,
  noteRefused,
  openSystemLog,
  policyParts,
  processTenant,
  readOptionalPolicy,
  recordConfiguration,
} from '@countersign/shell';
import type { AcceptedEnd, ReloadedFile, RuntimePorts, SystemLog } from '@countersign/shell';
import { beginRestore } from './after-restore.js';
import type { StandaloneConfig, StandalonePorts } from './config.js';
import { checkKnownPositions } from './log-end.js';
import { openVault } from './vault.js';
import type { Vault } from './vault.js';

/** The ledger on one machine without HTTP: the log, the read model, the write side and the bus. */
export interface Stores {
  readonly store: EmbeddedEventStore;
  /** The keys of sensitive values. */
  readonly vault: Vault;
  /** The streams that this process found to be set aside. */
  readonly unreadable: UnreadableWatch;
  readonly readModel: FileReadModel;
  readonly projector: Projector;
  readonly commands: CommandPorts;
  readonly tools: ToolSet;
  readonly bus: MessageBus;
  /** Where the log ended, because the operator accepts it as it was found; otherwise undefined. */
  readonly acceptedEnd: Omit<AcceptedEnd, 'checkpoint'> | undefined;
  /** Who configured this process, who signed in, who looked. */
  readonly system: SystemLog;
  /** The policy files that are followed. */
  readonly followed: readonly ReloadedFile[];
  /** Flushes what is only in memory and gives the data folder back. */
  readonly close: () => Promise<void>;
}

/**
 * Opens the ledger of a data folder. Resolves when the read model has caught up.
 * @throws EventStoreUnavailableError when another process has the folder; EventStoreDamagedError, LogRewoundError,
 *   PolicyFileError, ToolsFileError: each names the problem and its place.
 * @param whyReadOnly why nothing more is recorded than what the process says about itself; undefined: all is.
 */
export async function openStores(
  config: StandaloneConfig,
  world: StandalonePorts,
  metrics?: CommitMetrics & { readonly onParked: OnParked },
  people?: KnownPeople & People,
  whyReadOnly: () => string | undefined = () => undefined,
): Promise<Stores> {
  const { clock, ids, log, env = process.env } = world;
  const policy = await readOptionalPolicy(config.policyFile, people);
  const tools = await loadTools(config.toolsFile, env);
  makeFolderOf('COUNTERSIGN_DATA', config.dataFolder);
  const stops: (() => void | Promise<void>)[] = [];
  const close = async (): Promise<void> => {
    for (const stop of stops.splice(0).reverse()) await stop();
  };
  try {
    const raw = await openStore(config, world, metrics);
    stops.push(raw.close);
    const end = await raw.head();
    const known = checkKnownPositions(config.dataFolder, end, config.acceptedLogEnd);
    const vault = await openVault(config, raw, log);
    stops.push(vault.close);
    const { texts: seal } = vault;
    const unreadable = createUnreadableWatch(log);
    const traced = unreadable.over(createTracedStore(vault.store, world.tracing));
    const store = createReadOnlyStore(traced, whyReadOnly);
    const readModel = await openReadModel({ file: join(config.dataFolder, 'read-model.db'), source: store, log, seal });
    stops.push(readModel.close);
    unreadable.know(readModel.unreadable.all());
    const projector = createProjector({ store, readModel, clock, log });
    stops.push(projector.stop);
    await projector.start();
    // What the process records about itself goes on: how a person went on with a log, for one.
    const system = openSystemLog({ store: traced, folder: config.dataFolder, clock, ids, log });
    stops.push(system.close);
    const accepted: AcceptedEnd = {
      known: Math.max(known, raw.acknowledgedAtOpen),
      end,
      checkpoint: readNewestCheckpoint(config.dataFolder, processTenant),
    };
    const restore = await beginRestore(config.dataFolder, end, system, log);
    await noteAcceptedEnd(system, accepted, log);
    const record = async (content: PolicyContent | null): Promise<void> => {
      await recordPolicy(store, content, timeOf(clock), { accepted: config.acceptedPolicy });
      await recordConfiguration(system, policyParts(system, content));
    };
    const tenant = policy?.tenant ?? 'default';
    const forbidding = await recordAtStart(() => record(policy), tenant, unreadable, log);
    const policies = createLivePolicies(policy);
    const followed: ReloadedFile[] = [];
    if (config.policyFile !== null && policy !== null) {
      const file = config.policyFile;
      const onRefused = (error: unknown): void => {
        noteRefused(system, 'policy', error, file);
      };
      const follower = followPolicyFile({ file, tenant, policies, people, record, onRefused, clock, log });
      stops.push(follower.close);
      followed.push({ name: 'policy', isCurrent: follower.isCurrent });
    }
    const shadow = openShadow(config, store, world, people);
    if (shadow !== undefined) {
      stops.push(shadow.close);
      followed.push({ name: 'policy-shadow', isCurrent: shadow.isCurrent });
    }
    const commands = createWriteSide({
      store,
      policies,
      forbidding,
      isRestored: system.isRestored,
      shadow,
      people,
      grants: { index: readModel.grants, conditions: loadConditions },
      history: createHistory(readModel),
      stopFile: createStopFile(config.dataFolder),
      tools,
      ids,
      log,
    });
    await restore.settle(commands, readModel, store);
    const topics = { [topicNames().events]: store };
    const bus = createEmbeddedMessageBus({ folder: config.dataFolder, topics, clock, log, ...metrics });
    stops.push(bus.close);
    return {
      store,
      vault,
      unreadable,
      readModel,
      projector,
      commands,
      tools,
      bus,
      acceptedEnd: [config.acceptedLogEnd, restore.end].includes(end) ? accepted : undefined,
      system,
      followed,
      close,
    };
  } catch (error) {
    await close();
    throw error;
  }
}

function openShadow(
  { shadowPolicyFile: file }: StandaloneConfig,
  store: EmbeddedEventStore,
  { clock, log }: RuntimePorts,
  people?: KnownPeople,
) {
  if (file === null) return undefined;
  const record = (content: PolicyContent): Promise<void> => recordShadowPolicy(store, content, timeOf(clock));
  return followShadowPolicy({ file, people, record, clock, log });
}

function timeOf(clock: Clock): string {
  return new Date(clock.now()).toISOString();
}

function openStore(
  { dataFolder: folder, acceptedLogEnd }: StandaloneConfig,
  { clock, log }: RuntimePorts,
  metrics: CommitMetrics | undefined,
): Promise<EmbeddedEventStore> {
  const accepted = acceptedLogEnd === null ? {} : { acceptedEnd: acceptedLogEnd };
  return openEmbeddedEventStore({ folder, clock, log, ...accepted, ...(metrics && { metrics }) });
}
