import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readSettings, sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { digestOfText, noteRefused, watchForChanges } from '@countersign/shell';
import type { SystemLog } from '@countersign/shell';
import { recordTokens, withoutNewRights } from './record-tokens.js';
import type { TokensContent } from './record-tokens.js';
import { TokensError, parseTokenEntries } from './token-entries.js';
import { tokensOf } from './tokens.js';
import type { TokenEntry, Tokens } from './tokens.js';

/** The tokens of a first start: an agent, the person at the machine, and a worker. */
const firstGrants = [
  // All agents of a first trial, so that another agent name needs no change of this file.
  { principal: 'agent', roles: ['agent'], agentIds: ['*'] },
  { principal: 'me', roles: ['approver', 'auditor', 'admin'], agentIds: [] },
  { principal: 'worker', roles: ['resolver'], agentIds: [] },
] as const;

/** An entry with its clear token, to print it once. */
export type NewTokenEntry = TokenEntry & { readonly token: string };

/**
 * Writes a tokens file with three random tokens, `agent`, `me` and `worker`, readable by its owner alone. An existing
 * file is not changed.
 * @returns the created entries, or undefined when the file existed.
 */
export function createTokensFile(path: string): readonly NewTokenEntry[] | undefined {
  if (existsSync(path)) return undefined;
  const entries = firstGrants.map(({ principal, roles, agentIds }) => ({
    token: `cs_${randomBytes(32).toString('base64url')}`,
    principal,
    roles: [...roles],
    groups: [],
    tenant: 'default',
    ...(agentIds.length > 0 && { agentIds: [...agentIds] }),
  }));
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${String(process.pid)}.new`;
  writeFileSync(draft, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600, flush: true });
  try {
    // A link instead of a rename: of two first starts at once only one creates the file, and no reader sees half of it.
    linkSync(draft, path);
    return entries;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Tokens out of a file, which may change while the process runs. */
export interface FileTokens extends Tokens {
  /**
   * Records the tokens, and from here on every change before it is in force. Rights that were removed end at once; new ones
   * wait until the change is recorded. @throws as {@link SystemLog.record}: then nothing is recorded in future.
   */
  readonly recordIn: (system: SystemLog, clock: Clock) => Promise<void>;
  /** Reads the file again; a file that is not valid changes nothing and is logged. */
  readonly reload: () => void;
  /** False while the file has a content that cannot be used. */
  readonly isCurrent: () => boolean;
  /** Stops watching the file. */
  readonly close: () => void;
}

/**
 * The tokens of a file; a change of the file is noticed within two seconds.
 * @throws TokensError when the file cannot be used at the start.
 */
export function createFileTokens(path: string, log: Log): FileTokens {
  const read = (): TokensContent =>
    readContent(path, () => log.warn({ path }, 'the tokens file has no entries: sign-in with a token is impossible'));
  const state = createState(read());
  let isCurrent = true;
  const reload = (): void => {
    let next: TokensContent;
    try {
      next = read();
      isCurrent = true;
      log.info({ path }, 'tokens reloaded');
    } catch (error) {
      isCurrent = false;
      log.error({ path, error }, 'the tokens file is invalid; the previous tokens stay in force');
      if (recording !== undefined) noteRefused(recording.system, 'tokens', error, path);
      return;
    }
    state.latest = next;
    if (recording === undefined) state.put(next.entries);
    else {
      state.put(withoutNewRights(next.entries, state.inForce()));
      void recording.settle();
    }
  };
  let recording: Recording | undefined;
  const closing = new AbortController();
  const stopWatching = watchForChanges(path, reload);
  return {
    actorOf: (token, via) => state.tokens().actorOf(token, via),
    isInForce: (actor) => state.tokens().isInForce(actor),
    actorOfHash: (tokenSha256) => state.tokens().actorOfHash(tokenSha256),
    grants: (who, role) => state.tokens().grants(who, role),
    groupsOf: (who) => state.tokens().groupsOf(who),
    holds: (who, credential) => state.tokens().holds(who, credential),
    approverIds: (tenant) => state.tokens().approverIds(tenant),
    approverGroups: (tenant) => state.tokens().approverGroups(tenant),
    frontEnds: (tenant) => state.tokens().frontEnds(tenant),
    onChange: state.onChange,
    recordIn: async (system, clock) => {
      const recorded = state.latest;
      await recordTokens(system, recorded);
      state.put(recorded.entries);
      recording = createRecording({ state, system, clock, log, signal: closing.signal }, recorded);
      await recording.settle();
    },
    reload,
    isCurrent: () => isCurrent,
    close: () => {
      closing.abort();
      stopWatching();
    },
  };
}

/** The tokens in force, and what the file says. */
interface State {
  latest: TokensContent;
  readonly tokens: () => Tokens;
  readonly inForce: () => TokensContent['entries'];
  readonly put: (entries: TokensContent['entries']) => void;
  readonly onChange: NonNullable<Tokens['onChange']>;
}

function createState(content: TokensContent): State {
  let { entries } = content;
  let tokens = tokensOf(entries);
  const listeners = new Set<() => void>();
  return {
    latest: content,
    tokens: () => tokens,
    inForce: () => entries,
    put: (next) => {
      entries = next;
      tokens = tokensOf(next);
      for (const listener of listeners) listener();
    },
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
  };
}

interface Recording {
  readonly system: SystemLog;
  /** Resolves when what the file says is recorded and in force, or when the tokens are closed. */
  readonly settle: () => Promise<void>;
}

interface RecordingPorts extends Pick<Recording, 'system'> {
  readonly state: State;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
}

const againMs = 2000;

/** Records one change at a time; changes that come meanwhile are one change. */
function createRecording({ state, system, clock, log, signal }: RecordingPorts, first: TokensContent): Recording {
  let recorded = first;
  let running: Promise<void> | undefined;
  const next = async (): Promise<void> => {
    const wanted = state.latest;
    try {
      await recordTokens(system, wanted);
    } catch (error) {
      log.error({ error }, 'changed tokens are not in force: they could not be recorded');
      await sleep(clock, againMs, signal);
      return;
    }
    recorded = wanted;
    if (state.latest === wanted) state.put(wanted.entries);
  };
  const settle = async (): Promise<void> => {
    while (recorded !== state.latest && !signal.aborted) {
      running ??= next().finally(() => (running = undefined));
      await running;
    }
  };
  return { system, settle };
}

/**
 * Reads a tokens file once.
 * @param onEmpty is called when it has no entries.
 * @throws TokensError with all problems at once.
 */
export function readTokens(path: string, onEmpty: () => void = () => undefined): Tokens {
  return tokensOf(readContent(path, onEmpty).entries);
}

function readContent(path: string, onEmpty: () => void): TokensContent {
  const text = readSettings(path, 'COUNTERSIGN_TOKENS_FILE', (problem) => new TokensError(path, [problem]));
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    // The parser quotes the text around the fault, which may be a token.
    throw new TokensError(path, [
      {
        path: '',
        problem: 'is not valid JSON: it must be a list of entries, as `countersign tokens create FILE` writes it',
      },
    ]);
  }
  if (Array.isArray(entries) && entries.length === 0) onEmpty();
  return { entries: parseTokenEntries(entries, path), digest: digestOfText(text) };
}
