import { join } from 'node:path';
import { audit } from '../audit/audit.js';
import { asRead, differencesBetween, readLogFile } from '../audit/log.js';
import type { Entry } from '../audit/log.js';
import { temporaryFolder } from '../harness/cleanup.js';
import { freePort } from '../../ports.js';
import { createHttp } from '../harness/http.js';
import { createKiller } from '../harness/killer.js';
import type { Killer } from '../harness/killer.js';
import type { Random } from '../harness/random.js';
import { startReadyServer } from '../harness/server.js';
import type { Server, ServerOptions } from '../harness/server.js';
import { readTokens } from '../harness/tokens.js';
import type { Tokens } from '../harness/tokens.js';
import { folderComplaints } from '../harness/verified-folder.js';
import { eventually } from '../harness/wait.js';
import { follow } from './follower.js';
import type { Follower } from './follower.js';
import { createJournal } from './journal.js';
import type { Journal } from './journal.js';
import { createLedger } from './ledger.js';
import { replayCrashed } from './replay-crashed.js';
import { readAuditLog, settle } from './settle.js';
import { countedTools } from './tools.js';
import { createNames, startTraffic } from './traffic.js';

/** The result of a round of kills. */
export interface Round {
  /** The audit's findings. */
  readonly complaints: readonly string[];
  readonly killer: Killer;
  readonly scenes: number;
  readonly events: number;
  readonly acknowledgements: number;
  readonly executions: number;
  /** Killing, then waiting for every call to end, then judging. */
  readonly tookMs: { readonly kills: number; readonly settling: number; readonly audit: number };
}

export interface RoundOptions {
  readonly kills: number;
  readonly random: Random;
  readonly crashPoints: readonly string[];
  /** How many users are active at once. */
  readonly users: number;
  /** Keeps the names of rounds apart. */
  readonly prefix: string;
}

/** One folder, one port: kills while users are active, then the end of every call, then the audit. */
export async function killRound({ kills, random, crashPoints, users, prefix }: RoundOptions): Promise<Round> {
  const folder = temporaryFolder();
  const [port, tools] = [await freePort(), await countedTools(folder)];
  const options: ServerOptions = { folder, port, env: { COUNTERSIGN_TOOLS: tools.toolsFile } };
  // Only for its tokens file.
  const first = await startReadyServer(options);
  await first.stop('SIGKILL');
  const tokens = readTokens(folder);
  const journal = createJournal();
  const times = [performance.now()];

  const traffic = startTraffic({ port, tokens, journal, random: random.fork(), users, prefix });
  const follower = follow(port, tokens.me);
  const killer = createKiller(options, random, crashPoints);
  for (let kill = 0; kill < kills; kill += 1) await killer.killOnce();
  times.push(performance.now());

  const server = await startReadyServer(options);
  await traffic.stop();
  const after = await calmDown(server, { options, tokens, journal, random, prefix }, follower);
  times.push(performance.now());

  journal.executions.push(...tools.executions());
  const entries = readLogFile(join(folder, 'data', 'events.db'));
  const complaints = [
    ...after.complaints,
    ...audit(entries, journal),
    ...differencesBetween(entries, after.log),
    ...followerComplaints(follower, asRead(entries, after.log.length)),
    ...(await folderComplaints(join(folder, 'data'))),
  ];
  times.push(performance.now());
  const [start = 0, killed = 0, settled = 0, judged = 0] = times;
  return {
    complaints,
    killer,
    scenes: traffic.scenes(),
    events: entries.length,
    acknowledgements: journal.acknowledgements.length,
    executions: journal.executions.length,
    tookMs: { kills: killed - start, settling: settled - killed, audit: judged - settled },
  };
}

interface Survivors {
  readonly options: ServerOptions;
  readonly tokens: Tokens;
  readonly journal: Journal;
  readonly random: Random;
  readonly prefix: string;
}

/** Brings every call to its end and stops the process in order. */
async function calmDown(first: Server, { options, tokens, journal, random, prefix }: Survivors, follower: Follower) {
  const http = createHttp(options.port);
  const ledger = createLedger(http, tokens, journal, `settle-${prefix}`);
  const stage = { ledger, journal, random, name: createNames(`settle-${prefix}`) };
  const ended = new Set<string>();
  let server = first;
  let open = await settle(http, tokens, stage, ended);
  if (open.length > 0) {
    await server.stop();
    await replayCrashed(options);
    server = await startReadyServer(options);
    open = await settle(http, tokens, stage, ended);
  }
  const log = await readAuditLog(http, tokens);
  await eventually('the follower to see the last event', () =>
    follower.positions().at(-1) === log.at(-1)?.position ? true : undefined,
  );
  await follower.stop();
  http.close();
  const exit = await server.stop();
  const complaints = open.map((callId) => `${callId} does not end`);
  if (exit.code !== 0) complaints.push(`the last stop ended with ${JSON.stringify(exit)}: ${server.output()}`);
  return { log, complaints };
}

/** A reader that follows the stream across every break gets each event once, in order. */
function followerComplaints(follower: Follower, entries: readonly Entry[]): readonly string[] {
  const seen = follower.positions();
  const wrong = entries.findIndex(({ position }, index) => seen[index] !== position);
  if (wrong === -1 && seen.length === entries.length) return [];
  return [
    `the event stream gave ${seen[wrong] ?? 'more'} where position ${entries[wrong]?.position ?? 'none'} was due`,
  ];
}
