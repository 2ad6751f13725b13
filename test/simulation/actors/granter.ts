import type { Actor } from '@countersign/commands';
import type { CreateGrantBody, GrantView } from '@countersign/contracts';
import type { World } from '../world/world.ts';
import type { Doors } from './http.ts';
import { agent, approvers } from './people.ts';

const tools = [
  ...(['pay', 'pay_two', 'pay_nudge', 'edit_file', 'lookup', 'sync'] as const),
  ...(['drop_table', 'drop_table', 'post', 'post'] as const),
];

/** The people who give grants. */
export interface Granters {
  /** How many of them have not finished: a revocation may follow its grant by ten seconds. */
  readonly waiting: () => number;
}

/** People who permit calls in advance, for a short time and few uses, confirm what others permit, and revoke some of it; the agent tries as well. */
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
  if (created?.status !== 201) return;
  const { grantId, state } = created.body as GrantView;
  const steps = [...(state === 'pending' ? [confirm] : []), ...(random.chance(0.7) ? [revoke] : [])];
  await Promise.all(steps.map((step) => step(world, doors, grantId, actor)));
}

/** Mostly by another person; by the creator or the agent as well, and sometimes by two people at once. */
async function confirm(world: World, doors: Doors, grantId: string, creator: Actor): Promise<void> {
  const { random } = world;
  const people = Array.from({ length: 1 + random.below(2) }, () => random.pick([creator, agent, ...approvers]));
  await world.wait(random.below(8_000));
  await Promise.all(
    people.map((actor) =>
      doors.ask(
        {
          ...{ kind: 'confirm', actor, key: world.ids.uuid(), body: {} },
          target: `POST /v1/grants/${grantId}/confirm`,
          run: (gateway, context) => gateway.grants.confirm(context, grantId),
        },
        10,
      ),
    ),
  );
}

async function revoke(world: World, doors: Doors, grantId: string): Promise<void> {
  await world.wait(world.random.below(10_000));
  await doors.ask({
    ...{ kind: 'revoke', actor: world.random.pick(approvers), key: world.ids.uuid(), body: {} },
    target: `DELETE /v1/grants/${grantId}`,
    run: (gateway, context) => gateway.grants.revoke(context, grantId, {}),
  });
}
