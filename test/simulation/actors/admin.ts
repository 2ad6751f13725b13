import type { ToolCallView } from '@countersign/contracts';
import type { Outside } from '../world/outside.ts';
import type { World } from '../world/world.ts';
import type { Doors } from './http.ts';
import { admin } from './people.ts';

/**
 * Reconciles executions with an unknown outcome, after asking the tool's owner: it happened, it did not and must not,
 * or it did not and must be retried. Never while a part of it may still be running.
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
