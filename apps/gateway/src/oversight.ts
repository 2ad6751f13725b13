import type { Actor } from '@countersign/commands';
import { isReadable } from '@countersign/contracts';
import type { LogEvent, OversightQuery, OversightReport, RecordedEvent } from '@countersign/contracts';
import { defaultPace } from '@countersign/domain';
import type { Pace } from '@countersign/domain';
import { soundReadsOf } from '@countersign/event-store';
import { createOversight } from '@countersign/read-model';
import type { Oversight } from '@countersign/read-model';
import { toCsv } from '@countersign/exports';
import { readEventsOfCall } from './events-of-call.js';
import { createBreather } from './limits/breather.js';
import type { FairTurns } from './limits/fair-turns.js';
import type { GatewayPorts } from './ports.js';
import { invalidRequest } from './validation.js';

/** The oversight reports. */
export interface OversightReads {
  /**
   * How people decided in a period: for auditors and admins those of the tenant, for an approver their own decisions.
   * @throws ProblemError `invalid-request` for a period that ends before it begins; the signal's reason.
   */
  readonly report: (
    actor: Actor,
    query: Omit<OversightQuery, 'format'>,
    signal: AbortSignal,
  ) => Promise<OversightReport>;
}

const pageSize = 200;
const dayMs = 86_400_000;
const periodMsDefault = 30 * dayMs;
/** The log is read this far around a period: the clock that recorded it may have been set back. */
const slackMs = 3_600_000;
/** About half a minute of reading. */
const eventsMax = 2_000_000;

/** Reports out of the event store, one at a time. */
export function createOversightReads(ports: GatewayPorts, turns: FairTurns): OversightReads {
  const { clock } = ports;
  return {
    report: (actor, query, signal) => {
      const toMs = query.to === undefined ? clock.now() : Date.parse(query.to);
      const fromMs = query.from === undefined ? Math.max(0, toMs - periodMsDefault) : Date.parse(query.from);
      if (fromMs > toMs) throw invalidRequest([{ path: 'from', message: 'must not be after `to`' }]);
      const by = query.by ?? 'approver';
      const pace = paceOf(query.fastMs);
      const scope = actor.roles.has('auditor') || actor.roles.has('admin') ? 'tenant' : 'own';
      const principal = scope === 'own' ? actor.principal : undefined;
      return turns.run(`${actor.tenant}\n${actor.principal}`, async () => {
        const oversight = createOversight({ by, fromMs, toMs, pace, principal });
        const breathe = createBreather(clock.monotonic);
        const cutMs = await readPeriod(ports, oversight, { tenant: actor.tenant, fromMs, toMs, signal, breathe });
        const complete = cutMs === null;
        return {
          by,
          from: new Date(fromMs).toISOString(),
          to: new Date(cutMs ?? toMs).toISOString(),
          scope,
          fast: pace,
          complete,
          ...(await oversight.rows(breathe)),
        };
      });
    },
  };
}

function paceOf(fastMs: number | undefined): Pace {
  return fastMs === undefined ? defaultPace : { baseMs: fastMs, perCharacterMs: 0, maxMs: fastMs };
}

interface Period {
  readonly tenant: string;
  readonly fromMs: number;
  readonly toMs: number;
  readonly signal: AbortSignal;
  readonly breathe: () => Promise<void> | undefined;
}

/** Reads the log of a period into a report. Returns null, or the time up to which it was read when it is too long. */
async function readPeriod(
  { store, readModel }: Pick<GatewayPorts, 'store' | 'readModel'>,
  oversight: Oversight,
  { tenant, fromMs, toMs, signal, breathe }: Period,
): Promise<number | null> {
  const head = await store.head();
  let after = readModel.places.before(new Date(Math.max(0, fromMs - slackMs)).toISOString());
  const endsAt = new Date(toMs + slackMs).toISOString();
  for (let looked = 0; after < head;) {
    signal.throwIfAborted();
    const page = await soundReadsOf(store).readAll(after, pageSize);
    for (const event of page) {
      if (event.recordedAt >= endsAt) return null;
      if (isOfOther(tenant, event)) continue;
      // A promise for each of a million events would take a second.
      const others = addOne(store, oversight, event) ?? breathe();
      if (others !== undefined) await others;
    }
    await breathe();
    const last = page.at(-1);
    if (last === undefined) return null;
    after = last.position;
    looked += page.length;
    if (looked >= eventsMax && after < head) return Math.min(toMs, Date.parse(last.recordedAt));
  }
  return null;
}

/** An event whose tenant cannot be read may be of any. */
function isOfOther(tenant: string, { metadata }: LogEvent): boolean {
  return metadata.tenant !== tenant && metadata.tenant !== null;
}

/** A promise only where the stream of the call must be read. */
function addOne(store: GatewayPorts['store'], oversight: Oversight, event: LogEvent): Promise<void> | undefined {
  if (!isReadable(event)) {
    oversight.setAside(event);
    return undefined;
  }
  if (oversight.isLost(event)) {
    return recall(store, oversight, event).then(() => {
      oversight.add(event);
    });
  }
  oversight.add(event);
  return undefined;
}

/** The call was requested before the period, or its people are asked again: its own streams tell how it stood. */
async function recall(
  store: GatewayPorts['store'],
  oversight: Oversight,
  { metadata, position: next }: RecordedEvent,
): Promise<void> {
  const events = await readEventsOfCall(soundReadsOf(store), metadata.callId ?? '');
  oversight.recall(events.filter(({ position }) => position < next));
}

/**
 * A report as a table. The column `row` distinguishes a key from the rows `nobody` and `others`, even if a tool has
 * such a name.
 */
export function oversightCsv({ by, rows, others, total }: OversightReport): string {
  const table = rows.map(({ key, ...figures }) => ({ row: key === null ? 'nobody' : by, [by]: key, ...figures }));
  return toCsv(['row', by, ...Object.keys(total)], others === null ? table : [...table, { row: 'others', ...others }]);
}
