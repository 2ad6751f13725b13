import { parseCheckpoint, parseNote, parseTlogProof } from '@countersign/audit';
import type { Checkpoint } from '@countersign/audit';
import { noSuchCall } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import {
  batchStream,
  grantStream,
  isCallId,
  isReadable,
  isRecordedInClear,
  passkeysStream,
  policyStream,
  toLogEvent,
  toolCallStream,
  upcast,
} from '@countersign/contracts';
import type { EventData, JsonObject, LogEvent, PolicyEvent, RecordedEvent, Verdict } from '@countersign/contracts';
import { builtInPolicyContent } from '@countersign/policy';
import { ProblemError } from '@countersign/shell';
import { ok, refused } from './answer.js';
import type { Answer } from './answer.js';
import { makeCheckpoint, notHere } from './log-checkpoints.js';
import type { LogCheckpoints } from './log-checkpoints.js';
import type { LogTiles, ProvenEvent } from './log-tiles.js';
import type { GatewayPorts } from './ports.js';

/** Which bodies a proof has: those whose sensitive values are sealed, or all of them as they are stored. */
export type ProvenValues = 'stored' | 'clear';

/**
 * `GET /v1/audit/tool-calls/{callId}/proof`: every event of the call with the proof that it is in the log.
 * @throws ProblemError `not-supported`, `unavailable`
 */
export async function proveCall(
  ports: GatewayPorts,
  actor: Actor,
  callId: string,
  values: ProvenValues,
): Promise<Answer> {
  const { checkpoints, tiles, store } = ports;
  if (checkpoints === undefined || tiles === undefined) throw notHere();
  const { tenant } = actor;
  const recorded = isCallId(callId) ? await store.readStream(toolCallStream(callId)) : [];
  const events = recorded.filter(isReadable).filter(({ metadata }) => metadata.tenant === tenant);
  if (events.length === 0) return refused(noSuchCall(callId).refusal);
  const tree = { checkpoints, tiles, actor };
  const note = await coveringNote(tree, recorded);
  const streams = await Promise.all(streamsOf(events).map((stream) => tiles.prove(tenant, stream, note)));
  const proven = streams.flatMap((stream) => upToUseOf(callId, stream)).toSorted((a, b) => a.index - b.index);
  const origin = checkpointIn(note)?.origin ?? '';
  const vkeys = await checkpoints.vkeys(tenant);
  const keyChanges = changesBefore(note, await checkpoints.keyChanges(tenant));
  return ok({
    ...{ format: 'countersign-proof/1', tenant, origin, callId },
    vkey: vkeys.find((vkey) => vkey.startsWith(`${origin}+`)) ?? null,
    checkpoint: note,
    events: proven.map((event) => (values === 'clear' || !hasClearSecrets(event) ? event : { ...event, body: null })),
    ...(keyChanges.length > 0 && { keyChanges }),
    policies: await policiesOf(ports, tenant, events),
    later: 'not excluded',
  });
}

/** The changes of the log key in the epoch of a checkpoint that it covers: with them an older key is enough. */
function changesBefore(note: string, changes: readonly string[]): readonly ProvenEvent[] {
  const anchor = checkpointIn(note);
  return changes
    .map((one) => JSON.parse(one) as ProvenEvent)
    .filter(({ proof }) => {
      const changed = checkpointIn(parseTlogProof(proof)?.note ?? '');
      return changed !== undefined && changed.origin === anchor?.origin && changed.size <= anchor.size;
    });
}

function checkpointIn(note: string): Checkpoint | undefined {
  return parseCheckpoint(parseNote(note)?.text ?? '');
}

interface Tree {
  readonly checkpoints: LogCheckpoints;
  readonly tiles: LogTiles;
  readonly actor: Actor;
}

/** A checkpoint that covers the events; it is signed now where the newest one does not. */
async function coveringNote({ checkpoints, tiles, actor }: Tree, [first, ...more]: readonly LogEvent[]) {
  const stream = first?.stream ?? '';
  const { tenant } = actor;
  const newest = await checkpoints.newest(tenant);
  const covered = newest === undefined ? [] : await tiles.prove(tenant, stream, newest);
  if (newest !== undefined && covered.length > more.length) return newest;
  const made = await makeCheckpoint(checkpoints, actor);
  if (typeof made.body === 'string') return made.body;
  throw new ProblemError('unavailable', 'no checkpoint of the call could be signed');
}

/**
 * The streams that say why the call could run: its own, that of its batch, those of the grants that allowed it, and the
 * passkeys where people signed.
 */
function streamsOf(events: readonly RecordedEvent[]): readonly string[] {
  const [first] = events;
  if (first === undefined) return [];
  const request = upcast(first).data as EventData<'ToolCallRequested'>;
  const isMember = request.batchMode === 'all-or-nothing' && request.batchCallIds.length > 1;
  const grantIds = verdictsOf(events).flatMap(({ grantId }) => (grantId === undefined ? [] : [grantId]));
  return [
    first.stream,
    ...(isMember ? [batchStream(request)] : []),
    ...[...new Set(grantIds)].map((grantId) => grantStream(grantId)),
    ...(events.some(({ data }) => 'signature' in data) ? [passkeysStream(request.tenant)] : []),
  ];
}

/** The events of a grant up to its use for the call: the later ones are about other calls. */
function upToUseOf(callId: string, stream: readonly ProvenEvent[]): readonly ProvenEvent[] {
  const { stream: name, type } = headOf(stream[0]);
  if (!name.startsWith('grant-') || type === '') return stream;
  const use = stream.findIndex((event) => {
    const { data } = event.body as { readonly data: { readonly callId?: unknown } };
    return headOf(event).type === 'GrantUsed' && data.callId === callId;
  });
  return use === -1 ? stream : stream.slice(0, use + 1);
}

function headOf(event: ProvenEvent | undefined): { readonly stream: string; readonly type: string } {
  return event === undefined ? { stream: '', type: '' } : (JSON.parse(event.entry) as { stream: string; type: string });
}

/** Returns whether hidden values of the event are stored without a seal, or whether that cannot be told. */
function hasClearSecrets({ entry, body }: ProvenEvent): boolean {
  const event = toLogEvent({ ...(JSON.parse(entry) as RecordedEvent), position: 0, ...body });
  return !isReadable(event) || isRecordedInClear(event);
}

function verdictsOf(events: readonly RecordedEvent[]): readonly Verdict[] {
  return events.flatMap((event) => {
    const { verdict, decision } = upcast(event).data as { verdict?: Verdict; decision?: { verdict?: Verdict } };
    return [verdict, decision?.verdict].filter((one) => one !== undefined);
  });
}

/** The policies that judged the call. Their versions are the hashes of their contents. */
async function policiesOf({ store, commands }: GatewayPorts, tenant: string, events: readonly RecordedEvent[]) {
  const activations = (await store.readStream(policyStream(tenant))).filter(isReadable);
  const contents = new Map<string, JsonObject>();
  const { version, content: now } = commands.policies.of(tenant);
  const builtIn = builtInPolicyContent(tenant);
  contents.set(builtIn.version, builtIn.source);
  contents.set(version, now);
  for (const { data } of activations) {
    const { policyVersion, content } = data as PolicyEvent['data'];
    contents.set(policyVersion, content);
  }
  const cited = new Set(verdictsOf(events).map(({ policyVersion }) => policyVersion));
  return [...cited].flatMap((policyVersion) => {
    const content = contents.get(policyVersion);
    return content === undefined ? [] : [{ policyVersion, content }];
  });
}
