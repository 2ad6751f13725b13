// One message without calls behind the gate, for `npm run bench`: the executor alone, and with approvals. The ledger is asked after it.
import { SendMessageRequest } from '@a2a-js/sdk';
import {
  AgentEvent,
  DefaultExecutionEventBus,
  InMemoryTaskStore,
  RequestContext,
  ServerCallContext,
  UnauthenticatedUser,
  type AgentExecutor,
} from '@a2a-js/sdk/server';
import { withApprovals } from '@countersign/a2a';
import { createWorker } from '@countersign/worker-sdk';

const message = { messageId: 'm1', role: 'ROLE_USER', parts: [{ text: 'go' }] };
const user = new ServerCallContext({ user: new UnauthenticatedUser(), requestedVersion: '1.0' });
const request = new RequestContext(SendMessageRequest.fromJSON({ message }), 'task', 'context', user);

const agent: AgentExecutor = {
  execute: ({ userMessage }, bus) => {
    bus.publish(AgentEvent.message({ ...userMessage, messageId: 'done' }));
    return Promise.resolve();
  },
  cancelTask: () => Promise.resolve(),
};

async function lastWord(executor: AgentExecutor): Promise<string> {
  const bus = new DefaultExecutionEventBus();
  let last = '';
  bus.on('event', (event) => {
    if (event.kind === 'message') last = event.data.messageId;
  });
  await executor.execute(request, bus);
  return last;
}

export function subjectOn(url: string, token: string): Record<'alone' | 'behind', () => Promise<string>> {
  const worker = createWorker({ url, token, agentId: 'bench', tools: [] });
  const { executor } = withApprovals({ worker, taskStore: new InMemoryTaskStore() }, agent);
  return { alone: () => lastWord(agent), behind: () => lastWord(executor) };
}
