import { AgentCard, SendMessageRequest, TaskState, type Message, type Task } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  ServerCallContext,
  UnauthenticatedUser,
  type AgentExecutor,
  type RequestContext,
  type TaskStore,
} from '@a2a-js/sdk/server';
import { createWorker, gateTool } from '@countersign/worker-sdk';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { withApprovals } from './with-approvals.js';

const refund = gateTool({ name: 'refund', inputSchema: z.object({}), needsApproval: true, execute: () => 'refunded' });
const card = AgentCard.fromJSON({ name: 'support', capabilities: {}, skills: [] });
const context = new ServerCallContext({ user: new UnauthenticatedUser(), requestedVersion: '1.0' });

/** Requests a call with the task as its run. */
type Ask = (toolCallId: string) => Promise<unknown>;
type Run = (ask: Ask, request: RequestContext, bus: Parameters<AgentExecutor['execute']>[1]) => Promise<void>;

/** A process of an agent, which shares its task store with the others. Its agent does nothing when it is cancelled. */
function processOn({ fetch }: FakeCountersign, store: TaskStore, execute: Run): DefaultRequestHandler {
  const worker = createWorker({
    url: 'http://fake.test',
    token: 't',
    agentId: 'a',
    tools: [refund],
    fetch,
    attempts: 1,
  });
  const agent: AgentExecutor = {
    execute: (request, bus) => {
      const call = { runId: request.taskId, toolName: 'refund', arguments: {} };
      return execute((toolCallId) => worker.call({ ...call, toolCallId }), request, bus);
    },
    cancelTask: () => Promise.resolve(),
  };
  const { executor, taskStore } = withApprovals({ worker, taskStore: store }, agent);
  return new DefaultRequestHandler(card, taskStore, executor);
}

async function send(handler: DefaultRequestHandler, taskId = ''): Promise<Task> {
  const message = { messageId: crypto.randomUUID(), role: 'ROLE_USER', parts: [{ text: 'go' }], taskId };
  const answer: Message | Task = await handler.sendMessage(SendMessageRequest.fromJSON({ message }), context);
  if (!('id' in answer)) throw new Error(`the agent answered with a message: ${JSON.stringify(answer)}`);
  return answer;
}

const cancel = (handler: DefaultRequestHandler, id: string): Promise<Task> =>
  handler.cancelTask({ tenant: '', id, metadata: undefined }, context);

/** An agent asks c1 and waits for people, in a task that other processes share. */
async function waiting() {
  const countersign = createFakeCountersign();
  const store = new InMemoryTaskStore();
  const handler = processOn(countersign, store, async (ask) => void (await ask('c1')));
  const task = await send(handler);
  expect(task.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
  return { countersign, store, handler, task };
}

describe('a task that is cancelled', () => {
  it('ends at once while it waits, though the agent publishes nothing', async () => {
    const { countersign, handler, task } = await waiting();
    expect((await cancel(handler, task.id)).status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    expect(countersign.callOf('c1').state).toBe('cancelled');
  });

  it('cancels its calls after a restart, when the SDK does not ask the executor', async () => {
    const { countersign, store, task } = await waiting();
    const restarted = processOn(countersign, store, () => Promise.resolve());
    expect((await cancel(restarted, task.id)).status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    expect(countersign.callOf('c1').state).toBe('cancelled');
  });

  it('stays as it was when Countersign is unavailable, and can be cancelled later', async () => {
    const { countersign, store, task } = await waiting();
    const restarted = processOn(countersign, store, () => Promise.resolve());
    countersign.setAway(true);
    await expect(cancel(restarted, task.id)).rejects.toThrow('ECONNREFUSED');
    countersign.setAway(false);
    await cancel(restarted, task.id);
    expect(countersign.callOf('c1').state).toBe('cancelled');
  });

  it.each(['returns', 'throws'])(
    'cancels the calls that an agent in another process requests before it %s',
    async (end) => {
      jest.spyOn(console, 'error').mockReturnValue(undefined);
      jest.spyOn(console, 'warn').mockReturnValue(undefined);
      const { countersign, store, handler, task } = await waiting();
      const late = processOn(countersign, store, async (ask, { userMessage }, bus) => {
        await cancel(handler, task.id);
        await ask('c2');
        if (end === 'throws') throw new Error('a fault of the agent');
        bus.publish(AgentEvent.message({ ...userMessage, messageId: 'reply' }));
      });
      await send(late, task.id);
      expect(countersign.callOf('c2').state).toBe('cancelled');
      expect((await store.load(task.id, context))?.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    },
  );

  it('stays cancelled when an agent in another process publishes the task', async () => {
    jest.spyOn(console, 'warn').mockReturnValue(undefined);
    const { countersign, store, handler, task } = await waiting();
    const late = processOn(countersign, store, async (_ask, request, bus) => {
      await cancel(handler, task.id);
      const status = { state: TaskState.TASK_STATE_WORKING, message: undefined, timestamp: undefined };
      bus.publish(AgentEvent.task({ ...task, status }));
    });
    await send(late, task.id);
    expect((await store.load(task.id, context))?.status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    await expect(send(late, task.id)).rejects.toThrow('terminal state');
  });
});

describe('a task that ends without completing', () => {
  it('cancels its calls when its agent fails', async () => {
    jest.spyOn(console, 'error').mockReturnValue(undefined);
    const countersign = createFakeCountersign();
    const handler = processOn(countersign, new InMemoryTaskStore(), async (ask) => {
      await ask('c1');
      throw new Error('the model is unavailable');
    });
    expect((await send(handler)).status?.state).toBe(TaskState.TASK_STATE_FAILED);
    expect(countersign.callOf('c1').state).toBe('cancelled');
  });

  it('cancels its calls when its agent rejects it', async () => {
    const countersign = createFakeCountersign();
    const handler = processOn(countersign, new InMemoryTaskStore(), async (ask, request, bus) => {
      await ask('c1');
      const status = { state: TaskState.TASK_STATE_REJECTED, message: undefined, timestamp: undefined };
      const { taskId: id, contextId } = request;
      bus.publish(AgentEvent.task({ id, contextId, status, artifacts: [], history: [], metadata: undefined }));
    });
    expect((await send(handler)).status?.state).toBe(TaskState.TASK_STATE_REJECTED);
    expect(countersign.callOf('c1').state).toBe('cancelled');
  });

  it.each(['fails', 'completes'])('cancels what an agent in another process requests after it %s', async (end) => {
    jest.spyOn(console, 'error').mockReturnValue(undefined);
    jest.spyOn(console, 'warn').mockReturnValue(undefined);
    const { countersign, store, task } = await waiting();
    countersign.deny('c1');
    const first = processOn(countersign, store, async (_ask, { userMessage }, bus) => {
      if (end === 'fails') throw new Error('the model is unavailable');
      bus.publish(AgentEvent.message({ ...userMessage, messageId: 'reply' }));
    });
    const late = processOn(countersign, store, async (ask, { taskId, userMessage }, bus) => {
      await send(first, taskId);
      await ask('c2');
      bus.publish(AgentEvent.message({ ...userMessage, messageId: 'late' }));
    });
    await send(late, task.id);
    expect(countersign.callOf('c2').state).toBe('cancelled');
    const state = end === 'fails' ? TaskState.TASK_STATE_FAILED : TaskState.TASK_STATE_COMPLETED;
    expect((await store.load(task.id, context))?.status?.state).toBe(state);
  });
});
