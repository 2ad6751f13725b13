import { actionDigest, deriveCallId, isSettled } from '@countersign/contracts';
import type { ClaimView, OutcomeBody, ToolCallView } from '@countersign/contracts';
import { hangPerhaps, startMachine } from '../world/machine.ts';
import type { Machine } from '../world/machine.ts';
import type { Site } from '../world/cluster.ts';
import type { World } from '../world/world.ts';
import { tryTool } from '../world/tool-behaviour.ts';
import { clientTool } from '../workload.ts';
import type { Step } from '../workload.ts';
import { reconcileUnknown } from './admin.ts';
import { publishRequest } from './bus.ts';
import type { Doors, Reply } from './http.ts';
import { agent } from './people.ts';

/** How many calls have no result yet that their agent has received. */
export interface Agents {
  readonly waiting: () => readonly string[];
}

/** The tools that the service runs itself. */
const servedByService = new Set(['pay', 'pay_two', 'pay_nudge', 'pay_silent', 'lookup', 'post']);
/** How often an agent looks for a call that is not recorded, until it requests it again. */
const missesMax = 8;
/** The lease of the agents' own claims, ms. */
export const agentLeaseMs = 8_000;

/**
 * Agents at work: they send each step over HTTP or over the bus, retry unanswered requests, run their own calls, and
 * give up nothing before it has a result.
 */
export function startAgents(site: Site, doors: Doors, steps: readonly Step[]): Agents {
  const waiting = new Set<string>();
  for (const step of steps) {
    const { runId, calls } = step.body;
    const callIds = calls.map(({ toolCallId }) => deriveCallId('default', runId, toolCallId));
    for (const callId of callIds) waiting.add(callId);
    void (async () => {
      await site.world.wait(step.atMs);
      await request(site, doors, step);
      await Promise.all(
        callIds.map(async (callId) => {
          await follow(site, doors, step, callId);
          waiting.delete(callId);
        }),
      );
    })();
  }
  return { waiting: () => [...waiting] };
}

/** Requests until it is known to be recorded; sometimes once more without need. */
async function request(site: Site, doors: Doors, step: Step): Promise<void> {
  const { world } = site;
  const { body } = step;
  if (step.way === 'bus') await publishRequest(site, 'ToolCallRequested', body);
  else await requestOverHttp(world, doors, step);
  if (world.random.chance(0.3)) {
    // Forgotten by a restarted agent: requested again with another key, perhaps over the other transport.
    await world.wait(world.random.below(20_000));
    if (step.way === 'http' && world.random.chance(0.5)) await publishRequest(site, 'ToolCallRequested', body);
    else await requestOverHttp(world, doors, step);
  }
}

async function requestOverHttp({ ids }: World, doors: Doors, { body }: Step): Promise<void> {
  await doors.ask({
    kind: 'request',
    actor: agent,
    target: 'POST /v1/tool-calls',
    key: ids.uuid(),
    body,
    run: (gateway, context) => gateway.toolCalls.request(context, body),
  });
}

/** Follows one call to its result, and does the agent's part. */
async function follow(site: Site, doors: Doors, step: Step, callId: string): Promise<void> {
  const { world, outside } = site;
  for (let [asked, missed] = [0, 0]; ;) {
    const waitMs = world.random.pick([0, 5_000, 30_000]);
    const found = await doors.read((gateway) =>
      gateway.toolCalls.get(agent, callId, { waitMs, until: 'settled' }, () => () => undefined),
    );
    const call = found?.status === 200 ? (found.body as ToolCallView) : undefined;
    if (call === undefined) {
      missed += 1;
      // Quotas refused it, or another request was first: the agent retries until it is recorded.
      if (missed % missesMax === 0) await requestOverHttp(world, doors, step);
      await world.wait(500 + world.random.below(1_500));
    } else if (call.state === 'unknown') {
      await reconcileUnknown(world, doors, outside, callId);
    } else if (isSettled(call.state)) {
      if (call.state !== 'expired' || asked > 0 || !world.random.chance(0.3)) return;
      asked += 1;
      if (world.random.chance(0.5)) await askAgain(world.ids.uuid(), doors, callId);
      else await publishRequest(site, 'ApprovalRequested', { runId: call.runId, toolCallId: call.toolCallId });
      // A gateway with a lagging read model would still return it as expired.
      await world.wait(10_000);
    } else if (call.state === 'allowed' || call.state === 'approved') {
      await act(site, doors, step, call);
    } else {
      if (world.random.chance(0.01)) await cancel(site, doors, call);
      await world.wait(500);
    }
  }
}

async function askAgain(key: string, doors: Doors, callId: string): Promise<void> {
  const body = { reason: 'no answer' };
  const target = `POST /v1/tool-calls/${callId}/approvals`;
  const run = (gateway: Gateway, context: Context): Promise<Reply> =>
    gateway.toolCalls.requestApproval(context, callId, body);
  await doors.ask({ kind: 'ask again', actor: agent, target, key, body, run });
}

async function cancel({ world, ...site }: Site, doors: Doors, call: ToolCallView): Promise<void> {
  const { callId, runId, toolCallId } = call;
  const body = { reason: 'no longer needed' };
  const key = world.ids.uuid();
  if (world.random.chance(0.5)) {
    // The one call, or the whole run.
    const one = world.random.chance(0.8) ? { toolCallId } : {};
    await publishRequest({ world, ...site }, 'ToolCallCancelled', { runId, ...one, ...body });
    return;
  }
  const target = `POST /v1/tool-calls/${callId}/cancel`;
  const run = (gateway: Gateway, context: Context): Promise<Reply> =>
    gateway.toolCalls.cancel(context, callId, body.reason);
  await doors.ask({ kind: 'cancel', actor: agent, target, key, body, run });
}

type Run = Parameters<Doors['ask']>[0]['run'];
type Gateway = Parameters<Run>[0];
type Context = Parameters<Run>[1];

/** The call may run: if it is this agent's to run, it claims, runs and reports. */
async function act(site: Site, doors: Doors, step: Step, call: ToolCallView): Promise<void> {
  const { world } = site;
  const { callId, toolName } = call;
  if (toolName === clientTool) {
    const body = { status: 'succeeded', output: { callId } } as const;
    if (world.random.chance(0.5)) {
      const { runId, toolCallId } = call;
      await publishRequest(site, 'ToolOutputSubmitted', { runId, toolCallId, ...body });
      await world.wait(5_000);
      return;
    }
    await doors.ask({
      kind: 'submit output',
      actor: agent,
      target: `POST /v1/tool-calls/${callId}/output`,
      key: world.ids.uuid(),
      body,
      run: (gateway, context) => gateway.executions.submitOutput(context, callId, body),
    });
  } else if (servedByService.has(toolName)) {
    await world.wait(1_000);
  } else {
    const machine = startMachine(world, `agent/${step.body.runId}`);
    // A crashed agent restarts and reads the call again. A slow one is replaced, and may still be running.
    await Promise.race([execute(site, doors, machine, callId), died(machine), world.wait(2 * agentLeaseMs)]);
    await world.wait(1_000 + world.random.below(3_000));
  }
}

function died(machine: Machine): Promise<void> {
  return new Promise((resolve) => {
    machine.onDeath(resolve);
  });
}

async function execute(site: Site, doors: Doors, machine: Machine, callId: string): Promise<void> {
  const { world, outside } = site;
  const claimBody = { resolverId: world.ids.uuid(), leaseMs: agentLeaseMs };
  const askedAt = machine.clock.monotonic();
  const claimed = await machine.call(() =>
    doors.ask({
      kind: 'claim',
      actor: agent,
      target: `POST /v1/tool-calls/${callId}/claim`,
      key: claimBody.resolverId,
      body: claimBody,
      run: (gateway, context) => gateway.executions.claim(context, callId, claimBody),
    }),
  );
  if (claimed?.status !== 200) return;
  const claim = claimed.body as ClaimView;
  await hangPerhaps(world, machine);
  if (machine.clock.monotonic() - askedAt >= agentLeaseMs) return;
  if (actionDigest(claim.digestInput, claim.arguments) !== claim.actionDigest) return;
  const { attempt, idempotencyKey, digestInput } = claim;
  const asked = { callId, toolName: digestInput.toolName, arguments: claim.arguments, attempt, idempotencyKey };
  const tried = await tryTool(world, outside, machine, asked, new AbortController().signal);
  if (tried.status === 'unknown') return;
  const body: OutcomeBody =
    tried.status === 'succeeded'
      ? { attempt, status: 'succeeded', output: tried.output }
      : { attempt, status: 'failed', error: tried.status };
  await machine.call(() =>
    doors.ask({
      kind: 'report',
      actor: agent,
      target: `POST /v1/tool-calls/${callId}/outcome`,
      key: world.ids.uuid(),
      body,
      run: (gateway, context) => gateway.executions.report(context, callId, body),
    }),
  );
}
