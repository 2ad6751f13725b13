import type { ApprovalView, RespondBody } from '@countersign/contracts';
import type { Actor } from '@countersign/commands';
import type { World } from '../world/world.ts';
import type { Doors } from './http.ts';
import { agent, approvers } from './people.ts';

/**
 * People at the inbox: they read, respond late or never, twice, too late, against each other, with an edit, a denial or
 * an answer; and the agent tries to respond for itself.
 */
export function startApprovers(world: World, doors: Doors): void {
  const seen = new Map<string, number>();
  const deny = world.random.pick(denialChances);
  const look = async (): Promise<void> => {
    for (;;) {
      await world.wait(1_000 + world.random.below(3_000));
      const listed = await doors.read((gateway) => gateway.approvals.list(agent, {}));
      const { approvals = [] } = (listed?.body ?? {}) as { approvals?: readonly ApprovalView[] };
      for (const approval of approvals) {
        const times = seen.get(approval.approvalId) ?? 0;
        if (times > 2) continue;
        seen.set(approval.approvalId, times + 1);
        void answerSomehow(world, doors, approval, deny);
      }
    }
  };
  void look();
}

/** How often people deny: in some worlds they trust the agent little. */
const denialChances = [0.12, 0.12, 0.6];

async function answerSomehow(world: World, doors: Doors, approval: ApprovalView, deny: number): Promise<void> {
  const { random } = world;
  if (random.chance(0.15)) return;
  const racing = random.chance(0.3) ? 2 + random.below(3) : 1;
  const startMs = random.below(random.chance(0.15) ? 90_000 : 8_000);
  await Promise.all(
    Array.from({ length: racing }, async () => {
      const who = random.chance(0.08) ? agent : random.pick(approvers);
      await world.wait(startMs + random.below(200));
      await respond(world, doors, who, approval, deny);
      if (random.chance(0.1)) await withdraw(world, doors, who, approval.approvalId);
      if (random.chance(0.2)) await respond(world, doors, who, approval, deny);
    }),
  );
}

async function respond(world: World, doors: Doors, actor: Actor, approval: ApprovalView, deny: number): Promise<void> {
  const { random } = world;
  const body: RespondBody = {
    decision: drawDecision(world, deny),
    ...(random.chance(0.5) && { actionDigest: approval.actionDigest }),
  };
  const { approvalId } = approval;
  await doors.ask(
    {
      kind: 'respond',
      actor,
      target: `POST /v1/approvals/${approvalId}/responses`,
      key: world.ids.uuid(),
      body,
      run: (gateway, context) => gateway.approvals.respond(context, approvalId, body),
    },
    20,
  );
}

function drawDecision({ random }: World, deny: number): RespondBody['decision'] {
  if (random.chance(deny)) return { type: 'deny' };
  const drawn = random.next();
  if (drawn < 0.8) return { type: 'approve' };
  if (drawn < 0.93) return { type: 'edit', arguments: { amount: random.below(1_000), edited: true } };
  return { type: 'answer', output: { instead: random.below(10) } };
}

async function withdraw(world: World, doors: Doors, actor: Actor, approvalId: string): Promise<void> {
  await doors.ask(
    {
      kind: 'withdraw',
      actor,
      target: `DELETE /v1/approvals/${approvalId}/responses/mine`,
      key: world.ids.uuid(),
      body: {},
      run: (gateway, context) => gateway.approvals.withdraw(context, approvalId),
    },
    5,
  );
}
