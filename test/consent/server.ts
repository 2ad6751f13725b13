import { mkdtempSync, rmSync, statSync, unwatchFile, utimesSync, watchFile, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as delay } from 'node:timers/promises';
import { createSystemIds } from '@countersign/runtime';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import type { VirtualClock } from '@countersign/runtime/testing';
import { readStandaloneConfig, openStandalone } from '@countersign/standalone';
import type { Command, Group, Policy } from './words.ts';
import { deskPeople, people, policyFile, startAt, toldOf, unsure } from './world.ts';
import type { Identities } from './world.ts';

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
  /** Sends a request with the token of a principal, or with that of the front end in the name of a person. */
  readonly send: (as: string, method: string, path: string, sent?: Sent) => Promise<Response>;
  /** Takes the token of a person away. */
  readonly remove: (principal: string) => void;
  /** Replaces the token of a person by another one. */
  readonly renew: (principal: string) => void;
  /** Changes the token of the front end. */
  readonly desk: (command: Extract<Command, { type: 'desk' }>) => void;
  /** Replaces the policy file. Resolves when it is in force, after half a second of the clock. */
  readonly follow: (policy: Policy, identities: Identities) => Promise<void>;
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

/** Whose tokens are in the file. */
interface Tokens {
  readonly removed: Set<string>;
  /** How often the token of each principal was replaced. */
  readonly renewed: Map<string, number>;
  /** The groups for whose people the front end may speak; null: it is not in the file. */
  desk: readonly Group[] | null;
}

function tokenOf({ renewed }: Tokens, principal: string): string {
  const times = renewed.get(principal);
  return times === undefined ? `${principal}-token` : `${principal}-token-${String(times)}`;
}

/** The headers that say who sends a request. */
function senderOf(tokens: Tokens, as: string): Record<string, string> {
  const person = deskPeople[as];
  const authorization = `Bearer ${tokenOf(tokens, person === undefined ? as : 'desk')}`;
  if (person === undefined) return { authorization };
  const [, id = ''] = as.split('#');
  const groups = toldOf(as, tokens.desk ?? []).join(', ');
  return {
    ...{ authorization, 'countersign-person': id, 'countersign-person-assurance': person.assurance },
    ...(groups !== '' && { 'countersign-person-groups': groups }),
  };
}

function tokensFile(tokens: Tokens): string {
  const { removed, desk } = tokens;
  const persons = Object.entries(people)
    .filter(([principal]) => !removed.has(principal))
    .map(([principal, groups]) => ({ token: tokenOf(tokens, principal), principal, roles: ['approver'], groups }))
    .map((entry) => ({ ...entry, ...(entry.principal === unsure && { maxAssurance: 'low' }) }));
  return JSON.stringify([
    { token: 'agent-token', principal: 'agent', roles: ['agent'] },
    { token: 'other-token', principal: 'other', roles: ['agent'], agentIds: ['*'] },
    { token: 'worker-token', principal: 'worker', roles: ['resolver'] },
    { token: 'admin-token', principal: 'admin', roles: ['admin'] },
    ...persons,
    ...(desk === null ? [] : [{ ...entryOfDesk, token: tokenOf(tokens, 'desk'), people: peopleOfDesk(desk) }]),
  ]);
}

const entryOfDesk = { principal: 'desk', roles: ['front-end'] };
const peopleOfDesk = (groups: readonly Group[]): object => ({ groups, maxAssurance: 'medium' });

/** Starts all of Countersign in this process, over HTTP and with files, on a clock that only the world moves. */
export async function startServer(policy: Policy): Promise<Server> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-consent-'));
  const [policyPath, tokensPath] = [join(folder, 'policy.json'), join(folder, 'tokens.json')];
  let text = policyFile(policy, new Map());
  writeFileSync(policyPath, text);
  const tokens: Tokens = { removed: new Set(), renewed: new Map(), desk: null };
  writeFileSync(tokensPath, tokensFile(tokens), { mode: 0o600 });
  // The product joins these watchers. They look at no file by themselves: the world says when one was replaced.
  for (const path of [policyPath, tokensPath]) watchFile(path, { persistent: false, interval: neverMs }, unseen);
  const config = readStandaloneConfig({
    ...{ COUNTERSIGN_DATA: join(folder, 'data'), COUNTERSIGN_PORT: '0' },
    ...{ COUNTERSIGN_POLICY: policyPath, COUNTERSIGN_TOKENS_FILE: tokensPath },
  });
  const [clock, log] = [createVirtualClock(startAt), createCollectingLog()];
  const open = () => openStandalone(config, { clock, ids: createSystemIds(), log });
  let running = await open();
  const changed = (): void => replaced(tokensPath, tokensFile(tokens));
  const renew = (principal: string): void =>
    void tokens.renewed.set(principal, (tokens.renewed.get(principal) ?? 0) + 1);
  return {
    clock,
    send: (as, method, path, sent) => send(running.url, senderOf(tokens, as), method, path, sent),
    remove: (principal) => {
      tokens.removed.add(principal);
      changed();
    },
    renew: (principal) => {
      renew(principal);
      changed();
    },
    desk: (command) => {
      if (command.does === 'close') tokens.desk = null;
      else if (command.does === 'narrow')
        tokens.desk = tokens.desk?.filter((one) => command.groups.includes(one)) ?? null;
      else {
        renew('desk');
        tokens.desk = command.groups;
      }
      changed();
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
  sender: Readonly<Record<string, string>>,
  method: string,
  path: string,
  { body, key }: Sent = {},
): Promise<Response> {
  const headers = {
    ...sender,
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
