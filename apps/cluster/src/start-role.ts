import { createMetricsRegistry, createReloadCheck, observeReloads, warnOfUnsafeNode } from '@countersign/shell';
import type { OperationsPorts, ReadinessCheck, ReloadedFile, RuntimePorts } from '@countersign/shell';
import type { Role, RoleConfig } from './config.js';
import { openOperationsApp } from './operations-app.js';
import type { OpenRole, OwnServer, RoleProcess } from './role-process.js';
import { readGateway } from './roles/gateway.js';
import { readKeeper } from './roles/keeper.js';
import { readLedger } from './roles/ledger.js';
import { readNotary } from './roles/notary.js';
import { readNotifier } from './roles/notifier.js';
import { readProjector } from './roles/projector.js';
import { readRelay } from './roles/relay.js';
import { readResolver } from './roles/resolver.js';

/** One started process of the cluster. `/readyz` says whether it is ready. */
export interface RunningRole {
  /** Its URL. */
  readonly url: string;
  /** Settles with the reason when the process should end and be started again. */
  readonly failed: Promise<string>;
  /** Readiness turns red, consumption stops, requests in flight finish, and everything is closed. */
  readonly stop: () => Promise<void>;
  /** Accepts no more requests and finishes those in flight. Nothing else is closed. */
  readonly leave: () => Promise<void>;
}

/** Reads the configured files first, so that an error in a file is reported before the role starts. */
const readRole: Readonly<Record<Role, (config: RoleConfig, world: RuntimePorts) => Promise<OpenRole>>> = {
  gateway: readGateway,
  ledger: readLedger,
  relay: readRelay,
  projector: readProjector,
  resolver: readResolver,
  notifier: readNotifier,
  notary: readNotary,
  keeper: readKeeper,
};

/**
 * Starts one role. Resolves as soon as `/readyz` responds, which names what the process waits for; the event store and
 * the brokers may be unreachable.
 * @throws the problem of a configuration file, or EADDRINUSE.
 */
export async function startRole(role: Role, config: RoleConfig, world: RuntimePorts): Promise<RunningRole> {
  warnOfUnsafeNode(world.log);
  const open = await readRole[role](config, world);
  const stopping = new AbortController();
  const checks = new Map<string, ReadinessCheck>();
  // Spans of the last steps of the shutdown are sent too.
  const stops: (() => void | Promise<void>)[] = world.tracing === undefined ? [] : [world.tracing.close];
  const registry = createMetricsRegistry();
  checks.set('process', {
    name: 'process',
    check: () => (stopping.signal.aborted ? { status: 'failing', why: 'is stopping' } : { status: 'ok' }),
  });
  const files: ReloadedFile[] = [];
  const reloads = createReloadCheck(() => files);
  checks.set(reloads.name, reloads);
  observeReloads(registry, () => files);
  const ports: OperationsPorts = {
    get checks() {
      return [...checks.values()];
    },
    metricsText: () => registry.metrics(),
  };
  const { host, port } = config;
  const starting = role === 'gateway' ? { starting: 'the gateway is starting: /readyz says what it waits for' } : {};
  const operations = await openOperationsApp(ports, world.log, { host, port, ...starting });
  let closeServer = operations.close;
  let leaveServer = operations.close;

  const failed = Promise.withResolvers<string>();
  const serve = async (openServer: (port: number) => Promise<OwnServer>): Promise<void> => {
    const server = await openServer(operations.port);
    stopping.signal.throwIfAborted();
    await operations.close();
    closeServer = async () => undefined;
    stops.push(server.close);
    leaveServer = server.close;
    await server.listen();
  };
  const process: RoleProcess = {
    ...world,
    config,
    registry,
    stopping: stopping.signal,
    check: (check) => void checks.set(check.name, check),
    checks: () => [...checks.values()],
    followed: (file) => void files.push(file),
    followedFiles: () => files,
    onStop: (stop) => void stops.push(stop),
    fail: failed.resolve,
    serve,
  };
  const opening = open(process).catch((error: unknown) => {
    if (stopping.signal.aborted) return;
    world.log.error({ error }, 'the process cannot work');
    failed.resolve(error instanceof Error ? error.message : String(error));
  });
  return {
    url: operations.url,
    failed: failed.promise,
    stop: async () => {
      stopping.abort(new Error('the process is stopping'));
      await opening;
      for (const stop of stops.splice(0).reverse()) await stop();
      await closeServer();
    },
    leave: () => {
      stopping.abort(new Error('the process is ending'));
      return leaveServer();
    },
  };
}
