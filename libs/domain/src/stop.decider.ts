import type { HeldCalls, StopEvent, StopScope } from '@countersign/contracts';
import { accepted, refused } from './decider.js';
import type { Decider, RuleResult } from './decider.js';
import { isInForce } from './stop.state.js';
import type { Stops } from './stop.state.js';
import { toStored } from './time.js';

/** A person stops calls. The caller has checked who may. */
export interface DeclareStop {
  readonly type: 'DeclareStop';
  readonly at: number;
  readonly stopId: string;
  readonly scope: StopScope;
  readonly reason: string;
  readonly declaredBy: string;
}

/** A person ends a stop. */
export interface LiftStop {
  readonly type: 'LiftStop';
  readonly at: number;
  readonly stopId: string;
  readonly reason: string;
  readonly liftedBy: string;
  /** The calls that the stop held back and that may run now. */
  readonly callIds: readonly string[];
  /** Those of other tenants. */
  readonly otherTenants?: readonly HeldCalls[];
}

export type StopCommand = DeclareStop | LiftStop;

/** How many stops of a tenant may be in force at once: a stop of everything is one. */
const stopsInForceMax = 100;

function decide(command: StopCommand, { stops }: Stops): RuleResult<StopEvent> {
  const { stopId, reason, at } = command;
  const known = stops.find((stop) => stop.stopId === stopId);
  if (command.type === 'DeclareStop') {
    if (known !== undefined) return accepted();
    if (stops.filter(isInForce).length >= stopsInForceMax) {
      return refused('too-many', `${String(stopsInForceMax)} stops are in force: stop everything, or lift some.`);
    }
    const { scope, declaredBy } = command;
    return accepted({
      type: 'StopDeclared',
      data: { stopId, scope, reason, declaredBy, declaredAt: toStored(at) },
    });
  }
  if (known === undefined) return refused('not-requested', 'No such stop is recorded.');
  if (!isInForce(known)) return accepted();
  const { liftedBy, callIds, otherTenants = [] } = command;
  return accepted({
    type: 'StopLifted',
    data: {
      ...{ stopId, reason, callIds: [...callIds] },
      ...(otherTenants.length > 0 && { otherTenants: [...otherTenants] }),
      ...{ liftedBy, liftedAt: toStored(at) },
    },
  });
}

function evolve(state: Stops, event: StopEvent): Stops {
  const { stops } = state;
  if (event.type === 'StopDeclared') {
    const { stopId, scope, reason, declaredBy, declaredAt } = event.data;
    if (stops.some((stop) => stop.stopId === stopId)) return state;
    return { stops: [...stops, { stopId, scope, reason, declaredBy, declaredAt, lifted: null }] };
  }
  const { stopId, liftedBy: by, liftedAt: at, reason } = event.data;
  return {
    stops: stops.map((stop) =>
      stop.stopId === stopId && isInForce(stop) ? { ...stop, lifted: { by, at, reason } } : stop,
    ),
  };
}

/** The decider of the stream `system-<tenant>-stops`. */
export const stopDecider: Decider<Stops, StopCommand, StopEvent> = {
  initialState: () => ({ stops: [] }),
  decide,
  evolve,
  // A new stop is always expected, and every command looks at it.
  isTerminal: () => false,
};
