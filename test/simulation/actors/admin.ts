import type { ToolCallView } from '@countersign/contracts';
import type { Outside } from '../world/outside.ts';
import type { World } from '../world/world.ts';
import type { Doors } from './http.ts';
import { admin } from './people.ts';

/**
 * Says what became of executions whose outcome nobody knows, after asking the owner of the tool: it has happened, it has
 * not and shall not, or it has not and is to be tried again. Never while something of it may still be under way.
 */
export async function reconcileUnknown(world: World, doors: Doors, outside: Outside, callId: string): Promise<void> {
  await world.wait(1_000 + world.random.below(5_000));
  while (outside.runsOf(callId).some(({ isOver }) => !isOver)) await world.wait(1_000);
  const found = await doors.read((gateway) => gateway.toolCalls.get(admin, callId, {}, () => () => undefined));
  if ((found?.body as ToolCallView | undefined)?.state !== 'unknown') return;
  const hasHappened = outside.effectsOf(callId) > 0;
  const instead = world.random.chance(0.7) && !world.isHealed() ? 'retry' : 'failed';
  const body = { status: hasHappened ? 'succeeded' : instead, note: 'asked its owner' } as const;
  await doors.ask({
    kind: 'reconcile',
    actor: admin,
    target: `POST /v1/tool-calls/${callId}/reconcile`,
    key: world.ids.uuid(),
    body,
    run: (gateway, context) => gateway.executions.reconcile(context, callId, body),
  });
}
