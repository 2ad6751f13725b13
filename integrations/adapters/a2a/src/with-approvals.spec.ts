import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { AgentCard, Artifact, SendMessageRequest, TaskState, type Message, type Task } from '@a2a-js/sdk';
import { ClientFactory, type Client } from '@a2a-js/sdk/client';
import {
  AgentEvent,
  DefaultRequestHandler,
  InMemoryTaskStore,
  JsonRpcTransportHandler,
  ServerCallContext,
  UnauthenticatedUser,
  type AgentExecutor,
} from '@a2a-js/sdk/server';
import { createWorker, gateTool, modelText } from '@countersign/worker-sdk';
import { createFakeCountersign, type FakeCountersign } from '@countersign/worker-sdk/testing';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { z } from 'zod';
import { withApprovals } from './with-approvals.js';

const ran: number[] = [];
const closers: (() => Promise<void>)[] = [];

const refund = gateTool({
  name: 'refund',
  inputSchema: z.strictObject({ amount: z.int() }),
  needsApproval: true,
  approvalPrompt: ({ amount }) => `Refund ${String(amount)}?`,
  execute: ({ amount }) => {
    ran.push(amount);
    return { refunded: amount };
  },
});

/**
 * `silence`: it ends without a last message while it waits. `failure`: it fails the task itself. `nothing`: it makes no
 * calls.
 */
type Reply = 'task' | 'message' | 'silence' | 'failure' | 'nothing';

/** A process of the agent: each message lets it make the calls c1 and c2 again, and say what they returned. */
async function processOn(
  { fetch }: FakeCountersign,
  {
    store = new InMemoryTaskStore(),
    reply = 'task',
    onAsked = () => undefined,
  }: { readonly store?: InMemoryTaskStore; readonly reply?: Reply; readonly onAsked?: () => void } = {},
): Promise<Client> {
  const worker = createWorker({
    url: 'http://fake.test',
    token: 't',
    agentId: 'a',
    tools: [refund],
    fetch,
    attempts: 1,
  });
  const status = (state: TaskState) => ({ state, message: undefined, timestamp: undefined });
  const agent: AgentExecutor = {
    execute: async ({ taskId, contextId, task, userMessage }, bus) => {
      const begun = { id: taskId, contextId, artifacts: [], history: [userMessage], metadata: undefined };
      if (reply !== 'message')
        bus.publish(AgentEvent.task({ ...(task ?? begun), status: status(TaskState.TASK_STATE_WORKING) }));
      if (reply === 'nothing') {
        const asks = status(TaskState.TASK_STATE_INPUT_REQUIRED);
        return bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: asks, metadata: undefined }));
      }
      const told: Record<string, string> = {};
      for (const toolCallId of ['c1', 'c2']) {
        const call = { runId: taskId, toolCallId, toolName: 'refund', arguments: { amount: 50 } };
        const { result } = await worker.call(call);
        if (result !== null) told[toolCallId] = modelText(result);
      }
      onAsked();
      if (reply === 'message') return bus.publish(AgentEvent.message({ ...userMessage, messageId: 'reply' }));
      if (reply === 'silence') return;
      if (reply === 'failure') {
        const failed = status(TaskState.TASK_STATE_FAILED);
        return bus.publish(AgentEvent.statusUpdate({ taskId, contextId, status: failed, metadata: undefined }));
      }
      const artifact = Artifact.fromJSON({ artifactId: 'told', parts: [{ data: told }] });
      bus.publish(
        AgentEvent.artifactUpdate({ taskId, contextId, artifact, append: false, lastChunk: true, metadata: undefined }),
      );
      bus.publish(
        AgentEvent.statusUpdate({
          taskId,
          contextId,
          status: status(TaskState.TASK_STATE_COMPLETED),
          metadata: undefined,
        }),
      );
    },
    cancelTask: (taskId, bus) => {
      const cancelled = status(TaskState.TASK_STATE_CANCELED);
      bus.publish(AgentEvent.statusUpdate({ taskId, contextId: '', status: cancelled, metadata: undefined }));
      return Promise.resolve();
    },
  };
  const handlers: JsonRpcTransportHandler[] = [];
  const server = createServer((request, response) => {
    void (async () => {
      const body = (await new Response(ReadableStream.from(request)).json()) as Record<string, unknown>;
      const context = new ServerCallContext({ user: new UnauthenticatedUser(), requestedVersion: '1.0' });
      response.setHeader('content-type', 'application/json');
      response.end(JSON.stringify(await handlers[0]?.handle(body, context)));
    })();
  });
  closers.push(worker.close, () => closed(server));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const card = AgentCard.fromJSON({
    name: 'support',
    description: 'Refunds',
    version: '1.0.0',
    supportedInterfaces: [{ url, protocolBinding: 'JSONRPC', protocolVersion: '1.0' }],
    capabilities: {},
    defaultInputModes: ['text/plain'],
    defaultOutputModes: ['text/plain'],
    skills: [],
  });
  const options = { worker, taskStore: store, inboxUrl: 'https://inbox.test/' };
  const { executor, taskStore } = withApprovals(options, agent);
  handlers.push(new JsonRpcTransportHandler(new DefaultRequestHandler(card, taskStore, executor)));
  return new ClientFactory().createFromAgentCard(card);
}

function closed(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

let messages = 0;

async function send(client: Client, part: object, taskId?: string): Promise<Task> {
  messages += 1;
  const message = {
    messageId: `m${String(messages)}`,
    role: 'ROLE_USER',
    parts: [part],
    ...(taskId === undefined ? {} : { taskId }),
  };
  const answer: Message | Task = await client.sendMessage(SendMessageRequest.fromJSON({ message }));
  if (!('id' in answer)) throw new Error(`the agent answered with a message: ${JSON.stringify(answer)}`);
  return answer;
}

const dataOf = (task: Task): unknown =>
  task.status?.message?.parts.find(({ content }) => content?.$case === 'data')?.content?.value;
const toldBy = (task: Task): unknown => task.artifacts.at(-1)?.parts[0]?.content?.value;

async function waiting(store = new InMemoryTaskStore()) {
  const countersign = createFakeCountersign();
  const client = await processOn(countersign, { store });
  const task = await send(client, { text: 'Refund both, please.' });
  expect(task.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
  return { countersign, client, store, task };
}

afterEach(async () => {
  jest.restoreAllMocks();
  ran.length = 0;
  await Promise.all(closers.splice(0).map((close) => close()));
});

describe('a task with calls that wait for people', () => {
  it('requires input, and a data part says which approvals it waits for', async () => {
    const { countersign, task } = await waiting();
    const { approval } = countersign.callOf('c1');
    const approvalId = approval?.approvalId ?? '';
    const address = `https://inbox.test/approvals/${approvalId}`;
    const first = {
      approvalId,
      toolCallId: 'c1',
      toolName: 'refund',
      proposalDigest: approval!.proposal.digest,
      shownDigest: approval!.shownDigest,
      proposal: { number: 1, kind: 'run' },
      instructions: [],
      description: 'Refund 50?',
      address,
    };
    expect(dataOf(task)).toMatchObject({ countersign: { approvals: [first, { toolCallId: 'c2' }] } });
    expect(task.status?.message?.parts[0]?.content?.value).toContain(
      `Run \`refund\` with \`{"amount":50}\`?  \nThe agent says: \`"Refund 50?"\`  \n${address}`,
    );
    expect(ran).toEqual([]);
  });

  it('shows the edit of one of two people with the digests of that edit', async () => {
    const { countersign, client, task } = await waiting();
    countersign.proposeEdit('c1', { amount: 50000 });
    const { approval } = countersign.callOf('c1');
    const after = await send(client, { text: 'And now?' }, task.id);
    const edited = {
      ...{ proposalDigest: approval!.proposal.digest, shownDigest: approval!.shownDigest },
      ...{ toolName: 'refund', arguments: { amount: 50000 }, labels: {}, hiddenCount: 0 },
    };
    expect(dataOf(task)).toMatchObject({ countersign: { approvals: [{ arguments: { amount: 50 } }, {}] } });
    expect(dataOf(after)).toMatchObject({ countersign: { approvals: [edited, { arguments: { amount: 50 } }] } });
    expect(after.status?.message?.parts[0]?.content?.value).toContain(
      'Run `refund` with `{"amount":50000}`?  \nEdited: `me` changed the arguments.  \nThe agent says: `"Refund 50?"`',
    );
  });

  it('goes on in another process after the decisions', async () => {
    const { countersign, store, task } = await waiting();
    countersign.approve('c1');
    countersign.deny('c2', { reason: 'too much' });
    const after = await send(await processOn(countersign, { store }), { text: 'Look again, please.' }, task.id);
    expect(after.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(toldBy(after)).toEqual({ c1: '{"refunded":50}', c2: expect.stringContaining('too much') });
    expect(ran).toEqual([50]);
  });

  it('waits again for what is still pending', async () => {
    const { countersign, client, task } = await waiting();
    countersign.approve('c1');
    const half = await send(client, { text: 'And now?' }, task.id);
    expect(half.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(dataOf(half)).toMatchObject({ countersign: { approvals: [{ toolCallId: 'c2' }] } });
    countersign.approve('c2');
    expect((await send(client, { text: 'And now?' }, task.id)).status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(ran).toEqual([50, 50]);
  });

  it('waits and completes as a task, though the agent answers with a message', async () => {
    const countersign = createFakeCountersign();
    const client = await processOn(countersign, { reply: 'message' });
    const task = await send(client, { text: 'Refund both, please.' });
    expect(task.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    countersign.approve('c1');
    countersign.approve('c2');
    const { status } = await send(client, { text: 'And now?' }, task.id);
    expect(status).toMatchObject({ state: TaskState.TASK_STATE_COMPLETED, message: { messageId: 'reply' } });
    expect(ran).toEqual([50, 50]);
  });
});

describe('a call that people decide while the agent still runs', () => {
  it('is not lost: the task requires input, and the next message runs it', async () => {
    const countersign = createFakeCountersign();
    const isOpen = (id: string): boolean => countersign.callOf(id).state === 'awaiting_approval';
    const onAsked = (): void => {
      for (const id of ['c1', 'c2'].filter(isOpen)) countersign.approve(id);
    };
    const client = await processOn(countersign, { onAsked });
    const task = await send(client, { text: 'Refund both, please.' });
    expect(task.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
    expect(dataOf(task)).toEqual({ countersign: { approvals: [] } });
    expect(task.status?.message?.parts[0]?.content?.value).toBe('People have decided. Send a message to continue.');
    const after = await send(client, { text: 'Continue.' }, task.id);
    expect(after.status?.state).toBe(TaskState.TASK_STATE_COMPLETED);
    expect(ran).toEqual([50, 50]);
  });
});

describe('an agent', () => {
  it.each<[Reply, TaskState]>([
    ['silence', TaskState.TASK_STATE_INPUT_REQUIRED],
    ['failure', TaskState.TASK_STATE_FAILED],
  ])('that ends with %s leaves the task in state %d', async (reply, state) => {
    const client = await processOn(createFakeCountersign(), { reply });
    expect((await send(client, { text: 'Refund both, please.' })).status?.state).toBe(state);
  });
});

describe('a message of the client', () => {
  it.each([{ text: 'yes' }, { text: 'approved' }, { data: { decision: 'approve' } }])(
    'is no decision: %j',
    async (part) => {
      const { countersign, client, task } = await waiting();
      const after = await send(client, part, task.id);
      expect(after.status?.state).toBe(TaskState.TASK_STATE_INPUT_REQUIRED);
      expect(dataOf(after)).toEqual(dataOf(task));
      expect(countersign.callOf('c1').state).toBe('awaiting_approval');
      expect(ran).toEqual([]);
    },
  );
});

describe('a cancelled task', () => {
  it('cancels its calls', async () => {
    const { countersign, client, task } = await waiting();
    const { status } = await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    expect(status?.state).toBe(TaskState.TASK_STATE_CANCELED);
    expect([countersign.callOf('c1').state, countersign.callOf('c2').state]).toEqual(['cancelled', 'cancelled']);
  });

  it('may have requested nothing', async () => {
    const client = await processOn(createFakeCountersign(), { reply: 'nothing' });
    const { id } = await send(client, { text: 'Hello.' });
    const { status } = await client.cancelTask({ tenant: '', id, metadata: undefined });
    expect(status?.state).toBe(TaskState.TASK_STATE_CANCELED);
  });

  it('has ended: no message wakes the agent again, also after a restart', async () => {
    const { countersign, store, task } = await waiting();
    const client = await processOn(countersign, { store });
    await client.cancelTask({ tenant: '', id: task.id, metadata: undefined });
    expect(countersign.callOf('c1').state).toBe('cancelled');
    await expect(send(client, { text: 'Look again.' }, task.id)).rejects.toThrow();
    expect(ran).toEqual([]);
  });
});

describe('without Countersign', () => {
  it('nothing runs, and the task fails', async () => {
    const countersign = createFakeCountersign();
    countersign.setAway(true);
    // The framework logs the error of the agent.
    jest.spyOn(console, 'error').mockReturnValue(undefined);
    const task = await send(await processOn(countersign), { text: 'Refund both, please.' });
    expect(task.status?.state).toBe(TaskState.TASK_STATE_FAILED);
    expect(JSON.stringify(task.status?.message)).toContain('ECONNREFUSED');
    expect(ran).toEqual([]);
  });
});
