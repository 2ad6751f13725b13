import { readable } from '@countersign/event-store/testing';
import type { RecordedEvent } from '@countersign/contracts';
import { at } from '../checkers/checker.ts';
import type { Site } from '../world/cluster.ts';
import type { Doors } from './http.ts';
import { intruder } from './people.ts';

/** Another agent, which knows the ids of foreign calls: it tries to cancel them, and to request approval again. */
export function startIntruder(site: Site, doors: Doors): void {
  const { world } = site;
  const look = (event: RecordedEvent): void => {
    const { callId } = event.metadata;
    if (event.type !== 'ToolCallRequested' || callId === null || at(event, 'requestedBy') === intruder.principal)
      return;
    if (world.random.chance(0.3)) void intrude(site, doors, callId);
  };
  world.log.readers.add({
    publish: (events) => {
      for (const event of readable(events)) look(event);
    },
    subscribe: () => ({ stop: async () => undefined }),
    close: () => undefined,
  });
}

async function intrude({ world }: Site, doors: Doors, callId: string): Promise<void> {
  await world.wait(world.random.below(5_000));
  const isCancel = world.random.chance(0.5);
  const body = { reason: 'not mine' };
  await doors.ask(
    {
      kind: isCancel ? 'cancel' : 'ask again',
      actor: intruder,
      target: `POST /v1/tool-calls/${callId}/${isCancel ? 'cancel' : 'approvals'}`,
      key: world.ids.uuid(),
      body,
      run: (gateway, context) =>
        isCancel
          ? gateway.toolCalls.cancel(context, callId, body.reason)
          : gateway.toolCalls.requestApproval(context, callId, body),
    },
    3,
  );
}
