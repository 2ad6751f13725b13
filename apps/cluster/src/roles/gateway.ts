import {
  createChannelPeople,
  createErasures,
  createFileTokens,
  createGatewayApp,
  createGatewayMetrics,
  createPeople,
  createRecordOfUse,
  loadOidc,
  openGatewayFiles,
} from '@countersign/gateway';
import type { ErasurePorts, GatewayPorts, IdempotencyStore } from '@countersign/gateway';
import { learnCalls } from '@countersign/commands';
import { createBrokenChannelsCheck } from '@countersign/notifier';
import { loadTools } from '@countersign/resolver';
import { createHistory, loadConditions, observeClock, observeReloads, readOptionalPolicy } from '@countersign/shell';
import type { RuntimePorts } from '@countersign/shell';
import { readChannels } from '../channels.js';
import type { RoleConfig } from '../config.js';
import type { Vault } from '../keeper/borrow-vault.js';
import { openReceipts } from '../receipts.js';
import { openRecord } from '../record.js';
import { openEventStore } from '../role-process.js';
import type { OpenRole } from '../role-process.js';
import { followSiblings } from '../siblings.js';
import { openViews } from '../views.js';
import { openJudgingWriteSide } from '../write-side.js';

/** The API and its replica of the read model. */
export async function readGateway(config: RoleConfig, world: RuntimePorts): Promise<OpenRole> {
  const tools = await loadTools(config.toolsFile, process.env);
  const channels = readChannels(config, world.log);
  const tokens = createFileTokens(config.tokensFile ?? '', world.log);
  let files: ReturnType<typeof openGatewayFiles> | undefined;
  const known = createPeople({
    ...{ tokens: () => tokens, sessions: () => files?.sessions, channels },
    issuer: config.issuer,
  });
  const policy = await readOptionalPolicy(config.policyFile, known);
  return async (roleProcess) => {
    const { ids, log, tracing, onStop } = roleProcess;
    onStop(tokens.close);
    if (channels !== undefined) roleProcess.check(createBrokenChannelsCheck(channels.broken));
    const metrics = createGatewayMetrics();
    const ledgerStore = await openEventStore(roleProcess, { tellCommit: metrics.storeCommitted });
    const { store, vault, unreadable, notaries } = ledgerStore;
    const { clock } = store;
    const readModel = await openViews(roleProcess, ledgerStore);
    const grants = { index: readModel.grants, conditions: loadConditions };
    const opened = openReceipts(roleProcess) ?? null;
    const recorded = { tokens, channels, tools: tools.tools, receipts: opened };
    const system = await openRecord(roleProcess, ledgerStore.ownRecord, recorded);
    followSiblings(roleProcess, store, system);
    const use = createRecordOfUse(system, roleProcess.clock);
    onStop(use.close);
    const judging = {
      ...{ system, grants },
      people: known,
      history: createHistory(readModel, { clock: roleProcess.clock, waitMs: 250 }),
    };
    const commands = await openJudgingWriteSide(roleProcess, ledgerStore, policy, tools, judging);
    // What this process approves, or lets workers claim, was mostly requested through another one.
    onStop(readModel.onApplied(({ events }) => learnCalls(commands, events)));
    files = openGatewayFiles(config.dataFolder, { tokens, clock, ids });
    const { idempotency, sessions, close } = files;
    onStop(close);
    const oidc = config.oidc === null ? undefined : await loadOidc(config.oidc, { clock, log });
    observeClock(metrics.registry, clock);
    observeReloads(metrics.registry, roleProcess.followedFiles);
    const checks = roleProcess
      .checks()
      .filter(({ name }) => name !== 'event-store' && name !== 'read-model' && name !== 'unreadable-events');
    const views = { commands, readModel, store, unreadable: unreadable.streams };
    const people = createChannelPeople(channels?.people ?? [], commands.policies, known, clock);
    const door = { use, receipts: opened?.receipts, tokens, sessions, oidc, channels, people, idempotency };
    const ports = {
      ...views,
      ...door,
      checkpoints: notaries,
      tiles: notaries,
      logPublic: config.logPublic,
      recordsAddresses: config.recordsAddresses,
      metrics,
      clock,
      ids,
      log,
      checks,
      tracing,
    };
    const { host, publicUrl, corsOrigins, frameAncestors } = config;
    const erasing = vault && toErasing(vault, { ...views, idempotency, clock, ids, log });
    const sealedLog = vault?.store.raw;
    const limited = { ...ports, ...erasing, sealedLog, requestsPerSecond: config.requestsPerSecond ?? undefined };
    await roleProcess.serve((port) =>
      createGatewayApp(limited, {
        host,
        port,
        corsOrigins,
        inbox: { publicUrl: publicUrl ?? undefined, frameAncestors },
      }),
    );
  };
}

type ErasingPorts = Omit<ErasurePorts, 'keys' | 'raw' | 'settled' | 'rewriteCopies'> & {
  readonly idempotency: IdempotencyStore;
};

/** The parts of a gateway that hash its requests and erase subjects. */
function toErasing(
  { keys, store, requestHash, keepCopy }: Vault,
  { idempotency, ...ports }: ErasingPorts,
): Pick<GatewayPorts, 'requestHash' | 'erasures'> {
  keepCopy(() => {
    idempotency.clear();
    return Promise.resolve();
  });
  // The keeper waits for the appends of all processes when it retires a key, and for their copies when it destroys one.
  const [settled, rewriteCopies] = [() => Promise.resolve(), () => Promise.resolve()];
  const erasures = createErasures({ ...ports, keys, store, raw: store.raw, settled, rewriteCopies });
  return { requestHash, erasures };
}
