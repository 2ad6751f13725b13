import { setImmediate } from 'node:timers/promises';
import { entryOf, leafHash, parseCheckpoint, parseNote } from '@countersign/audit';
import type { Actor } from '@countersign/commands';
import { isReadable } from '@countersign/contracts';
import type { AuditEventsQuery, LogEvent } from '@countersign/contracts';
import type { OcsfIntegrity } from '@countersign/exports';
import type { GatewayPorts } from '../ports.js';
import { selectEvents } from './select-events.js';
import type { EventsPage } from './select-events.js';

const eventsPerTurn = 100;

/**
 * Returns what the tree says of the events of a page: the leaf of each, and the newest checkpoint. An event that the log cannot
 * give in its stored form has none.
 */
export async function integrityOf(
  ports: GatewayPorts,
  actor: Actor,
  query: AuditEventsQuery,
  { events }: EventsPage,
): Promise<(eventId: string) => OcsfIntegrity | undefined> {
  const stored = ports.sealedLog === undefined ? events : await storedForm(ports, actor, query, events);
  const checkpoint = await newestCheckpoint(ports, actor);
  const leaves = new Map<string, string>();
  for (const [index, event] of stored.entries()) {
    leaves.set(event.eventId, leafOf(event));
    if (index % eventsPerTurn === 0) await setImmediate();
  }
  return (eventId) => {
    const leaf = leaves.get(eventId);
    return leaf === undefined ? undefined : { leaf, checkpoint };
  };
}

/** The same events as the log has them. A page of them may end elsewhere, so it is read up to the last one. */
async function storedForm(ports: GatewayPorts, actor: Actor, query: AuditEventsQuery, events: readonly LogEvent[]) {
  const positions = events.map(({ position }) => position);
  const stored: LogEvent[] = [];
  let after: number | null = Math.min(...positions) - 1;
  const before = Math.max(...positions) + 1;
  while (after !== null && stored.length < events.length) {
    const part: AuditEventsQuery = { ...query, order: 'asc', after, before };
    const page: EventsPage = await selectEvents(ports, ports.sealedLog ?? ports.store, actor, part, true);
    stored.push(...page.events);
    after = page.next;
  }
  return stored;
}

function leafOf(event: LogEvent): string {
  const { metadata, data } = isReadable(event) ? event : (event.stored ?? { metadata: undefined, data: undefined });
  return Buffer.from(leafHash(entryOf({ ...event, metadata, data }))).toString('hex');
}

async function newestCheckpoint(
  { checkpoints }: GatewayPorts,
  { tenant }: Actor,
): Promise<OcsfIntegrity['checkpoint']> {
  const note = await checkpoints?.newest(tenant);
  const found = note === undefined ? undefined : parseCheckpoint(parseNote(note)?.text ?? '');
  if (found === undefined) return null;
  return { origin: found.origin, size: found.size, root: Buffer.from(found.root).toString('base64') };
}
