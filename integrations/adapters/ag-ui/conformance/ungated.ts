// One run without calls behind the gate, for `npm run bench`: the agent alone, and with approvals shown. The ledger is asked before and after it.
import { EventType, type AGUIEvent } from '@ag-ui/core';
import { withApprovals } from '@countersign/ag-ui';
import { createWorker } from '@countersign/worker-sdk';

const [threadId, runId, messageId] = ['thread', 'run', 'm1'];

async function* agent(): AsyncGenerator<AGUIEvent> {
  yield { type: EventType.RUN_STARTED, threadId, runId };
  yield { type: EventType.TEXT_MESSAGE_START, messageId, role: 'assistant' };
  yield { type: EventType.TEXT_MESSAGE_CONTENT, messageId, delta: 'done' };
  yield { type: EventType.TEXT_MESSAGE_END, messageId };
  yield { type: EventType.RUN_FINISHED, threadId, runId };
}

async function lastWord(events: AsyncIterable<AGUIEvent>): Promise<string> {
  let text = '';
  for await (const event of events) if (event.type === EventType.TEXT_MESSAGE_CONTENT) text += event.delta;
  return text;
}

export function subjectOn(url: string, token: string): Record<'alone' | 'behind', () => Promise<string>> {
  const worker = createWorker({ url, token, agentId: 'bench', tools: [] });
  return {
    alone: () => lastWord(agent()),
    behind: () => lastWord(withApprovals({ worker }, { threadId, runId }, agent)),
  };
}
