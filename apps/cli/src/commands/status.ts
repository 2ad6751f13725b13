import type { StopsView, StopView } from '@countersign/contracts';
import { ageWords, printable } from '@countersign/text';
import { CliError, localError } from '../cli-error.js';
import type { LedgerClient } from '../connection/ledger-client.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import type { Line } from '../view/line.js';
import { stopLines } from '../view/stop-lines.js';
import { approvalPages } from './list.js';

const countedMax = 10_000;

interface Status {
  readonly url: string;
  readonly ready: boolean;
  /** The checks that the server waits for; empty when it is ready. */
  readonly notReady: readonly string[];
  /** The version of the API. */
  readonly version: string | null;
  /** What the server was built from. Null: an older server, which does not name it. */
  readonly build: ServerBuild | null;
  /** The Node of the server. Null: an older server, which does not name it. */
  readonly node: ServerNode | null;
  /**
   * The state of each channel. A process that sends to it reports `ok`, `failing` or `off`. Otherwise the log gives
   * `on`, `failing`, `off`, or `unserved` if no notifier has ever sent to it.
   */
  readonly channels: Readonly<Record<string, string>>;
  /** Why channels do not work, in the words of their servers. Null: they work, or the server does not tell. */
  readonly channelsNote: string | null;
  /** The files whose content cannot be used, so that an earlier one is in force. Null: none, or the server does not tell. */
  readonly configurationNote: string | null;
  /** What the log has lost, until a person says that they know. Null: nothing, or the server does not tell. */
  readonly logEndNote: string | null;
  /** The stops of the operator that are in force, as `/readyz` tells them. Null: none, or the server does not tell. */
  readonly stopsNote: string | null;
  /** The stops in force that concern the tenant. Null: the token may not see them, or the server knows none. */
  readonly stops: readonly StopView[] | null;
  /** The streams with an event that the server cannot read. Null: the server does not tell. */
  readonly unreadableStreams: number | null;
  /** The pending approvals for which too few approvers are left. Null: the server does not tell. */
  readonly approvalsWithoutApprovers: number | null;
  readonly signedIn: boolean;
  /** Null: the token may not see approvals. */
  readonly pending: number | null;
  /** False: there are more than were counted. */
  readonly pendingIsExact: boolean;
  readonly oldestRequestedAt: string | null;
  readonly oldestAgeMs: number | null;
}

/** `update`: only if the Node is not safe. */
interface ServerNode {
  readonly version: string;
  readonly safe: boolean;
  readonly update?: string;
}

/** `commit` null: it is not known. */
interface ServerBuild {
  readonly version: string;
  readonly commit: string | null;
}

/** `countersign status`: prints the state of a server. The exit code says whether the server can be used. */
export async function status(invocation: Invocation): Promise<ExitCode> {
  const { client } = invocation;
  const [readiness, version, health] = await Promise.all([
    readReadiness(client),
    readVersion(client),
    readHealth(client),
  ]);
  const measured = readiness.ready ? await readMetrics(client) : nothingMeasured;
  const pending = readiness.ready ? await readPending(client) : { ...nothingSeen, signedIn: true };
  const stops = readiness.ready && pending.signedIn ? await readStops(client) : null;
  const found: Status = { url: client.url, ...readiness, version, ...health, ...measured, stops, ...pending };
  invocation.printJson(found);
  invocation.print(...statusLines(found, client.serverNow(), invocation.columns));
  if (!found.ready) return exitCodes.notReady;
  return found.signedIn ? exitCodes.ok : exitCodes.forbidden;
}

type Readiness = Pick<Status, 'ready' | 'notReady' | 'channelsNote' | 'configurationNote' | 'logEndNote' | 'stopsNote'>;

async function readReadiness(client: LedgerClient): Promise<Readiness> {
  const answer = await client.look('/readyz');
  const checks = checksIn(answer.body);
  const noted = {
    channelsNote: noteIn(checks['channels']),
    configurationNote: noteIn(checks['configuration']),
    logEndNote: noteIn(checks['log-end']),
    stopsNote: noteIn(checks['stops']),
  };
  if (answer.ok) return { ready: true, notReady: [], ...noted };
  // A proxy in front of a stopped server also returns 503, which is "not ready". Only a 404 means a different kind of
  // server.
  if (answer.status !== 503) {
    const detail = `The server at ${client.url} is not Countersign (status ${String(answer.status)} for /readyz).`;
    throw localError('unexpected', 'not-countersign', detail, 'Check --url or COUNTERSIGN_URL.');
  }
  return { ready: false, notReady: failingIn(answer.body), ...noted };
}

function noteIn(check: Check | null | undefined): string | null {
  return typeof check?.note === 'string' ? check.note : null;
}

/** The checks that fail, with what they say. */
function failingIn(body: unknown): string[] {
  const failing = Object.entries(checksIn(body)).filter(([, check]) => check?.status !== 'ok');
  return failing.map(([name, check]) => {
    const why = check?.why;
    return typeof why === 'string' && why !== '' ? `${name} (${why})` : name;
  });
}

function checksIn(body: unknown): Readonly<Record<string, Check | null>> {
  const { checks } = (body ?? {}) as { readonly checks?: Readonly<Record<string, Check | null>> };
  return checks ?? {};
}

interface Check {
  readonly status?: unknown;
  readonly why?: unknown;
  readonly note?: unknown;
}

async function readHealth(client: LedgerClient): Promise<Pick<Status, 'build' | 'node'>> {
  const { body } = await client.look('/healthz');
  const { node, ...build } = (body ?? {}) as Partial<ServerBuild> & { readonly node?: Partial<ServerNode> | null };
  return { build: buildIn(build), node: nodeIn(node ?? {}) };
}

function buildIn({ version, commit }: Partial<ServerBuild>): Status['build'] {
  return typeof version === 'string' ? { version, commit: typeof commit === 'string' ? commit : null } : null;
}

function nodeIn({ version, safe, update }: Partial<ServerNode>): Status['node'] {
  if (typeof version !== 'string' || typeof safe !== 'boolean') return null;
  return { version, safe, ...(typeof update === 'string' ? { update } : {}) };
}

async function readVersion(client: LedgerClient): Promise<string | null> {
  try {
    const { info } = await client.get<{ readonly info?: { readonly version?: unknown } }>('/openapi.json');
    return typeof info?.version === 'string' ? info.version : null;
  } catch (error) {
    if (error instanceof CliError && error.exitCode !== exitCodes.unreachable) return null;
    throw error;
  }
}

const recordedState = /^countersign_channel_recorded\{channel="([^"]+)",state="(unserved|on|failing|off)"\} 1$/gm;
const sendingState = /^countersign_channel_state\{channel="([^"]+)",state="(ok|failing|off)"\} 1$/gm;

type Measured = Pick<Status, 'channels' | 'unreadableStreams' | 'approvalsWithoutApprovers'>;

const nothingMeasured: Measured = { channels: {}, unreadableStreams: null, approvalsWithoutApprovers: null };

/** None of these makes the server unready. They are reported here. */
async function readMetrics(client: LedgerClient): Promise<Measured> {
  const { ok, text } = await client.look('/metrics');
  if (!ok) return nothingMeasured;
  const countIn = (pattern: RegExp): number | null => {
    const count = pattern.exec(text)?.[1];
    return count === undefined ? null : Number(count);
  };
  const statesIn = (pattern: RegExp) =>
    Object.fromEntries([...text.matchAll(pattern)].map(([, channel = '', state = '']) => [channel, state]));
  // The process that sends to a channel knows more about it than the log does.
  const channels = { ...statesIn(recordedState), ...statesIn(sendingState) };
  return {
    channels,
    unreadableStreams: countIn(/^countersign_unreadable_streams (\d+)$/m),
    approvalsWithoutApprovers: countIn(/^countersign_approvals_without_approvers (\d+)$/m),
  };
}

/** Also of a server that knows no stops. */
async function readStops(client: LedgerClient): Promise<Status['stops']> {
  try {
    const { stops } = await client.get<StopsView>('/v1/stops');
    return stops.filter(({ liftedAt }) => liftedAt === null);
  } catch (error) {
    if (error instanceof CliError && error.exitCode !== exitCodes.unreachable) return null;
    throw error;
  }
}

/** Each stop with who declared it and why; for a token that may not see them, what `/readyz` tells. */
function linesOfStops({ stops, stopsNote }: Pick<Status, 'stops' | 'stopsNote'>, columns: number): Line[] {
  if (stops === null) return noteLines('stopped', stopsNote);
  if (stops.length === 0) return [];
  return [{ text: '  stopped', tone: 'red' }, ...stops.flatMap((one) => stopLines(one, columns))];
}

function buildLines(build: Status['build']): Line[] {
  if (build === null) return [];
  const commit = build.commit === null ? '' : ` (commit ${printable(build.commit)})`;
  return [{ text: `  version   ${printable(build.version)}${commit}` }];
}

function nodeLines(node: Status['node']): Line[] {
  if (node === null) return [];
  const text = `  Node      ${printable(node.version)}`;
  if (node.safe) return [{ text }];
  return [
    { text: `${text}: has known security flaws, update to ${printable(node.update ?? 'a newer one')}`, tone: 'red' },
  ];
}

function unreadableLines(streams: Status['unreadableStreams']): Line[] {
  if (streams === null || streams === 0) return [];
  const count = streams === 1 ? '1 stream has' : `${String(streams)} streams have`;
  const text = `  log       ${count} an event that cannot be read: see countersign log unreadable`;
  return [{ text, tone: 'red' }];
}

function noteLines(label: string, note: string | null): Line[] {
  return note === null ? [] : [{ text: `  ${label.padEnd(9)} ${printable(note)}`, tone: 'red' }];
}

function approverLines(approvals: Status['approvalsWithoutApprovers']): Line[] {
  if (approvals === null || approvals === 0) return [];
  const pending = approvals === 1 ? '1 pending approval' : `${String(approvals)} pending approvals`;
  return [{ text: `  approvers too few are left for ${pending}: see the note of /readyz`, tone: 'red' }];
}

function channelLines({ channels, channelsNote }: Pick<Status, 'channels' | 'channelsNote'>): Line[] {
  const states = Object.entries(channels).map(([channel, state]): Line => {
    const text = `  channel   ${printable(channel)}: ${state}`;
    return state === 'ok' || state === 'on' ? { text } : { text, tone: 'red' };
  });
  return channelsNote === null ? states : [...states, { text: `            ${printable(channelsNote)}`, tone: 'red' }];
}

type Pending = Pick<Status, 'signedIn' | 'pending' | 'pendingIsExact' | 'oldestRequestedAt' | 'oldestAgeMs'>;

const nothingSeen: Pending = {
  signedIn: false,
  pending: null,
  pendingIsExact: false,
  oldestRequestedAt: null,
  oldestAgeMs: null,
};

async function readPending(client: LedgerClient): Promise<Pending> {
  let pending = 0;
  let hasMore = false;
  let oldestRequestedAt: string | null = null;
  try {
    for await (const page of approvalPages(client, {}, countedMax)) {
      oldestRequestedAt ??= page.approvals[0]?.requestedAt ?? null;
      pending += page.approvals.length;
      hasMore = page.nextCursor !== null;
    }
  } catch (error) {
    if (!(error instanceof CliError) || error.exitCode !== exitCodes.forbidden) throw error;
    return { ...nothingSeen, signedIn: error.problem.status === 403 };
  }
  const oldestAgeMs =
    oldestRequestedAt === null ? null : Math.max(0, client.serverNow() - Date.parse(oldestRequestedAt));
  return { signedIn: true, pending, pendingIsExact: !hasMore, oldestRequestedAt, oldestAgeMs };
}

function statusLines(found: Status, nowMs: number, columns: number): Line[] {
  const waits = found.notReady.length === 0 ? '' : `: waits for ${printable(found.notReady.join(', '))}`;
  return [
    { text: `Countersign at ${found.url}`, tone: 'bold' },
    found.ready ? { text: '  ready     yes', tone: 'green' } : { text: `  ready     no${waits}`, tone: 'red' },
    ...buildLines(found.build),
    { text: `  API       ${printable(found.version ?? 'unknown')}` },
    ...nodeLines(found.node),
    { text: `  pending   ${pendingWords(found, nowMs)}` },
    ...linesOfStops(found, columns),
    ...approverLines(found.approvalsWithoutApprovers),
    ...unreadableLines(found.unreadableStreams),
    ...noteLines('files', found.configurationNote),
    ...noteLines('log', found.logEndNote),
    ...channelLines(found),
  ];
}

function pendingWords({ pending, pendingIsExact, oldestRequestedAt, signedIn }: Status, nowMs: number): string {
  if (!signedIn) return 'unknown: not signed in (set COUNTERSIGN_TOKEN or give --token)';
  if (pending === null) return 'unknown';
  const oldest = oldestRequestedAt === null ? '' : `, the oldest for ${ageWords(oldestRequestedAt, nowMs)}`;
  return `${pendingIsExact ? '' : 'more than '}${String(pending)}${oldest}`;
}
