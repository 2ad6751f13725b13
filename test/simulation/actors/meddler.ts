import { readable } from '@countersign/event-store/testing';
import type { RecordedEvent } from '@countersign/contracts';
import { at, eventsOf } from '../checkers/checker.ts';
import type { Site } from '../world/cluster.ts';
import type { Doors } from './http.ts';
import { agent } from './people.ts';

/**
 * The same agent in a second process, in conflict with the first: as soon as every member of an all-or-nothing batch
 * may run, it cancels one of them, or requests approval for one, while the others are claimed.
 */
export function startMeddler(site: Site, doors: Doors): void {
  const { world } = site;
  const seen = new Set<string>();
  const look = (event: RecordedEvent): void => {
    const { callId } = event.metadata;
    if (callId === null || !permits(event)) return;
    const [requested] = eventsOf(site, callId);
    if (requested === undefined || at(requested, 'batchMode') !== 'all-or-nothing') return;
    const members = at(requested, 'batchCallIds') as string[];
    const key = members.toSorted().join();
    if (seen.has(key) || !members.every((one) => eventsOf(site, one).some(permits))) return;
    seen.add(key);
    if (world.random.chance(0.6)) void meddle(site, doors, world.random.pick(members));
  };
  world.log.readers.add({
    publish: (events) => {
      for (const event of readable(events)) look(event);
    },
    subscribe: () => ({ stop: async () => undefined }),
    close: () => undefined,
  });
}

function permits(event: RecordedEvent): boolean {
  return (
    event.type === 'ToolCallAllowed' || (event.type === 'ApprovalResponded' && at(event, 'resolution') === 'approved')
  );
}

async function meddle({ world }: Site, doors: Doors, callId: string): Promise<void> {
  await world.wait(world.random.below(2_000));
  const key = world.ids.uuid();
  const body = { reason: 'second thoughts' };
  const isCancel = world.random.chance(0.6);
  await doors.ask({
    kind: isCancel ? 'cancel' : 'ask again',
    actor: agent,
    target: `POST /v1/tool-calls/${callId}/${isCancel ? 'cancel' : 'approvals'}`,
    key,
    body,
    run: (gateway, context) =>
      isCancel
        ? gateway.toolCalls.cancel(context, callId, body.reason)
        : gateway.toolCalls.requestApproval(context, callId, body),
  });
}
