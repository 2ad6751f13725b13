import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { approvedStory } from '@countersign/audit/testing';
import { actionDigest, deriveCallId } from '@countersign/contracts';
import type { DigestInput, JsonObject, NewEvent, StoredEvent } from '@countersign/contracts';
import { openEmbeddedEventStore } from '@countersign/event-store';
import { openNotary } from '@countersign/notary';
import { createLog, systemClock } from '@countersign/runtime';

const callsPerChunk = 200;

/** A data folder with a legal log, and its tree with a signed checkpoint. */
export interface AuditedLog {
  readonly folder: string;
  readonly events: number;
  /** How fast the notary built the tree of the whole log, with the reading of the log. */
  readonly treePerSecond: number;
}

/** Fills a data folder with approved and executed calls: seven events each but for the policy of the first one. */
export async function fillLog(calls: number): Promise<AuditedLog> {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-audit-'));
  const log = createLog({ level: 'silent' });
  const store = await openEmbeddedEventStore({ folder, log, clock: systemClock });
  const { events } = approvedStory()
    .claim()
    .report({ output: { deleted: true, path: '/srv/data/report.txt' } });
  const [policy, ...ofCall] = events as [StoredEvent, ...StoredEvent[]];
  const template = templateOf(ofCall);
  await store.append(policy.stream, -1, [newEvent(policy)]);
  for (let from = 0; from < calls; from += callsPerChunk) {
    const chunk = Array.from({ length: Math.min(callsPerChunk, calls - from) }, (_, at) => template(from + at));
    await Promise.all(chunk.map(({ stream, events: some }) => store.append(stream, -1, some)));
  }
  const startedAt = performance.now();
  const place = {
    folder,
    logKeyFile: null,
    logSigner: null,
    sinks: [],
    store,
    log,
    clock: systemClock,
    origin: null,
    acceptsContradiction: false,
  };
  const notary = openNotary(place);
  for (let signed = await notary.sign('default'); signed.status !== 'signed'; signed = await notary.sign('default'));
  const seconds = (performance.now() - startedAt) / 1000;
  await notary.stop();
  await store.close();
  const count = 1 + calls * ofCall.length;
  return { folder, events: count, treePerSecond: count / seconds };
}

/** The events of one call with other ids. */
function templateOf(events: readonly StoredEvent[]) {
  const text = JSON.stringify(events);
  const { data } = events[0] as { readonly data: unknown };
  const request = data as DigestInput & {
    readonly callId: string;
    readonly runId: string;
    readonly actionDigest: string;
  };
  const { tenant, runId, arguments: args } = data as { tenant: string; runId: string; arguments: JsonObject };
  return (nth: number) => {
    const toolCallId = `call-${String(nth)}`;
    const callId = deriveCallId(tenant, runId, toolCallId);
    const written = text
      .replaceAll('"toolCallId":"call"', `"toolCallId":"${toolCallId}"`)
      .replaceAll(request.callId.slice(3), callId.slice(3))
      .replaceAll(request.actionDigest, actionDigest({ ...request, toolCallId }, args))
      .replaceAll('"event-', `"event-${String(nth)}-`)
      .replaceAll('"command-', `"command-${String(nth)}-`);
    return { stream: `toolCall-${callId}`, events: (JSON.parse(written) as StoredEvent[]).map(newEvent) };
  };
}

function newEvent({ eventId, type, data, metadata }: StoredEvent): NewEvent {
  return { eventId, type, data, metadata } as unknown as NewEvent;
}
