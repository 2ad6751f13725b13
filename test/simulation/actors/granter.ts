import type { CreateGrantBody, GrantView } from '@countersign/contracts';
import type { World } from '../world/world.ts';
import type { Doors } from './http.ts';
import { agent, approvers } from './people.ts';

const tools = ['pay', 'pay_two', 'pay_nudge', 'edit_file', 'drop_table', 'lookup', 'post', 'sync'] as const;

/** People who permit calls in advance, for a short time and few uses, and revoke some of it; the agent tries as well. */
export function startGranters(world: World, doors: Doors): void {
  const { random } = world;
  const give = async (): Promise<void> => {
    while (!world.isHealed()) {
      await world.wait(300 + random.below(2_500));
      void grant(world, doors);
    }
  };
  void give();
}

async function grant(world: World, doors: Doors): Promise<void> {
  const { random } = world;
  const actor = random.chance(0.1) ? agent : random.pick(approvers);
  const body: CreateGrantBody = {
    toolName: random.pick(tools),
    match: random.chance(0.7) ? { any: true } : { when: 'args.amount < 500' },
    expiresInMs: 3_000 + random.below(60_000),
    reason: 'simulated',
    ...(random.chance(0.7) && { maxUses: random.chance(0.8) ? 1 : 2 }),
    ...(random.chance(0.2) && { runId: `run-${random.below(4)}` }),
  };
  const created = await doors.ask(
    {
      ...{ kind: 'grant', actor, target: 'POST /v1/grants', key: world.ids.uuid(), body },
      run: (gateway, context) => gateway.grants.create(context, body),
    },
    10,
  );
  if (created?.status !== 201 || random.chance(0.3)) return;
  await world.wait(random.below(10_000));
  const { grantId } = created.body as GrantView;
  await doors.ask({
    ...{ kind: 'revoke', actor: random.pick(approvers), key: world.ids.uuid(), body: {} },
    target: `DELETE /v1/grants/${grantId}`,
    run: (gateway, context) => gateway.grants.revoke(context, grantId),
  });
}
