import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { afterEach } from '@jest/globals';
import type { EventStore } from '@countersign/event-store';
import { connectOf, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import type { EventStoreDbOptions } from '@countersign/event-store/eventstoredb';
import { systemClock } from '@countersign/runtime';
import { createCollectingLog } from '@countersign/runtime/testing';
import type { CollectingLog } from '@countersign/runtime/testing';
import { createAuthority } from '../../kafka-broker/certificates.ts';
import { scheme } from '../../eventstoredb-server/client-under-test.ts';
import type { TestServer, TestServerOptions } from '../../eventstoredb-server/server.ts';

/** The client under test. */
export const connect = await connectOf(`${scheme}://`);

const undos: (() => void | Promise<void>)[] = [];

/** Undoes after each test, last first, what `start…` and `open…` have opened. */
export function cleanUpAfterEach(): void {
  afterEach(async () => {
    for (const undo of undos.splice(0).reverse()) await undo();
  });
}

/** A server that is gone after the test. */
export async function startServer(options?: TestServerOptions): Promise<TestServer> {
  // Loaded by those that start it alone: its generated messages share global names with those of Kurrent's client.
  const { startTestServer } = await import('../../eventstoredb-server/server.ts');
  const server = await startTestServer(options);
  undos.push(server.stop);
  return server;
}

/** A server with TLS and an admin, and its URL as one of its users. */
export interface SecuredServer {
  readonly server: TestServer;
  readonly as: (login: string) => string;
}

/** Starts one; the service's user has no rights there yet. */
export async function startSecuredServer(): Promise<SecuredServer> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-secured-'));
  onCleanUp(() => {
    rmSync(folder, { recursive: true, force: true });
  });
  const authority = createAuthority(folder);
  const tls = { ...authority.certify('eventstoredb-node'), caFile: authority.caFile };
  const server = await startServer({ adminPassword: 'admin-secret', tls });
  return { server, as: (login) => server.url.replace('esdb://', `esdb://${login}@`) };
}

/** Registers something to be undone after the test. */
export function onCleanUp(undo: () => void | Promise<void>): void {
  undos.push(undo);
}

/** A store under test, and what it logged. */
export interface OpenedStore {
  readonly store: EventStore;
  readonly log: CollectingLog;
}

/** For a test in which the server responds: a busy machine must not make it too late. */
export const patient = { timeouts: { appendMs: 100_000, readMs: 100_000 } };

/** Opens a store with short timeouts; it asks after the server once, when it opens. */
export function openStore(url: string, options: Partial<EventStoreDbOptions> = {}): OpenedStore {
  const log = createCollectingLog();
  const timeouts = { appendMs: 1_000, readMs: 1_000, probeMs: 60_000, ...options.timeouts };
  const store = openEventStoreDb({
    clock: systemClock,
    connect,
    ...options,
    url: url.replace(/^esdb/, scheme),
    log,
    timeouts,
  });
  undos.push(store.close);
  return { store, log };
}

/** The same, after its first response. */
export async function openReadyStore(url: string, options?: Partial<EventStoreDbOptions>): Promise<OpenedStore> {
  const opened = openStore(url, options);
  // The first call of a process loads the client and connects, so it may exceed these short timeouts.
  for (let tries = 0; tries < 20 && opened.store.health().status !== 'ok'; tries += 1) {
    await opened.store.head().catch(() => undefined);
    // Its time is asked on a connection of its own.
    await delay(10);
  }
  return opened;
}

/** Waits for something to become true. */
export async function until(condition: () => boolean, what: string): Promise<void> {
  const deadline = performance.now() + 100_000;
  while (!condition()) {
    if (performance.now() > deadline) throw new Error(`waited too long for ${what}`);
    await delay(2);
  }
}

/** The duration of the work in ms, and its result. */
export async function timed<T>(work: () => Promise<T>): Promise<{ readonly value: T; readonly tookMs: number }> {
  const startedAt = performance.now();
  const value = await work();
  return { value, tookMs: performance.now() - startedAt };
}
