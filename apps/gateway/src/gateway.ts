import { createStoreCheck, createUnreadableCheck } from '@countersign/shell';
import type { ReadinessCheck } from '@countersign/shell';
import { createApprovals } from './approvals.js';
import type { Approvals } from './approvals.js';
import { createAudit, unreadableIn } from './audit.js';
import type { Audit } from './audit.js';
import { createCallLists } from './call-lists.js';
import type { CallLists } from './call-lists.js';
import { createEventFeed } from './event-feed.js';
import type { EventFeed } from './event-feed.js';
import { createExecutions } from './executions.js';
import type { Executions } from './executions.js';
import { createGrants } from './grants.js';
import type { Grants } from './grants.js';
import { createIdempotency } from './idempotency.js';
import type { Idempotency } from './idempotency.js';
import { createCaps } from './limits/caps.js';
import type { Caps } from './limits/caps.js';
import { createOversightReads } from './oversight.js';
import type { OversightReads } from './oversight.js';
import { createPasskeys } from './passkeys.js';
import type { PasskeysOfPeople } from './passkeys.js';
import { createPolicyReads } from './policies.js';
import type { PolicyReads } from './policies.js';
import type { GatewayPorts } from './ports.js';
import { createStopsCheck } from './stops-check.js';
import { createStops } from './stops.js';
import type { Stops } from './stops.js';
import { createToolCalls } from './tool-calls.js';
import type { ToolCalls } from './tool-calls.js';
import { createWaiters } from './waiters.js';
import { createWithoutApprovers } from './without-approvers.js';

/** The API without its HTTP: who may do it is settled, and the bodies are read. */
export interface Gateway {
  readonly toolCalls: ToolCalls;
  readonly lists: CallLists;
  readonly approvals: Approvals;
  readonly grants: Grants;
  readonly stops: Stops;
  readonly executions: Executions;
  readonly passkeys: PasskeysOfPeople;
  readonly policies: PolicyReads;
  readonly oversight: OversightReads;
  readonly events: EventFeed;
  readonly audit: Audit;
  readonly idempotency: Idempotency;
  readonly caps: Caps;
  readonly checks: readonly ReadinessCheck[];
  readonly metricsText: () => Promise<string>;
  /** Ends streams and releases waiting requests. */
  readonly close: () => void;
}

/** The gateway over its ports. */
export function createGateway(ports: GatewayPorts): Gateway {
  const caps = createCaps(ports.clock, ports.requestsPerSecond);
  const waiters = createWaiters({ ...ports, quota: caps.waits });
  const events = createEventFeed({ ...ports, quota: caps.streams });
  const withoutApprovers = createWithoutApprovers(ports);
  ports.metrics.observe({
    ...ports,
    unreadable: unreadableIn(ports),
    withoutApprovers: withoutApprovers.count,
    longPollWaiters: waiters.count,
    eventStreams: events.count,
  });
  return {
    toolCalls: createToolCalls(ports, waiters),
    lists: createCallLists(ports),
    approvals: createApprovals(ports),
    grants: createGrants(ports),
    stops: createStops(ports),
    executions: createExecutions(ports),
    passkeys: createPasskeys(ports),
    policies: createPolicyReads(ports, caps.reports),
    oversight: createOversightReads(ports, caps.reports),
    events,
    caps,
    audit: createAudit(ports, caps.reports),
    idempotency: createIdempotency({
      store: ports.idempotency,
      clock: ports.clock,
      log: ports.log,
      requestHash: ports.requestHash,
    }),
    checks: [
      createStoreCheck(ports.store),
      projectionCheck(ports),
      createUnreadableCheck(unreadableIn(ports), ports.readModel.turnsHeld),
      withoutApprovers.check,
      createStopsCheck(ports.commands),
      ...(ports.checks ?? []),
    ],
    metricsText: () => ports.metrics.registry.metrics(),
    close: () => {
      waiters.close();
      events.close();
    },
  };
}

/** How long the read model may lack a recorded event. */
const behindMsMax = 10_000;

/**
 * Returns whether the read model keeps up, measured in time: a position is a count in one store and bytes in another.
 * The check compares with what it saw at earlier calls, so it turns red at most one interval late.
 */
function projectionCheck({ store, readModel, clock }: GatewayPorts): ReadinessCheck {
  let missed: { readonly position: number; readonly sinceMs: number } | undefined;
  return {
    name: 'read-model',
    check: async () => {
      const head = await store.head();
      const checkpoint = readModel.checkpoint();
      if (missed !== undefined && checkpoint >= missed.position) missed = undefined;
      if (head > checkpoint) missed ??= { position: head, sinceMs: clock.monotonic() };
      const behindMs = missed === undefined ? 0 : clock.monotonic() - missed.sinceMs;
      if (behindMs <= behindMsMax) return { status: 'ok' };
      return { status: 'failing', why: `behind the log for ${String(Math.round(behindMs / 1000))} s` };
    },
  };
}
