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
    const last = steps.at(-1);
    const isRepeated = count === 1 && last !== undefined && random.chance(0.25);
    steps.push(isRepeated ? drawRepeat(random, steps.length, last) : drawStep(random, steps.length, count));
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
      batchMode: modeOf(index),
      ...(count > 1 && { batchId: `step-${index}`, batchMode: isBatch ? 'all-or-nothing' : modeOf(index) }),
      calls: distinct(calls),
    },
  };
}

/** Drawn from nothing, so that the worlds of the seeds stay as they are for the other steps. */
function modeOf(index: number): 'independent' | 'sequential' {
  return index % 4 === 3 ? 'sequential' : 'independent';
}

/** A request with two identical calls is refused each time that it comes, so its calls would have no result. */
function distinct(calls: readonly RequestedCall[]): RequestedCall[] {
  const known = new Set<string>();
  return calls.map((call, nth) => {
    const key = JSON.stringify([call.toolName, call.arguments]);
    if (known.has(key)) return { ...call, arguments: { ...call.arguments, amount: 1_000 + nth } };
    known.add(key);
    return call;
  });
}

/** A model that does not wait: the first call of the step before, requested again soon as a new one. */
function drawRepeat(random: Random, index: number, { body, atMs, way }: Step): Step {
  const { runId, agentId } = body;
  const calls = body.calls.slice(0, 1).map((call) => ({ ...call, toolCallId: `call-${index}-0` }));
  return { atMs: atMs + random.below(5_000), way, body: { runId, agentId, calls } };
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
