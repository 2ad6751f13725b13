import type { Actor, CommandPorts, Result } from '@countersign/commands';
import { cancelToolCall, cancelWaitingFirst, proofOf, reusedKey } from '@countersign/commands';
import type { EraseSubject, ErasureView, NewEvent, SubjectEvent } from '@countersign/contracts';
import { currentSchemaVersion, isReadable, isSettled, subjectStream } from '@countersign/contracts';
import { queuedIn } from '@countersign/domain';
import { appendUntilKnown, EventStoreUnavailableError, noStream, soundReadsOf } from '@countersign/event-store';
import type { ErasureKeys, EventStore } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import { crashPoint } from '@countersign/runtime';
import { reachedWithin } from '@countersign/shell';
import type { RuntimePorts } from '@countersign/shell';
import { pastErasures } from './past-erasures.js';
import { namesOf, proofNameOf, subjectsIn, surveySubject } from './survey-subject.js';
import type { NamedSubject, Survey } from './survey-subject.js';
import type { Erasures } from '../erasure-port.js';

/** The dependencies of an erasure. */
export interface ErasurePorts extends Pick<RuntimePorts, 'clock' | 'ids' | 'log'> {
  readonly keys: ErasureKeys;
  readonly store: EventStore;
  /** The log as it is stored: values sealed. */
  readonly raw: Pick<EventStore, 'readStream' | 'readAll' | 'sound'>;
  readonly readModel: Pick<ReadModel, 'toolCall' | 'checkpoint' | 'reached'>;
  readonly commands: CommandPorts;
  /** Resolves when no append is under way with a key that was current before. */
  readonly settled: () => Promise<void>;
  /** Writes every copy again without the values that read as erased, or forgets it. */
  readonly rewriteCopies: () => Promise<void>;
}

const listedMax = 100;
/** How long a forced erasure waits until the read model shows the calls that it cancelled. */
const lagMsMax = 10_000;

/**
 * Erasures of subjects, one at a time. The proof is recorded before the key is destroyed, and a crash in between is
 * finished at the next start. Every copy that a process keeps is written again or forgotten.
 */
export function createErasures(ports: ErasurePorts): Erasures {
  let last: Promise<unknown> = Promise.resolve();
  const past = { keys: ports.keys, raw: soundReadsOf(ports.raw) };
  return {
    past: (tenant, query, signal) => pastErasures(past, tenant, query, signal),
    preview: async ({ tenant }, request) => {
      const ids: string[] = [];
      for (const subject of await subjectsIn(ports.raw, tenant, request)) {
        ids.push(...(await ports.keys.idsOf(tenant, subject)));
      }
      const { found } = await surveyAll(ports, tenant, request, ids);
      return viewOf(request.subject, found, { status: 'possible' });
    },
    erase: (actor, request, commandId) => {
      const running = last.then(() => erase(ports, actor, request, commandId));
      last = running.catch(() => undefined);
      return running;
    },
  };
}

function survey({ raw, readModel }: ErasurePorts, tenant: string, named: NamedSubject, keys: readonly string[]) {
  const isOpen = (callId: string): boolean => {
    const call = readModel.toolCall(tenant, callId);
    // A call that this process has not read yet may be open.
    return call === undefined || !isSettled(call.state);
  };
  return surveySubject(raw, { tenant, named, keys: new Set(keys), isOpen });
}

async function erase(
  ports: ErasurePorts,
  actor: Actor,
  request: EraseSubject,
  commandId: string,
): Promise<Result<ErasureView>> {
  const { tenant } = actor;
  const { subject, force = false } = request;
  const repeated = await finishRepeated(ports, tenant, request, commandId);
  if (repeated !== undefined) return repeated;
  // From here on new values of the subject get another key, so this count is final.
  const live: string[] = [];
  for (const each of await subjectsIn(ports.raw, tenant, request))
    live.push(...(await ports.keys.retire(tenant, each)));
  await ports.settled();
  const all = await surveyAll(ports, tenant, request, live);
  const { keys } = all;
  let { found } = all;
  if (force) {
    await cancelOpen(ports, actor, request, commandId, found);
    // In a cluster the read model lags behind the store: the cancelled calls would still count as open.
    await reachedWithin(ports.readModel, ports.clock, await ports.store.head(), lagMsMax);
    found = await survey(ports, tenant, request, keys);
  }
  if (found.openCalls.length > 0) return callsOpen(found, force);
  if (keys.length === 0) {
    // An earlier erasure may have left the bytes of its key in the log of keys.db, which another process was reading.
    await ports.keys.destroy([]);
    const value = viewOf(subject, found, { status: 'nothing-to-erase', ...(await lastProof(ports, tenant, request)) });
    return { status: 'done', value, position: ports.readModel.checkpoint() };
  }
  const { stream, erasedAt, position } = await record(ports, actor, { ...request, commandId }, keys, found);
  crashPoint('erase.recorded');
  await destroy(ports, keys);
  ports.log.info({ stream, keys: keys.length, values: found.values }, 'the values of a subject are erased');
  return { status: 'done', position, value: viewOf(subject, found, { status: 'erased', stream, erasedAt }) };
}

function cancelOpen(
  { commands, readModel }: ErasurePorts,
  actor: Actor,
  { reason = 'the values of its subject are erased' }: EraseSubject,
  commandId: string,
  { openCalls }: Survey,
) {
  const open = openCalls.map((callId) => {
    const call = readModel.toolCall(actor.tenant, callId);
    const waits = call !== undefined && queuedIn(call) !== undefined;
    return { callId, ...(waits && { waitsForTurn: true as const }) };
  });
  return cancelWaitingFirst(openCalls, open, (callId) => cancelToolCall(commands, actor, callId, reason, commandId));
}

/** The result of the same command before: it erases no value that came since. Undefined: it has recorded nothing. */
async function finishRepeated(
  ports: ErasurePorts,
  tenant: string,
  request: EraseSubject,
  commandId: string,
): Promise<Result<ErasureView> | undefined> {
  const { stream, proofs } = await proofsOf(ports, tenant, request);
  const proof = proofs.find(({ metadata }) => metadata.commandId === commandId);
  if (proof === undefined) return undefined;
  if ((proof.data as SubjectEvent['data']).reason !== (request.reason ?? null)) return reusedKey;
  const left: string[] = [];
  for (const each of await subjectsIn(ports.raw, tenant, request)) left.push(...(await ports.keys.idsOf(tenant, each)));
  const { keys, calls, values, clearValues, erasedAt } = proof.data as SubjectEvent['data'];
  // The keys of a proof are still there if their destruction failed.
  const undestroyed = left.filter((id) => keys.includes(id));
  if (undestroyed.length > 0) await destroy(ports, undestroyed);
  const counted = { calls, values, openCalls: [], clearValues };
  const value: ErasureView = { subject: request.subject, status: 'erased', ...counted, stream, erasedAt };
  return { status: 'done', position: proof.position, value };
}

/** The proofs of the erasures of a subject, in order. */
async function proofsOf({ keys, store }: ErasurePorts, tenant: string, named: NamedSubject) {
  const stream = subjectStream(await keys.hashOf(tenant, proofNameOf(named)));
  return { stream, proofs: (await store.readStream(stream)).filter(isReadable) };
}

/** The values under the keys that are there, and under those that an erasure destroyed whose proof the log has lost. */
async function surveyAll(ports: ErasurePorts, tenant: string, named: NamedSubject, live: readonly string[]) {
  const found = await survey(ports, tenant, named, live);
  const keys = [...new Set([...live, ...(await keysWithoutProof(ports, tenant, named, found))])];
  return { keys, found: keys.length === live.length ? found : await survey(ports, tenant, named, keys) };
}

/** Keys of values of a subject of which no proof is in the log: also those that were destroyed before its end was lost. */
async function keysWithoutProof(
  ports: ErasurePorts,
  tenant: string,
  { subject }: NamedSubject,
  { keys, principals }: Survey,
): Promise<readonly string[]> {
  const proven = new Set<string>();
  for (const named of namesOf(subject, principals)) {
    const { proofs } = await proofsOf(ports, tenant, named);
    for (const { data } of proofs) for (const id of (data as SubjectEvent['data']).keys) proven.add(id);
  }
  return keys.filter((id) => !proven.has(id));
}

function callsOpen({ openCalls }: Survey, force: boolean): Result<ErasureView> {
  const remedy = force
    ? 'a call that was claimed cannot be cancelled: wait for its outcome, or reconcile it'
    : 'wait until they are settled, cancel them with force, or erase the values of one principal with requestedBy';
  const open =
    openCalls.length === 1
      ? '1 call of the subject is open'
      : `${String(openCalls.length)} calls of the subject are open`;
  const detail = `${open}: ${remedy}`;
  return {
    status: 'refused',
    refusal: { code: 'calls-open', detail, extra: { openCalls: openCalls.slice(0, listedMax) } },
  };
}

/** The latest erasure of the subject; empty when there was none. */
async function lastProof(
  ports: ErasurePorts,
  tenant: string,
  named: NamedSubject,
): Promise<Partial<Pick<ErasureView, 'stream' | 'erasedAt'>>> {
  const { stream, proofs } = await proofsOf(ports, tenant, named);
  const last = proofs.at(-1)?.data as SubjectEvent['data'] | undefined;
  return last === undefined ? {} : { stream, erasedAt: last.erasedAt };
}

interface Recorded {
  readonly stream: string;
  readonly erasedAt: string;
  readonly position: number;
}

/** Records the proof, unless another process has just recorded that of the same keys. The values read as erased from just before. */
async function record(
  ports: ErasurePorts,
  actor: Actor,
  request: EraseSubject & { readonly commandId: string },
  keyIds: readonly string[],
  found: Survey,
): Promise<Recorded> {
  const { tenant, principal } = actor;
  const { reason, commandId } = request;
  const { calls, values, clearValues } = found;
  const { keys, store, clock, ids } = ports;
  const hash = await keys.hashOf(tenant, proofNameOf(request));
  const stream = subjectStream(hash);
  const erasedAt = new Date(clock.now()).toISOString();
  const event: NewEvent<SubjectEvent> = {
    eventId: ids.uuid(),
    type: 'SubjectErased',
    data: {
      subject: hash,
      keys: [...keyIds],
      calls: calls.length,
      values,
      clearValues,
      erasedBy: principal,
      erasedAt,
      reason: reason ?? null,
      ...proofOf(actor),
    },
    metadata: { tenant, callId: null, runId: null, schemaVersion: currentSchemaVersion, commandId },
  };
  const earlier = await store.readStream(stream);
  const same = earlier
    .filter(isReadable)
    .find(({ data }) => keyIds.every((id) => (data as SubjectEvent['data']).keys.includes(id)));
  if (same !== undefined) {
    return { stream, erasedAt: (same.data as SubjectEvent['data']).erasedAt, position: same.position };
  }
  await keys.beginErasing(keyIds);
  crashPoint('erase.before-record');
  try {
    const result = await appendUntilKnown({ store, clock, ids }, stream, earlier.at(-1)?.revision ?? noStream, [event]);
    if (result.status === 'committed') return { stream, erasedAt, position: result.position };
    return await record(ports, actor, request, keyIds, found);
  } catch (error) {
    // If it is unknown whether the append arrived, the next start reads the log and decides.
    if (error instanceof EventStoreUnavailableError) await keys.keep(keyIds);
    throw error;
  }
}

/** Writes the copies again without the values, then destroys the keys. */
async function destroy(ports: ErasurePorts, keyIds: readonly string[]): Promise<void> {
  // Another process may have taken an unrecorded erasure of these keys back.
  await ports.keys.beginErasing(keyIds);
  await ports.rewriteCopies();
  await ports.keys.destroy(keyIds);
}

function viewOf(
  subject: string,
  { calls, values, openCalls, clearValues }: Survey,
  end: Pick<ErasureView, 'status'> & Partial<Pick<ErasureView, 'stream' | 'erasedAt'>>,
): ErasureView {
  const { status, stream = null, erasedAt = null } = end;
  const listed = openCalls.slice(0, listedMax);
  return { subject, status, calls: calls.length, values, openCalls: listed, clearValues, stream, erasedAt };
}
