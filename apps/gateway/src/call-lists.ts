import type { ListRunsQuery, ListToolCallsQuery } from '@countersign/contracts';
import type { Actor } from '@countersign/commands';
import type { Page } from '@countersign/read-model';
import { ok } from './answer.js';
import type { Answer } from './answer.js';
import type { GatewayPorts } from './ports.js';
import { invalidRequest } from './validation.js';
import { viewsFor } from './views-for.js';

/** The lists of calls and of runs. An actor that is an agent, or a front end without a person, and nothing else sees those of its own principal. */
export interface CallLists {
  readonly calls: (actor: Actor, query: ListToolCallsQuery) => Answer;
  readonly runs: (actor: Actor, query: ListRunsQuery) => Answer;
}

/** The lists over the read model. */
export function createCallLists(ports: Pick<GatewayPorts, 'readModel' | 'commands' | 'clock'>): CallLists {
  const { readModel } = ports;
  return {
    calls: (actor, { state, since, requestedBy, values, ...query }) => {
      const seen = principalSeen(actor);
      if (seen !== undefined && requestedBy !== undefined && requestedBy !== seen)
        return ok({ calls: [], nextCursor: null, position: readModel.checkpoint() });
      const { rows, nextCursor, position } = pageOf(
        readModel.listCalls(actor.tenant, {
          ...query,
          states: state,
          sinceMs: since === undefined ? undefined : Date.parse(since),
          requestedBy: seen ?? requestedBy,
        }),
      );
      return ok({ calls: rows.map(viewsFor(ports, actor, values).call), nextCursor, position });
    },
    runs: (actor, { agentId, limit, cursor }) => {
      const requestedBy = principalSeen(actor);
      const { rows, nextCursor } = pageOf(readModel.listRuns(actor.tenant, { agentId, requestedBy, limit, cursor }));
      return ok({ runs: rows, nextCursor });
    },
  };
}

/** The principal whose calls the lists show to an actor; undefined: those of the whole tenant. */
function principalSeen({ principal, roles }: Actor): string | undefined {
  return [...roles].every((role) => role === 'agent' || role === 'front-end') ? principal : undefined;
}

/** @throws ProblemError `invalid-request` for a cursor that no page returned. */
export function pageOf<Row>(page: Page<Row>): Extract<Page<Row>, { status: 'page' }> {
  if (page.status === 'page') return page;
  throw invalidRequest([{ path: 'cursor', message: 'is not the nextCursor of a page of this list' }]);
}
