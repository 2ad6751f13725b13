import { closeBatch, endInside, endRun, fireDue, takeTurn } from '@countersign/commands';
import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import {
  readConfiguredParts,
  createFileTokens,
  createChannelPeople,
  createGatewayApp,
  createGatewayMetrics,
  createPeople,
  createRecordOfUse,
  createTokensFile,
  loadOidc,
  openGatewayFiles,
} from '@countersign/gateway';
import type { FileTokens, Sessions } from '@countersign/gateway';
import type { ChannelsConfig } from '@countersign/channels';
import { topicNames } from '@countersign/message-bus';
import { createBatchCloser, createDeadlines, createProjectorCheck, createTurns } from '@countersign/projector';
import { createLogComparison } from '@countersign/read-model';
import type { OpenNotary } from '@countersign/notary';
import { createChannelsCheck } from '@countersign/notifier';
import { createExecutions, createResolver, createResolverApp } from '@countersign/resolver';
import { keepPrivate } from '@countersign/runtime';
import {
  countParked,
  createClockCheck,
  createKeysCheck,
  createLogEndCheck,
  createOpenCalls,
  createReloadCheck,
  digestOfFile,
  digestOfText,
  followBackups,
  noteStart,
  observeReloads,
  recordConfiguration,
  warnOfUnsafeNode,
} from '@countersign/shell';
import type { ReloadedFile, RuntimePorts } from '@countersign/shell';
import type { StandaloneConfig, StandalonePorts } from './config.js';
import { checkHost } from './check-host.js';
import { refuseUsedPort } from './free-port.js';
import { observeVerified } from './log-metrics.js';
import { openErasures } from './open-erasures.js';
import { openReceipts } from './open-receipts.js';
import type { StandaloneReceipts } from './open-receipts.js';
import { openStores } from './open-stores.js';
import { startNotary } from './start-notary.js';
import { readChannels, startNotifier } from './channels.js';
import type { RunningNotifier } from './channels.js';
import type { Stores } from './open-stores.js';

/** A running standalone process. */
export interface Standalone {
  /** Its URL. */
  readonly url: string;
  readonly tokensFile: string;
  /** True if this start created the tokens file. */
  readonly isFirstStart: boolean;
  /**
   * Finishes requests in progress, lets running tools report, stores everything, and releases the data folder. Each call
   * resolves after that.
   */
  readonly stop: () => Promise<void>;
  /** Accepts no more requests and finishes those in flight. Nothing else is closed. */
  readonly leave: () => Promise<void>;
}

/** The parts to stop, in reverse order of the start. */
type Stop = () => void | Promise<void>;

/**
 * Opens the ledger in the data folder and everything around it: HTTP, deadlines, and the tools that the service
 * executes. When it rejects, nothing is left running.
 */
export async function startStandalone(config: StandaloneConfig, world: StandalonePorts): Promise<Standalone> {
  const tokensFile = config.tokensFile ?? join(config.dataFolder, 'tokens.json');
  const stops: Stop[] = world.tracing === undefined ? [] : [world.tracing.close];
  const stopAll = async (): Promise<void> => {
    for (const one of stops.reverse()) await one();
  };
  let stopping: Promise<void> | undefined;
  const stop = (): Promise<void> => (stopping ??= stopAll());
  try {
    checkHost(config);
    await refuseUsedPort(config);
    warnOfUnsafeNode(world.log);
    const { url, isFirstStart, leave } = await startAll(config, world, tokensFile, stops);
    return { url, tokensFile, isFirstStart, stop, leave };
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startAll(config: StandaloneConfig, world: StandalonePorts, tokensFile: string, stops: Stop[]) {
  const { clock, ids, log, tracing } = world;
  const metrics = createGatewayMetrics();
  const channels = readChannels(config, world);
  const isFirstStart = config.tokensFile === null && !existsSync(tokensFile);
  const openTokens = (): FileTokens => {
    const opened = createFileTokens(tokensFile, log);
    stops.push(opened.close);
    return opened;
  };
  let known = isFirstStart ? undefined : openTokens();
  const { people, signedInAt } = openPeople(config, channels, () => known);
  const { stores, notary } = await openLedger(config, world, metrics, people, stops);
  const receipts = openReceipts(config, world, stops);
  const { bus, commands, readModel, store, projector, vault, unreadable } = stores;

  if (isFirstStart) createTokensFile(tokensFile);
  else if (config.tokensFile === null) keepPrivate(tokensFile);
  const tokens = (known ??= openTokens());
  await recordConfigured(config, stores, { tokens, tokensFile, channels, receipts, notary, clock });
  const files = filesFollowed(tokens, [...stores.followed, ...receipts.followed, ...notary.followed]);
  observeReloads(metrics.registry, files);
  const comparison = createLogComparison({ readModel, store, clock, log, chance: Math.random });
  stops.push(comparison.stop);
  observeVerified(metrics.registry, store.verified, comparison.compared);
  const use = createRecordOfUse(stores.system, clock);
  stops.push(use.close);
  const { idempotency, sessions, close } = openGatewayFiles(config.dataFolder, { tokens, clock, ids });
  signedInAt(sessions);
  const channelPeople = createChannelPeople(channels.people, commands.policies, people, clock);
  stops.push(close);
  const oidc = config.oidc === null ? undefined : await loadOidc(config.oidc, { clock, log });

  const deadlines = createDeadlines({
    readModel,
    fireDue: (...due) => fireDue(commands, ...due),
    clock: store.clock,
    log,
    onFired: metrics.deadlineFired,
  });
  const turns = createTurns({ readModel, takeTurn: (turn) => takeTurn(commands, turn), clock, log });
  const backups = followBackups({ folder: config.dataFolder, system: stores.system, clock, log });
  startEach([deadlines, turns, backups], stops);
  const ending = { commands, store, openCalls: createOpenCalls({ store, readModel, clock }), clock, ids };
  createBatchCloser({
    ...{ bus, topic: topicNames().events },
    closeBatch: (...batch) => closeBatch(commands, ...batch),
    endRun: (...denied) => endRun(ending, ...denied),
    endInside: (...cancelled) => endInside(ending, ...cancelled),
  });
  stops.push(await startResolver(stores, world, receipts));

  // Its links need the port of the gateway, so it starts later.
  const started: { notifier?: RunningNotifier | undefined } = {};
  const gateway = await createGatewayApp(
    {
      commands,
      readModel,
      store,
      sealedLog: vault.store.raw,
      isLogDamaged: () => store.verified().isDamaged,
      unreadable: unreadable.streams,
      tokens,
      sessions,
      oidc,
      channels,
      people: channelPeople,
      idempotency,
      requestHash: vault.requestsKey.hash,
      erasures: openErasures(stores, idempotency, world),
      ...{ checkpoints: notary, tiles: notary, logPublic: config.logPublic },
      receipts,
      metrics,
      clock,
      ids,
      log,
      checks: [
        createProjectorCheck(projector.health),
        createClockCheck(store.clock),
        createKeysCheck(vault.keys.lost),
        createLogEndCheck(stores.system),
        ...notary.checks,
        createChannelsCheck(() => started.notifier),
        createReloadCheck(files),
      ],
      ...{ requestsPerSecond: config.requestsPerSecond, recordsAddresses: config.recordsAddresses },
      use,
      tracing,
    },
    {
      ...{ host: config.host, port: config.port, corsOrigins: config.corsOrigins },
      inbox: { publicUrl: config.publicUrl ?? undefined, frameAncestors: config.frameAncestors },
    },
  );
  stops.push(gateway.close);
  await gateway.listen();
  const publicUrl = receipts.listensAt(gateway.url);
  const needs = { tokens, sessions, people: channelPeople, publicUrl, registry: metrics.registry };
  started.notifier = await startNotifier(stores, channels, world, needs);
  if (started.notifier !== undefined) stops.push(started.notifier.stop);
  void store.keepVerifying();
  void comparison.keepComparing();
  return { url: gateway.url, isFirstStart, leave: gateway.close };
}

/** The stores and the notary of their log. Commands are refused while the log contradicts what was signed. */
async function openLedger(
  config: StandaloneConfig,
  world: StandalonePorts,
  metrics: ReturnType<typeof createGatewayMetrics>,
  people: ReturnType<typeof createPeople>,
  stops: Stop[],
) {
  const started: { notary?: ReturnType<typeof startNotary> } = {};
  const counted = { onCommit: metrics.storeCommitted, onParked: countParked(metrics.registry) };
  const stores = await openStores(config, world, counted, people, () => started.notary?.whyReadOnly());
  stops.push(stores.close);
  const notary = startNotary(stores, config, world, metrics);
  stops.push(notary.stop);
  started.notary = notary;
  // Nothing else is recorded in an epoch before the event that says why it began.
  if (stores.acceptedEnd !== undefined) await notary.begun();
  return { stores, notary };
}

/** Records the configuration, as far as it is another one than this process recorded last. No token counts before that. */
async function recordConfigured(
  { channelsFile, toolsFile, policyFile, oidc }: StandaloneConfig,
  { system, tools, vault }: Stores,
  { tokens, tokensFile, channels, receipts, notary, clock }: Configured,
): Promise<void> {
  await tokens.recordIn(system, clock);
  await recordConfiguration(
    system,
    readConfiguredParts(system, { channelsFile, channels, toolsFile, tools: tools.tools, oidc }),
  );
  await receipts.recordIn(system);
  await notary.recordSettings(system);
  const named = { tokens: tokensFile, policy: policyFile, channels: channelsFile, tools: toolsFile };
  const files = Object.entries(named).map(([name, file]) => [name, digestOfFile(file)] as const);
  const rootKey = digestOfText(vault.keys.rootFingerprint);
  await noteStart(system, { role: 'standalone', files: Object.fromEntries(files), rootKey });
}

/** The files that are read again when they change. */
function filesFollowed({ isCurrent }: FileTokens, others: readonly ReloadedFile[]): () => readonly ReloadedFile[] {
  const files: readonly ReloadedFile[] = [{ name: 'tokens', isCurrent }, ...others];
  return () => files;
}

interface Configured extends Pick<RuntimePorts, 'clock'> {
  readonly tokens: FileTokens;
  readonly tokensFile: string;
  readonly channels: ChannelsConfig;
  readonly receipts: StandaloneReceipts;
  readonly notary: Pick<OpenNotary, 'recordSettings'>;
}

/** The people of the process. Their sessions are opened later, in the data folder. */
function openPeople({ oidc }: StandaloneConfig, channels: ChannelsConfig, tokens: () => FileTokens | undefined) {
  let sessions: Sessions | undefined;
  const issuer = oidc?.issuer ?? null;
  const people = createPeople({ tokens, sessions: () => sessions, channels, issuer });
  const signedInAt = (opened: Sessions): void => {
    sessions = opened;
  };
  return { people, signedInAt };
}

/** Executes the calls of the tools file; without one it does nothing. */
async function startResolver(
  { bus, commands, tools }: Stores,
  world: RuntimePorts,
  receipts: StandaloneReceipts,
): Promise<Stop> {
  if (tools.tools.length === 0) return () => undefined;
  const { log, tracing } = world;
  const resolverId = `${hostname()}/${String(process.pid)}`;
  const executions = createExecutions(commands, world.ids, receipts);
  const resolver = createResolver({ ...world, executions, tools, resolverId });
  const app = await createResolverApp({ resolver, bus, topic: topicNames().events, log, tracing });
  await app.listen();
  return app.close;
}

function startEach(works: readonly { readonly start: () => void; readonly stop: Stop }[], stops: Stop[]): void {
  for (const { start, stop } of works) {
    start();
    stops.push(stop);
  }
}
