import { deriveStopId, operatorTenant, stopStream } from '@countersign/contracts';
import type { HeldCalls, StopEvent, StopScope } from '@countersign/contracts';
import { areEqualJson, stopDecider } from '@countersign/domain';
import type { Stop, StopCommand } from '@countersign/domain';
import { sleep } from '@countersign/runtime';
import type { Actor } from '../actor.js';
import type { CommandPorts } from '../ports.js';
import { withProof } from '../proof.js';
import { refused } from '../result.js';
import type { Result } from '../result.js';
import { stopWithinMs } from './known-stops.js';

/** What to stop, and why. `tenant`: undefined is the own one, and for the operator every tenant. */
export interface StopToDeclare {
  readonly scope: Pick<StopScope, 'agentId' | 'toolName'> & { readonly tenant?: string | undefined };
  readonly reason: string;
}

/**
 * Stops calls: none that it covers is requested, approved or claimed. Resolves when every process knows it, a second after its record:
 * a claim that is decided later is refused.
 */
export async function declareStop(
  ports: CommandPorts,
  actor: Actor,
  { scope: asked, reason }: StopToDeclare,
  commandId: string,
): Promise<Result<Stop>> {
  const { tenant: own, principal: declaredBy } = actor;
  const isOperator = own === operatorTenant;
  if (!isOperator && asked.tenant !== undefined && asked.tenant !== own) {
    return refused('forbidden', `only a token of the tenant "${operatorTenant}" stops another tenant`);
  }
  const scope = { ...asked, tenant: asked.tenant ?? (isOperator ? null : own) };
  const stopId = deriveStopId(own, declaredBy, commandId);
  const at = ports.clock.now();
  const outcome = await handle(ports, actor, commandId, stopId, {
    ...{ type: 'DeclareStop', at, stopId, scope, reason, declaredBy },
  });
  if (outcome.status === 'done') await sleep(ports.clock, stopWithinMs);
  return outcome;
}

/** The stop to lift, and the calls that it held back. */
export interface StopToLift {
  readonly stopId: string;
  readonly reason: string;
  readonly callIds: readonly string[];
  /** Those of other tenants, where the operator's stop covered them. */
  readonly otherTenants?: readonly HeldCalls[] | undefined;
}

/** Lifts a stop of the actor's tenant. */
export function liftStop(
  ports: CommandPorts,
  actor: Actor,
  { stopId, reason, callIds, otherTenants = [] }: StopToLift,
  commandId: string,
): Promise<Result<Stop>> {
  const liftedBy = actor.principal;
  const at = ports.clock.now();
  return handle(ports, actor, commandId, stopId, {
    ...{ type: 'LiftStop', at, stopId, reason, liftedBy, callIds, otherTenants },
  });
}

async function handle(
  { stops }: CommandPorts,
  actor: Actor,
  commandId: string,
  stopId: string,
  command: StopCommand,
): Promise<Result<Stop>> {
  const { tenant } = actor;
  const decide = (state: Parameters<typeof stopDecider.decide>[1]) =>
    withProof(stopDecider.decide(command, state), actor);
  const isRepeat = (recorded: readonly StopEvent[]): boolean => recorded.every((event) => isSameStop(event, command));
  const meta = { tenant, callId: null, runId: null, commandId, isRepeat };
  try {
    const handled = await stops.handler.handleCommand(stopStream(tenant), decide, meta);
    if (handled.status === 'refused') {
      const isUnknown = handled.refusal.code === 'not-requested';
      return isUnknown ? noSuchStop(stopId) : { status: 'refused', refusal: handled.refusal };
    }
    const stop = handled.state.stops.find((one) => one.stopId === stopId);
    return stop === undefined ? noSuchStop(stopId) : { status: 'done', value: stop, position: handled.position };
  } finally {
    stops.forget(tenant);
  }
}

function isSameStop({ type, data }: StopEvent, command: StopCommand): boolean {
  if (data.reason !== command.reason) return false;
  return type !== 'StopDeclared' || (command.type === 'DeclareStop' && areEqualJson(data.scope, command.scope));
}

/** The refusal for a stop that the tenant of the caller did not declare. */
export function noSuchStop(stopId: string): Result & { readonly status: 'refused' } {
  return refused(
    'not-found',
    `this tenant has declared no stop ${stopId}: a stop is lifted by the tenant that declared it`,
  );
}
