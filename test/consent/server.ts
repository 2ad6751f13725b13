import { mkdtempSync, rmSync, statSync, unwatchFile, utimesSync, watchFile, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSystemIds } from '@countersign/runtime';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import type { VirtualClock } from '@countersign/runtime/testing';
import { readStandaloneConfig, openStandalone } from '@countersign/standalone';
import type { Policy } from './words.ts';
import { people, policyFile, startAt, unsure } from './world.ts';

/** What an HTTP request came to. */
export interface Response {
  readonly status: number;
  readonly body: unknown;
}

export interface Sent {
  readonly body?: object;
  /** The `Idempotency-Key`. */
  readonly key?: string;
}

/** A server of one world, whose clock stands still. */
export interface Server {
  readonly clock: VirtualClock;
  /** Sends a request with the token of a principal. */
  readonly send: (as: string, method: string, path: string, sent?: Sent) => Promise<Response>;
  /** Takes the token of a person away. */
  readonly remove: (principal: string) => void;
  /** Replaces the token of a person by another one. */
  readonly renew: (principal: string) => void;
  /** Replaces the policy file. Resolves when it is in force, after half a second of the clock. */
  readonly follow: (policy: Policy, identities: ReadonlyMap<string, string>) => Promise<void>;
  /** Stops the process, and starts it again on its data. */
  readonly restart: () => Promise<void>;
  readonly close: () => Promise<void>;
}

/** How long the product waits until a changed file has settled. */
export const settledMs = 500;
const inForce = 'the policy file changed and is in force';
const inForceMsMax = 60_000;
const neverMs = 2 ** 31 - 1;
const unseen = (): void => undefined;

/** How often the token of each person was replaced. */
type Renewed = ReadonlyMap<string, number>;

function tokenOf(renewed: Renewed, principal: string): string {
  const times = renewed.get(principal);
  return times === undefined ? `${principal}-token` : `${principal}-token-${String(times)}`;
}

function tokensFile(removed: ReadonlySet<string>, renewed: Renewed): string {
  const persons = Object.entries(people)
    .filter(([principal]) => !removed.has(principal))
    .map(([principal, groups]) => ({ token: tokenOf(renewed, principal), principal, roles: ['approver'], groups }))
    .map((entry) => ({ ...entry, ...(entry.principal === unsure && { maxAssurance: 'low' }) }));
  return JSON.stringify([
    { token: 'agent-token', principal: 'agent', roles: ['agent'] },
    { token: 'other-token', principal: 'other', roles: ['agent'], agentIds: ['*'] },
    { token: 'worker-token', principal: 'worker', roles: ['resolver'] },
    { token: 'admin-token', principal: 'admin', roles: ['admin'] },
    ...persons,
  ]);
}

/** Starts all of Countersign in this process, over HTTP and with files, on a clock that only the world moves. */
export async function startServer(policy: Policy): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-consent-'));
  const [policyPath, tokensPath] = [join(folder, 'policy.json'), join(folder, 'tokens.json')];
  let text = policyFile(policy, new Map());
  writeFileSync(policyPath, text);
  writeFileSync(tokensPath, tokensFile(new Set(), new Map()), { mode: 0o600 });
  // The product joins these watchers. They look at no file by themselves: the world says when one was replaced.
  for (const path of [policyPath, tokensPath]) watchFile(path, { persistent: false, interval: neverMs }, unseen);
  const config = readStandaloneConfig({
    ...{ COUNTERSIGN_DATA: join(folder, 'data'), COUNTERSIGN_PORT: '0' },
    ...{ COUNTERSIGN_POLICY: policyPath, COUNTERSIGN_TOKENS_FILE: tokensPath },
  });
  const [clock, log] = [createVirtualClock(startAt), createCollectingLog()];
  const open = () => openStandalone(config, { clock, ids: createSystemIds(), log });
  let running = await open();
  const removed = new Set<string>();
  const renewed = new Map<string, number>();
  return {
    clock,
    send: (as, method, path, sent) => send(running.url, tokenOf(renewed, as), method, path, sent),
    remove: (principal) => {
      removed.add(principal);
      replaced(tokensPath, tokensFile(removed, renewed));
    },
    renew: (principal) => {
      renewed.set(principal, (renewed.get(principal) ?? 0) + 1);
      replaced(tokensPath, tokensFile(removed, renewed));
    },
    follow: async (next, identities) => {
      const before = log.entries.filter(({ message }) => message === inForce).length;
      const written = policyFile(next, identities);
      const isChanged = written !== text;
      text = written;
      replaced(policyPath, text);
      clock.advance(settledMs);
      const giveUpAt = performance.now() + inForceMsMax;
      while (isChanged && log.entries.filter(({ message }) => message === inForce).length === before) {
        if (performance.now() > giveUpAt) throw new Error('the server never followed the policy file');
        await delay(1);
      }
    },
    restart: async () => {
      await running.stop();
      running = await open();
    },
    close: async () => {
      await running.stop();
      for (const path of [policyPath, tokensPath]) unwatchFile(path, unseen);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const unseenNow = (): void => undefined;

/** Writes a file that the product follows, and lets it look at once. By the time of the file nothing changed. */
function replaced(path: string, text: string): void {
  const before = statSync(path);
  writeFileSync(path, text);
  utimesSync(path, before.atime, before.mtime);
  // All who watch a path share one watcher.
  watchFile(path, { persistent: false, interval: neverMs }, unseenNow).emit(
    'change',
    { mtimeMs: 1, ino: 0 },
    { mtimeMs: 0, ino: 0 },
  );
  unwatchFile(path, unseenNow);
}

async function send(
  url: string,
  token: string,
  method: string,
  path: string,
  { body, key }: Sent = {},
): Promise<Response> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(body !== undefined && { 'content-type': 'application/json' }),
    ...(key !== undefined && { 'idempotency-key': key }),
  };
  const response = await fetch(`${url}${path}`, {
    ...{ method, headers },
    ...(body !== undefined && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? null : (JSON.parse(text) as unknown) };
}
