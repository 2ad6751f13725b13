import { readable } from '@countersign/event-store/testing';
import { actionDigest } from '@countersign/contracts';
import type { NewEvent, RecordedEvent } from '@countersign/contracts';
import type { GrantIndex, History, KnownStops, People } from '@countersign/commands';
import type { EventStore } from '@countersign/event-store';
import type { SimulatedLog } from '@countersign/event-store/testing';
import type { MessagePublisher } from '@countersign/message-bus';
import type { LivePolicies } from '@countersign/policy';
import type { Executions } from '@countersign/resolver';
import type { Defence } from './defences.ts';
import { confirmedByItself } from './weak-rules.ts';

/** The index of grants without a defence. */
export function grantIndexWithout(without: Defence | null, index: GrantIndex): GrantIndex {
  if (without !== 'grant-confirmation') return index;
  return { ...index, live: (...given) => index.live(...given).map(confirmedByItself) };
}

/** The history that quotas count, with a defence removed. */
export function historyWithout(without: Defence | null, history: History): History {
  return {
    ...history,
    ...(without === 'pending-cap' && { pendingOf: () => 0 }),
    ...(without === 'cool-down' && { denialsInARow: () => [] }),
    ...(without === 'identical-question' && { pendingCalls: () => [] }),
  };
}

/** The tokens file without a defence: everybody stays an approver. */
export function peopleWithout(without: Defence | null, people: People): People {
  return without === 'delegator-role' ? { ...people, approver: () => ({ groups: [], isAway: false }) } : people;
}

/** The policies without a defence. */
export function policiesWithout(without: Defence | null, policies: LivePolicies): LivePolicies {
  if (without !== 'delegation-time') return policies;
  return {
    ...policies,
    of: (tenant) => {
      const policy = policies.of(tenant);
      const delegatorsOf = (principal: string) =>
        policy.approvers.filter(({ delegates }) => delegates.some(({ to }) => to === principal));
      return { ...policy, delegatorsOf };
    },
  };
}

/** The stops without a defence. */
export function stopsWithout(without: Defence | null, stops: KnownStops): KnownStops {
  if (without === 'stop-look') return { ...stops, fresh: () => [], known: () => [] };
  if (without !== 'stop-reread') return stops;
  let first: ReturnType<KnownStops['known']> | undefined;
  const readOnce = async (tenant: string): Promise<typeof first & object> => (first ??= await stops.fresh(tenant));
  return { ...stops, fresh: (tenant) => first ?? readOnce(tenant), known: (tenant) => first ?? stops.known(tenant) };
}

/** The store without expected revisions: every append goes to the end. */
export function withoutRevision(store: EventStore, log: SimulatedLog): EventStore {
  return {
    ...store,
    append: async (stream, _, events) => {
      const recorded = log.streams.get(stream) ?? [];
      const ids = new Set(events.map(({ eventId }) => eventId));
      const found = recorded.filter(({ eventId }) => ids.has(eventId));
      const last = found.at(-1);
      if (last !== undefined) {
        return { status: 'committed', revision: last.revision, position: last.position, events: found };
      }
      return store.append(stream, recorded.length - 1, events);
    },
  };
}

/** The store that treats every event as new, and whose readers recognise no command. */
export function withoutDedupe(store: EventStore, uuid: () => string): EventStore {
  const hide = (events: readonly RecordedEvent[]): readonly RecordedEvent[] =>
    events.map((event) => ({ ...event, metadata: { ...event.metadata, commandId: event.eventId } }));
  return {
    ...store,
    readStream: async (...given) => hide(readable(await store.readStream(...given))),
    append: async (stream, revision, events) => {
      const renamed = events.map((event): NewEvent => ({ ...event, eventId: uuid() }));
      const result = await store.append(stream, revision, renamed);
      return result.status === 'committed' ? { ...result, events: hide(result.events) } : result;
    },
  };
}

/** The ledger as a resolver sees it that checks nothing. */
export function decoratedExecutions(executions: Executions, without: Defence | null): Executions {
  switch (without) {
    case 'digest-check':
      return {
        ...executions,
        claim: async (...given) => {
          const answer = await executions.claim(...given);
          if (answer.status !== 'claimed') return answer;
          const { claim } = answer;
          return { ...answer, claim: { ...claim, actionDigest: actionDigest(claim.digestInput, claim.arguments) } };
        },
      };
    case 'approval-check':
      return {
        ...executions,
        find: async (...given) => {
          const found = await executions.find(...given);
          return found === undefined ? undefined : { ...found, claimable: true };
        },
      };
    default:
      return executions;
  }
}

/** A publisher that waits for no acknowledgement. */
export function withoutAck(publisher: MessagePublisher): MessagePublisher {
  return {
    publish: async (topic, messages) => {
      publisher.publish(topic, messages).catch(() => undefined);
    },
  };
}
