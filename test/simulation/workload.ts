import type { RequestToolCalls, RequestedCall } from '@countersign/contracts';
import type { Random } from '@countersign/runtime/testing';

/** One model step of one run, and its time. */
export interface Step {
  readonly body: RequestToolCalls;
  readonly atMs: number;
  readonly way: 'http' | 'bus';
}

const toolNames = [
  'pay',
  'pay',
  'pay_two',
  'pay_nudge',
  'pay_silent',
  'lookup',
  'lookup',
  'post',
  'edit_file',
  'drop_table',
  'deploy',
  'sync',
  'sync',
  'browse',
] as const;

/** Tools that the service does not know are run by the agent itself, and `browse` by the client. */
export const clientTool = 'browse';

/** 5 to 20 calls in a few runs, drawn from the seed. */
export function drawWorkload(random: Random): readonly Step[] {
  const wanted = 5 + random.below(16);
  const steps: Step[] = [];
  let calls = 0;
  while (calls < wanted) {
    const count = Math.min(wanted - calls, 1 + (random.chance(0.5) ? 0 : random.below(4)));
    steps.push(drawStep(random, steps.length, count));
    calls += count;
  }
  return steps;
}

function drawStep(random: Random, index: number, count: number): Step {
  const isBatch = count > 1 && random.chance(0.5);
  const calls = Array.from({ length: count }, (_, nth) => drawCall(random, `call-${index}-${nth}`));
  return {
    atMs: random.below(60_000),
    way: random.chance(0.5) ? 'http' : 'bus',
    body: {
      runId: `run-${random.below(4)}`,
      agentId: 'agent',
      ...(count > 1 && { batchId: `step-${index}`, batchMode: isBatch ? 'all-or-nothing' : 'independent' }),
      calls,
    },
  };
}

function drawCall(random: Random, toolCallId: string): RequestedCall {
  const toolName = random.pick(toolNames);
  return {
    toolCallId,
    toolName,
    arguments: { amount: random.below(1_000), ...(toolName === 'drop_table' && { all: random.chance(0.5) }) },
    needsApproval: random.chance(0.4),
    idempotent: toolName === 'sync',
    ...(toolName === clientTool && { clientExecuted: true }),
    ...(random.chance(0.3) && { expiresInMs: 2_000 + random.below(20_000) }),
  };
}
