import { createServer } from 'node:http';
import { EventType, type AGUIEvent, type RunAgentInput } from '@ag-ui/core';
import { withApprovals } from '@countersign/ag-ui';
import { createWorker, gateTool, modelText } from '@countersign/worker-sdk';
import { z } from 'zod';

const url = process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400';
const refund = gateTool({
  name: 'refund',
  inputSchema: z.object({ amount: z.number() }),
  needsApproval: true,
  execute: ({ amount }) => ({ refunded: amount }),
});
const token = process.env['COUNTERSIGN_TOKEN'] ?? '';
const worker = createWorker({
  url,
  token,
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'],
  agentId: 'support',
  tools: [refund],
});

/** Put your agent in its place: it runs its tools through the worker, with the thread as the run. */
async function* agent({ threadId, runId }: RunAgentInput): AsyncGenerator<AGUIEvent> {
  yield { type: EventType.RUN_STARTED, threadId, runId };
  const toolCallId = `${threadId}-1`;
  yield { type: EventType.TOOL_CALL_START, toolCallId, toolCallName: 'refund' };
  yield { type: EventType.TOOL_CALL_END, toolCallId };
  const call = { runId: threadId, toolCallId, toolName: 'refund', arguments: { amount: 50 } };
  const { result } = await worker.call(call);
  const content = result === null ? null : modelText(result);
  if (content !== null) yield { type: EventType.TOOL_CALL_RESULT, messageId: `${runId}-1`, toolCallId, content };
  yield { type: EventType.RUN_FINISHED, threadId, runId };
}

createServer((request, response) => {
  void (async () => {
    response.setHeader('content-type', 'text/event-stream');
    try {
      const input = (await new Response(ReadableStream.from(request)).json()) as RunAgentInput;
      for await (const event of withApprovals({ worker, inboxUrl: url }, input, () => agent(input)))
        response.write(`data: ${JSON.stringify(event)}\n\n`);
    } catch (error) {
      response.write(`data: ${JSON.stringify({ type: EventType.RUN_ERROR, message: String(error) })}\n\n`);
    }
    response.end();
  })();
}).listen(8000, '127.0.0.1');
