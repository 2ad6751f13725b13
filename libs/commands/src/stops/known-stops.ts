import { operatorTenant, stopStream } from '@countersign/contracts';
import type { StopEvent } from '@countersign/contracts';
import { isInForce, stopDecider } from '@countersign/domain';
import type { Stop, Stops } from '@countersign/domain';
import { EventStoreUnavailableError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { startStopwatch } from '@countersign/runtime';
import type { Clock, Ids } from '@countersign/runtime';
import { createFileStop } from './file-stop.js';
import { createCommandHandler } from '../stream/handle-command.js';
import type { CommandHandler } from '../stream/handle-command.js';

/** Within this many ms of the record of a stop no process decides without it: so old what it knows may be. */
export const stopWithinMs = 1000;

/** What is known is read again after this many ms, so that a decision that takes a while need not be made once more. */
const rereadMs = 500;

/** How many streams of stops are cached, one of each tenant. */
const cacheSize = 64;

/** The stops, as a process that decides knows them. It MUST not decide without: who cannot read them grants nothing. */
export interface KnownStops {
  readonly handler: CommandHandler<Stops, StopEvent>;
  /**
   * Returns the stops that concern a tenant, read at most 500 ms ago; a promise only when they must be read.
   * @throws UnreadableStreamError, or as the store when they cannot be read.
   */
  readonly fresh: (tenant: string) => readonly Stop[] | Promise<readonly Stop[]>;
  /** The same, read at most 1 s ago. @throws EventStoreUnavailableError when that was longer ago. */
  readonly known: (tenant: string) => readonly Stop[];
  /** The next `fresh` reads: this process has recorded one. */
  readonly forget: (tenant: string) => void;
}

/** The dependencies of the known stops. */
export interface KnownStopsPorts {
  readonly store: EventStore;
  readonly clock: Clock;
  readonly ids: Ids;
  /** Returns why a file stops every call of this process; undefined: there is no file. Default: none. */
  readonly stopFile?: (() => string | undefined) | undefined;
}

interface Look {
  readonly stops: readonly Stop[];
  /** How many ms ago the read of them began. */
  readonly ageMs: () => number;
}

interface RunningRead {
  readonly look: Promise<Look>;
  readonly ageMs: Look['ageMs'];
}

/** Reads the stops of tenants, and remembers each for a moment. */
export function createKnownStops({ store, clock, ids, stopFile = noFile }: KnownStopsPorts): KnownStops {
  const byFile = createFileStop(stopFile, clock);
  const handler = createCommandHandler({ store, fold: stopDecider, clock, ids, cacheSize });
  const looks = new Map<string, Look>();
  const reading = new Map<string, RunningRead>();
  const read = async (tenant: string, ageMs: Look['ageMs']): Promise<Look> => {
    const { state } = await handler.load(stopStream(tenant));
    return { stops: state.stops, ageMs };
  };
  const look = (tenant: string): Look | Promise<Look> => {
    const last = looks.get(tenant);
    if (last !== undefined && last.ageMs() < rereadMs) return last;
    const running = reading.get(tenant);
    // An older one may have begun before a stop that was acknowledged since: its process was frozen, or the store is slow.
    if (running !== undefined && running.ageMs() < rereadMs) return running.look;
    const ageMs = startStopwatch(clock);
    const isCurrent = (): boolean => reading.get(tenant)?.ageMs === ageMs;
    const next = read(tenant, ageMs)
      .then((found) => {
        // Forgotten meanwhile: it may have been read before the stop was recorded.
        if (isCurrent()) looks.set(tenant, found);
        return found;
      })
      .finally(() => {
        if (isCurrent()) reading.delete(tenant);
      });
    reading.set(tenant, { look: next, ageMs });
    return next;
  };
  const known = (tenant: string): readonly Stop[] => {
    const last = looks.get(tenant);
    if (last !== undefined && last.ageMs() < stopWithinMs) return last.stops;
    throw new EventStoreUnavailableError(
      'the stops could not be read within a second: nothing is granted without them',
    );
  };
  return {
    handler,
    fresh: (tenant) => {
      const own = look(tenant);
      const all = tenant === operatorTenant ? own : look(operatorTenant);
      if (own instanceof Promise || all instanceof Promise) {
        return Promise.all([own, all]).then(([one, two]) => [...byFile(), ...stopsFor(tenant, one.stops, two.stops)]);
      }
      return [...byFile(), ...stopsFor(tenant, own.stops, all.stops)];
    },
    known: (tenant) => [...byFile(), ...stopsFor(tenant, known(tenant), known(operatorTenant))],
    forget: (tenant) => {
      looks.delete(tenant);
      reading.delete(tenant);
    },
  };
}

const noFile = (): undefined => undefined;

/** The stops of the tenant, and those of the operator that cover it. */
/** The stops that concern a tenant: its own, and those of the operator that cover it. */
export function stopsFor(tenant: string, own: readonly Stop[], ofOperator: readonly Stop[]): readonly Stop[] {
  if (tenant === operatorTenant) return own;
  const covering = ofOperator.filter(({ scope }) => scope.tenant === null || scope.tenant === tenant);
  return covering.length === 0 ? own : [...own, ...covering];
}

/** Returns whether one of the stops is in force. */
export function isAnyInForce(stops: readonly Stop[]): boolean {
  return stops.some(isInForce);
}
