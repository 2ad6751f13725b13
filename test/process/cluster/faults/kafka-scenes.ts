import { deriveCallId } from '@countersign/contracts';
import type { RequestedCall, ToolCallView } from '@countersign/contracts';
import { respond } from '../../traffic/approval-scenes.js';
import { execute, SceneOver, someArguments, someCall } from '../../traffic/scene.js';
import type { Stage } from '../../traffic/scene.js';
import { moduleTool, moduleToolWithoutApproval } from '../../traffic/tools.js';
import type { PublishOptions, RequestsTopic } from './requests-topic.js';

/** Something that an agent begins on the requests topic. */
export type KafkaScene = (stage: Stage, requests: RequestsTopic) => Promise<void>;

interface Asked {
  readonly runId: string;
  readonly toolCallId: string;
  readonly callId: string;
}

/** An outage of a minute, and what has to be caught up after it. */
const patienceMs = 150_000;

async function ask(
  stage: Stage,
  requests: RequestsTopic,
  more: Partial<RequestedCall>,
  options?: PublishOptions,
): Promise<Asked> {
  const runId = stage.name('run');
  const call = someCall(stage, more);
  await requests.publish('ToolCallRequested', { runId, calls: [call] }, options);
  return { runId, toolCallId: call.toolCallId, callId: deriveCallId('default', runId, call.toolCallId) };
}

/** Reads until the call is as wanted: the request was acknowledged, so it must come to that. */
export async function awaitCall(
  stage: Stage,
  callId: string,
  isThere: (call: ToolCallView) => boolean,
): Promise<ToolCallView> {
  const giveUpAt = Date.now() + patienceMs;
  for (;;) {
    const reply = await stage.ledger.call(callId, '?waitMs=300&until=settled');
    if (reply.status === 'ok' && isThere(reply.value)) return reply.value;
    if (Date.now() > giveUpAt) {
      const what = reply.status === 'ok' ? reply.value.state : reply.code;
      stage.journal.surprises.push(`${callId}, asked for on Kafka, is ${what} after ${String(patienceMs)} ms`);
      throw new SceneOver('not as wanted');
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

const recorded = (): boolean => true;
const pending = (call: ToolCallView): boolean => call.state === 'awaiting_approval' && call.approval !== null;

const approvedByWorker: KafkaScene = async (stage, requests) => {
  const { callId } = await ask(stage, requests, { needsApproval: true });
  await respond(stage, await awaitCall(stage, callId, pending), { type: 'approve' });
  await execute(stage, callId);
};

const denied: KafkaScene = async (stage, requests) => {
  const { callId } = await ask(stage, requests, { needsApproval: true });
  await respond(stage, await awaitCall(stage, callId, pending), { type: 'deny' });
};

const edited: KafkaScene = async (stage, requests) => {
  const { callId } = await ask(stage, requests, { needsApproval: true });
  const call = await awaitCall(stage, callId, pending);
  await respond(stage, call, { type: 'edit', arguments: someArguments(stage.random) });
  await execute(stage, callId);
};

const allowedTwice: KafkaScene = async (stage, requests) => {
  const { callId } = await ask(stage, requests, {}, { copies: stage.random.int(2, 4) });
  await awaitCall(stage, callId, recorded);
  await execute(stage, callId);
};

const byService: KafkaScene = async (stage, requests) => {
  const { callId } = await ask(stage, requests, { toolName: moduleTool });
  await respond(stage, await awaitCall(stage, callId, pending), { type: 'approve' });
};

const byServiceFreely: KafkaScene = async (stage, requests) => {
  await ask(stage, requests, { toolName: moduleToolWithoutApproval });
};

const askedLater: KafkaScene = async (stage, requests) => {
  const { runId, toolCallId, callId } = await ask(stage, requests, {});
  await requests.publish('ApprovalRequested', { runId, toolCallId, reason: 'looks odd' });
  const call = await awaitCall(stage, callId, pending);
  await respond(stage, call, { type: stage.random.pick(['approve', 'deny'] as const) });
};

const cancelled: KafkaScene = async (stage, requests) => {
  const { runId, toolCallId, callId } = await ask(stage, requests, { needsApproval: true });
  await requests.publish('ToolCallCancelled', { runId, toolCallId, reason: 'no longer needed' });
  await awaitCall(stage, callId, ({ state }) => state === 'cancelled');
};

const clientExecuted: KafkaScene = async (stage, requests) => {
  const { runId, toolCallId, callId } = await ask(stage, requests, { clientExecuted: true });
  await requests.publish('ToolOutputSubmitted', { runId, toolCallId, status: 'succeeded', output: { by: 'client' } });
  await awaitCall(stage, callId, ({ state }) => state === 'succeeded');
};

/** Another call under the same name is refused, and the agent hears of it. */
const mismatched: KafkaScene = async (stage, requests) => {
  const { runId, toolCallId, callId } = await ask(stage, requests, { needsApproval: true });
  const other = someCall(stage, { toolCallId, arguments: { path: '/other' } });
  await requests.publish('ToolCallRequested', { runId, calls: [other] });
  await respond(stage, await awaitCall(stage, callId, pending), { type: 'deny' });
};

export const kafkaScenes: Readonly<Record<string, KafkaScene>> = {
  approvedByWorker,
  denied,
  edited,
  allowedTwice,
  byService,
  byServiceFreely,
  askedLater,
  cancelled,
  clientExecuted,
  mismatched,
};
