import { declareStop, isCovered, liftStop, noSuchStop } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import type {
  DeclareStopBody,
  HeldCalls,
  LiftStopBody,
  StopEffect,
  StoppedCall,
  StopsView,
  StopView,
  ToolCallState,
} from '@countersign/contracts';
import { operatorTenant } from '@countersign/contracts';
import type { Stop } from '@countersign/domain';
import type { CallRow } from '@countersign/read-model';
import { reachedWithin } from '@countersign/shell';
import { ok, refused } from './answer.js';
import type { Answer } from './answer.js';
import { conclude } from './conclude.js';
import type { WriteContext } from './conclude.js';
import type { GatewayPorts } from './ports.js';

/** The stops: list, read with what they hold back, declare, lift. */
export interface Stops {
  readonly list: (actor: Actor) => Promise<Answer>;
  readonly get: (actor: Actor, stopId: string) => Promise<Answer>;
  readonly declare: (context: WriteContext, body: DeclareStopBody) => Promise<Answer>;
  readonly lift: (context: WriteContext, stopId: string, body: LiftStopBody) => Promise<Answer>;
}

/** How many calls are listed at most. */
const callsMax = 10_000;
const pageSize = 1000;

/** The stops of the gateway: from the log, because what it says is in force. */
export function createStops(ports: GatewayPorts): Stops {
  const { commands } = ports;
  const effect = (tenant: string, stop: Stop): StopEffect => effectOf(ports, tenant, stop);
  const find = async (tenant: string, stopId: string): Promise<Stop | undefined> =>
    (await commands.stops.fresh(tenant)).find((one) => one.stopId === stopId);
  return {
    list: async ({ tenant }) => {
      const stops = await commands.stops.fresh(tenant);
      return ok({ stops: stops.map(toStopView).reverse() } satisfies StopsView);
    },
    get: async ({ tenant }, stopId) => {
      const stop = await find(tenant, stopId);
      return stop === undefined ? refused(noSuchStop(stopId).refusal) : ok(effect(tenant, stop));
    },
    declare: async ({ actor, commandId }, { reason, tenant, agentId = null, toolName = null }) => {
      const scope = { tenant, agentId, toolName };
      const outcome = await declareStop(commands, actor, { scope, reason }, commandId);
      return conclude(
        ports,
        'DeclareStop',
        outcome,
        (stop) => effect(actor.tenant, stop),
        () => 201,
      );
    },
    lift: async ({ actor, commandId }, stopId, { reason }) => {
      const stop = await find(actor.tenant, stopId);
      if (stop === undefined) return refused(noSuchStop(stopId).refusal);
      const held = await heldBy(ports, actor.tenant, stop);
      const outcome = await liftStop(commands, actor, { stopId, reason, ...held }, commandId);
      return conclude(ports, 'LiftStop', outcome, (lifted) => effect(actor.tenant, lifted));
    },
  };
}

function effectOf(ports: GatewayPorts, tenant: string, stop: Stop): StopEffect {
  return {
    stop: toStopView(stop),
    running: callsOf(ports, tenant, stop, ['executing']),
    held: callsOf(ports, tenant, stop, ['allowed', 'approved']),
    waiting: callsOf(ports, tenant, stop, ['awaiting_approval']).length,
  };
}

/** How long the read model may take to have what was recorded before a stop is lifted. */
const behindMsMax = 2000;

/** The calls that may run once a stop is lifted, of every tenant that it covers. Nothing else tells a resolver of them. */
async function heldBy(ports: GatewayPorts, own: string, stop: Stop) {
  const { readModel, store, clock } = ports;
  await reachedWithin(readModel, clock, await store.head(), behindMsMax);
  const of = (tenant: string): string[] =>
    callsOf(ports, tenant, stop, ['allowed', 'approved']).map(({ callId }) => callId);
  const callIds = of(own);
  const otherTenants: HeldCalls[] = [];
  let left = callsMax - callIds.length;
  for (const tenant of own === operatorTenant ? readModel.tenants() : []) {
    if (tenant === own || left === 0) continue;
    const ofTenant = of(tenant).slice(0, left);
    left -= ofTenant.length;
    if (ofTenant.length > 0) otherTenants.push({ tenant, callIds: ofTenant });
  }
  return { callIds, otherTenants };
}

/** The calls of the tenant in these states that a stop covers, as the read model shows them, the newest first. */
function callsOf(
  { readModel }: GatewayPorts,
  tenant: string,
  stop: Stop,
  states: readonly ToolCallState[],
): StoppedCall[] {
  const found: StoppedCall[] = [];
  for (let cursor: string | undefined; found.length < callsMax;) {
    const page = readModel.listCalls(tenant, { states, limit: pageSize, cursor });
    if (page.status !== 'page') break;
    found.push(...page.rows.filter(({ request }) => isCovered(stop, request)).map(toStoppedCall));
    if (page.nextCursor === null || page.rows.length === 0) break;
    cursor = page.nextCursor;
  }
  return found.slice(0, callsMax);
}

function toStoppedCall({ request, state, execution }: CallRow): StoppedCall {
  const { callId, runId, agentId, toolName } = request;
  const claimed = execution.status === 'claimed' ? execution : undefined;
  return {
    ...{ callId, runId, agentId, toolName, state },
    resolverId: claimed?.resolverId ?? null,
    leaseUntil: claimed?.leaseUntil ?? null,
  };
}

/** A stop as it is shown. */
export function toStopView({ stopId, scope, reason, declaredBy, declaredAt, lifted }: Stop): StopView {
  return {
    ...{ stopId, scope, reason, declaredBy, declaredAt },
    ...{ liftedBy: lifted?.by ?? null, liftedAt: lifted?.at ?? null, liftReason: lifted?.reason ?? null },
  };
}
