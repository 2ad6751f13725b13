import {
  isCallId,
  isReadable,
  subjectNameOf,
  subjectStream,
  toolCallStream,
  valuePointers,
} from '@countersign/contracts';
import type { ErasuresQuery, EventData, PastErasure, RecordedEvent, SubjectEvent } from '@countersign/contracts';
import type { ErasureKeys, SoundReads } from '@countersign/event-store';
import { eventsOf, namesOf, proofNameOf } from './survey-subject.js';
import type { NamedSubject } from './survey-subject.js';

interface PastErasuresPorts {
  readonly keys: Pick<ErasureKeys, 'hashOf'>;
  /** The log as it is stored: values sealed. */
  readonly raw: SoundReads;
}

const callsMax = 1000;

/** The recorded erasures of a tenant that a query is about, in the order of the log. @throws the signal's reason. */
export async function pastErasures(
  ports: PastErasuresPorts,
  tenant: string,
  { subject, callId }: ErasuresQuery,
  signal: AbortSignal,
): Promise<readonly PastErasure[]> {
  if (callId !== undefined) return erasuresOfCall(ports, tenant, callId, subject);
  const proofs: Proof[] = [];
  const principals = new Set<string>();
  for await (const event of eventsIn(ports, tenant, signal)) {
    const request = requestIn(event);
    if (request !== undefined && subjectNameOf(request) === subject) principals.add(request.requestedBy);
    if (event.type === 'SubjectErased' && subject === undefined) proofs.push(proofIn(event));
  }
  if (subject !== undefined) proofs.push(...(await proofsOf(ports, tenant, namesOf(subject, [...principals]))));
  if (proofs.length === 0) return [];
  const found = createErased(proofs);
  for await (const event of eventsIn(ports, tenant, signal)) found.take(event);
  return found.all();
}

async function* eventsIn(
  { raw }: PastErasuresPorts,
  tenant: string,
  signal: AbortSignal,
): AsyncGenerator<RecordedEvent> {
  for await (const event of eventsOf(raw, signal))
    if (isReadable(event) && event.metadata.tenant === tenant) yield event;
}

/** Reads the streams of the call and of its subject alone. */
async function erasuresOfCall(
  ports: PastErasuresPorts,
  tenant: string,
  callId: string,
  subject: string | undefined,
): Promise<readonly PastErasure[]> {
  const stream = isCallId(callId) ? await ports.raw.readStream(toolCallStream(callId)) : [];
  const events = stream.filter(isReadable).filter(({ metadata }) => metadata.tenant === tenant);
  const request = events.map(requestIn).find((one) => one !== undefined);
  const name = request === undefined ? undefined : subjectNameOf(request);
  if (request === undefined || name === undefined || (subject !== undefined && subject !== name)) return [];
  const found = createErased(await proofsOf(ports, tenant, namesOf(name, [request.requestedBy])));
  events.forEach(found.take);
  return found.all().filter(({ calls }) => calls.length > 0);
}

function requestIn({ type, data }: RecordedEvent): EventData<'ToolCallRequested'> | undefined {
  return type === 'ToolCallRequested' ? (data as EventData<'ToolCallRequested'>) : undefined;
}

interface Proof {
  readonly event: RecordedEvent;
  readonly data: SubjectEvent['data'];
  readonly requestedBy: string | null;
}

function proofIn(event: RecordedEvent, named?: NamedSubject): Proof {
  return { event, data: event.data as SubjectEvent['data'], requestedBy: named?.requestedBy ?? null };
}

async function proofsOf(
  { keys, raw }: PastErasuresPorts,
  tenant: string,
  names: readonly NamedSubject[],
): Promise<readonly Proof[]> {
  const proofs: Proof[] = [];
  for (const named of names) {
    const stream = subjectStream(await keys.hashOf(tenant, proofNameOf(named)));
    for (const event of (await raw.readStream(stream)).filter(isReadable)) proofs.push(proofIn(event, named));
  }
  return proofs.toSorted((one, other) => one.event.position - other.event.position);
}

/** Gathers the calls and fields whose key each erasure destroyed. */
function createErased(proofs: readonly Proof[]) {
  const calls = proofs.map(() => new Map<string, Set<string>>());
  const proofOfKey = new Map(proofs.flatMap(({ data }, nth) => data.keys.map((key) => [key, nth] as const)));
  return {
    take: ({ metadata: { sealed, callId } }: RecordedEvent): void => {
      const nth = sealed === undefined ? undefined : proofOfKey.get(sealed.key);
      const erased = nth === undefined ? undefined : calls[nth];
      if (sealed === undefined || callId === null || erased === undefined) return;
      const fields = erased.get(callId) ?? new Set();
      for (const pointer of valuePointers(sealed.pointers)) fields.add(pointer);
      // One more than is shown says that there are more.
      if (erased.size <= callsMax) erased.set(callId, fields);
    },
    all: (): readonly PastErasure[] =>
      proofs.map(({ event, data, requestedBy }, nth) => {
        const { erasedBy, erasedAt, reason, values, clearValues } = data;
        const { eventId, position, stream } = event;
        const shown = [...(calls[nth] ?? [])].map(([callId, fields]) => ({ callId, fields: [...fields] }));
        return {
          ...{ erasedBy, erasedAt, reason, requestedBy, values, clearValues },
          ...{ calls: shown.slice(0, callsMax), complete: shown.length <= callsMax },
          ...{ eventId, position, stream },
        };
      }),
  };
}
