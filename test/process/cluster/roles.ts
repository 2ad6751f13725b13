import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { startServerProcess } from '../../eventstoredb-server/server-process.ts';
import type { ServerProcess } from '../../eventstoredb-server/server-process.ts';
import { onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { freePort } from '../../ports.js';
import type { HttpAnswer } from '../harness/http.js';
import { endOf, startServer } from '../harness/server.js';
import type { Server } from '../harness/server.js';
import { eventually } from '../harness/wait.js';

/** The people with tokens; every gateway of a test has this file. */
export const tokenEntries = [
  { token: 'agent-token', principal: 'agent', roles: ['agent'], agentIds: ['*'] },
  { token: 'ann-token', principal: 'ann', roles: ['approver', 'auditor', 'admin'] },
  // The people in the channels file of `openReach`.
  { token: 'me-token', principal: 'me', roles: ['approver'] },
  { token: 'worker-token', principal: 'worker', roles: ['resolver'] },
];

/** A tokens file in its own folder, with these entries and those above. */
export function writeTokens(more: readonly object[] = []): string {
  const file = join(temporaryFolder(), 'tokens.json');
  writeFileSync(file, JSON.stringify([...tokenEntries, ...more]), { mode: 0o600 });
  return file;
}

/** A server that speaks the protocol of EventStoreDB, on a folder; it ends with the test. */
export async function openStoreServer(port?: number, folder: string = temporaryFolder()): Promise<ServerProcess> {
  const server = await startServerProcess({ folder, ...(port === undefined ? {} : { port }) });
  onCleanup(() => server.stop());
  return server;
}

/** The connection string of a test server. */
export function storeUrl(port: number): string {
  return `esdb://127.0.0.1:${String(port)}?tls=false`;
}

/** Starts a role in its own folder, ready or not. */
export async function startRole(role: string, env: Readonly<Record<string, string>>): Promise<Server> {
  return startServer({ folder: temporaryFolder(), port: await freePort(), args: ['start', role], env });
}

/** Two gateways over one store. */
export interface Pair {
  readonly a: Server;
  readonly b: Server;
  /** The variables that further roles over the same store need. */
  readonly env: Readonly<Record<string, string>>;
}

/** Two gateways over one store, each with its own folder. */
export async function openPair(more: Readonly<Record<string, string>> = {}): Promise<Pair> {
  const { port } = await openStoreServer();
  const env = { COUNTERSIGN_EVENTSTORE_URL: storeUrl(port), COUNTERSIGN_TOKENS_FILE: writeTokens(), ...more };
  const [a, b] = await Promise.all([startRole('gateway', env), startRole('gateway', env)]);
  await Promise.all([a.ready(), b.ready()]);
  return { a, b, env };
}

/** Reads from a gateway a state that is not older than the writer's response. */
export function readAfter(gateway: Server, path: string, written: HttpAnswer): Promise<HttpAnswer> {
  const position = String(written.headers['countersign-position']);
  return gateway.http.send({ method: 'GET', path, token: 'ann-token', headers: { 'countersign-position': position } });
}

/** The current body of `/readyz`; undefined while nothing listens. */
export function readinessOf({ http }: Server): Promise<HttpAnswer | undefined> {
  return http.send({ method: 'GET', path: '/readyz', timeoutMs: 5000 }).catch(() => undefined);
}

/** Waits until a process is not ready and reports this about a check. */
export async function untilWaitingFor(server: Server, check: string, why: RegExp): Promise<void> {
  let last = '';
  await eventually(`${check} to fail with ${String(why)}`, async () => {
    const answer = await readinessOf(server);
    last = answer?.text ?? last;
    const { checks } = (answer?.body ?? {}) as { checks?: Record<string, { status: string; why?: string }> };
    return answer?.status === 503 && why.test(checks?.[check]?.why ?? '') ? true : undefined;
  }).catch((error: unknown) => {
    throw new Error(`${String(error)}; it said ${last} and printed:\n${endOf(server.output())}`);
  });
}
