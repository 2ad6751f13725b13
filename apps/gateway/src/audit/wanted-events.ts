import { aliasesOf } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import { comparedIdentity, eventFacets, facetsOf, toolOf } from '@countersign/contracts';
import type { AuditEventsQuery, LogEvent } from '@countersign/contracts';
import type { WantedEvents } from '@countersign/read-model';
import { isOfTenant } from '../event-feed.js';
import type { GatewayPorts } from '../ports.js';

type Ports = Pick<GatewayPorts, 'readModel' | 'commands'>;

/** What a query asks for: for the summaries of blocks, and for each event. */
export interface Search {
  readonly wanted: WantedEvents;
  readonly isWanted: (event: LogEvent) => boolean;
}

/** The search of an auditor, in the tenant of the auditor alone. */
export function searchOf(ports: Ports, actor: Actor, query: AuditEventsQuery): Search {
  const { types: type, toolName, agentId, runId, callId, ruleId, via, since, until } = query;
  const people = query.actor && namesOf(ports, actor.tenant, query.actor);
  const given = { type, actor: people, toolName, agentId, runId, callId, ruleId, via };
  const facets = Object.fromEntries(Object.entries(given).filter(([, values]) => values !== undefined));
  const period = { since: storedTime(since), until: storedTime(until) };
  const filters = eventFacets.flatMap((facet) => {
    const values = given[facet];
    return values === undefined ? [] : [{ facet, values: new Set(values) }];
  });
  return {
    wanted: { tenant: actor.tenant, facets, ...period },
    isWanted: (event) => {
      if (!isOfTenant(ports.readModel, actor, event) || !isIn(event.recordedAt, period)) return false;
      if (filters.length === 0) return true;
      const values = facetsOf(event, toolOf(event) ?? callOf(ports, actor, event));
      return filters.every((one) => values[one.facet].some((value) => one.values.has(value)));
    },
  };
}

/** The names of people, and the other names of the same people. */
function namesOf({ commands }: Ports, tenant: string, principals: readonly string[]): readonly string[] {
  const all = principals.flatMap((principal) => [principal, ...aliasesOf(commands, tenant, principal)]);
  return [...new Set(all.map(comparedIdentity))];
}

/** The tool of an event that an older version recorded without it. */
function callOf({ readModel }: Ports, { tenant }: Actor, { metadata: { callId } }: LogEvent) {
  return callId === null ? undefined : readModel.toolCall(tenant, callId)?.request;
}

interface Period {
  readonly since: string | undefined;
  readonly until: string | undefined;
}

/** Times as they are stored sort as texts. */
function isIn(recordedAt: string, { since, until }: Period): boolean {
  return (since === undefined || recordedAt >= since) && (until === undefined || recordedAt < until);
}

function storedTime(time: string | undefined): string | undefined {
  return time === undefined ? undefined : new Date(time).toISOString();
}
