import type { StopScope, SystemEventData } from '@countersign/contracts';
import { globOf } from '../policy/globs.js';
import { graceMs as timeMsMax } from '../rights/timeline.js';
import type { CallState } from './call-state.js';
import { illegal } from './judged-event.js';
import type { Illegal, JudgedEvent, Judgement } from './judged-event.js';
import type { KnownStreams } from './streams.js';
import { isBeforeBy, skewMsMax } from './times.js';

/** A stop, from its record on. */
export interface KnownStop {
  readonly stopId: string;
  readonly scope: StopScope;
  /** When it was recorded, from which on each process looks at it. */
  readonly since: string;
  /** When it ended, by its word and by its record; undefined: it holds. */
  readonly lifted?: { readonly at: string; readonly recordedAt: string };
}

/** The stops that the log of the tenant has. */
export interface KnownStops {
  /** Judges and takes an event of the stops: a stop is declared once, and lifted once. */
  readonly take: (event: JudgedEvent, isLost: boolean) => Judgement;
  /** The stops that cover a call, also those that were lifted. */
  readonly covering: (call: CallState) => readonly KnownStop[];
}

const nothing: Judgement = { illegal: [], unproven: [] };

/** No stop is known yet. Attack: a stop is declared once more, for nobody, or for a time that is far away. */
export function createKnownStops(streams: KnownStreams): KnownStops {
  const known = new Map<string, KnownStop>();
  const declare = ({ data, recordedAt }: JudgedEvent): Illegal | undefined => {
    const { stopId, scope } = data as SystemEventData<'StopDeclared'>;
    if (known.has(stopId)) return illegal('stop', `the stop ${stopId} is declared already`);
    known.set(stopId, { stopId, scope, since: recordedAt });
    return undefined;
  };
  const lift = ({ data, recordedAt }: JudgedEvent, isLost: boolean): Illegal | undefined => {
    const { stopId, liftedAt } = data as SystemEventData<'StopLifted'>;
    const stop = known.get(stopId);
    if (stop === undefined) return isLost ? undefined : illegal('stop', `no stop ${stopId} is declared`);
    if (stop.lifted !== undefined) return illegal('stop', `the stop ${stopId} is lifted already`);
    known.set(stopId, { ...stop, lifted: { at: liftedAt, recordedAt } });
    return undefined;
  };
  const parentOf = ({ request: { parent } }: CallState): CallState | undefined => {
    const state = parent === null ? undefined : streams.get(`toolCall-${parent}`)?.state;
    return state?.kind === 'call' ? state : undefined;
  };
  const isNamed = ({ agentId, toolName }: StopScope, call: CallState | undefined): boolean => {
    if (call === undefined) return false;
    const { request } = call;
    return (
      (isOf(agentId, request.agentId) && isOf(toolName, request.toolName)) ||
      isNamed({ tenant: null, agentId, toolName }, parentOf(call))
    );
  };
  return {
    take: (event, isLost) => {
      if (event.type !== 'StopDeclared' && event.type !== 'StopLifted') return nothing;
      const broken = event.type === 'StopDeclared' ? declare(event) : lift(event, isLost);
      const { illegal: early, unproven } = judgeTime(event);
      return { illegal: [...(broken === undefined ? [] : [broken]), ...early], unproven };
    },
    covering: (call) =>
      [...known.values()].filter(({ scope }) => isOf(scope.tenant, call.request.tenant) && isNamed(scope, call)),
  };
}

/** Attack: a stop says that it will begin, or that it will have ended. */
function judgeTime({ data, recordedAt }: JudgedEvent): Judgement {
  const { declaredAt, liftedAt } = data as { readonly declaredAt?: string; readonly liftedAt?: string };
  const at = declaredAt ?? liftedAt ?? '';
  if (isBeforeBy(timeMsMax, recordedAt, at)) {
    return {
      illegal: [illegal('time', 'the time that it says is more than 15 minutes after its record')],
      unproven: [],
    };
  }
  return { illegal: [], unproven: isBeforeBy(skewMsMax, recordedAt, at) ? ['off-time'] : [] };
}

function isOf(glob: string | null, name: string): boolean {
  return glob === null || globOf(glob)(name);
}
