import type { CreateGrantBody, GrantView } from '@countersign/contracts';
import type { World } from '../world/world.ts';
import type { Doors } from './http.ts';
import { agent, approvers } from './people.ts';

const tools = ['pay', 'pay_two', 'pay_nudge', 'edit_file', 'drop_table', 'lookup', 'post', 'sync'] as const;

/** The people who give grants. */
export interface Granters {
  /** How many of them have not finished: a revocation may follow its grant by ten seconds. */
  readonly waiting: () => number;
}

/** People who permit calls in advance, for a short time and few uses, and revoke some of it; the agent tries as well. */
export function startGranters(world: World, doors: Doors): Granters {
  const { random } = world;
  let waiting = 0;
  const give = async (): Promise<void> => {
    while (!world.isHealed()) {
      await world.wait(300 + random.below(2_500));
      waiting += 1;
      void grant(world, doors).finally(() => {
        waiting -= 1;
      });
    }
  };
  void give();
  return { waiting: () => waiting };
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
