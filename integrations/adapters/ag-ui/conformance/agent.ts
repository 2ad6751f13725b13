// The agent that the conformance kit tries: an AG-UI server with a scripted agent behind Countersign, and its client.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpAgent } from '@ag-ui/client';
import { contentToText, EventType, type AGUIEvent, type Interrupt, type RunAgentInput } from '@ag-ui/core';
import { withApprovals } from '@countersign/ag-ui';
import { connectKit, type ScriptedCall } from '@countersign/conformance';
import { createWorker, gateTool, modelText } from '@countersign/worker-sdk';
import { z } from 'zod';

const { start, workerOptions, body, used, end } = await connectKit();

const worker = createWorker({
  ...workerOptions,
  tools: [
    gateTool({
      name: 'refund',
      inputSchema: z.strictObject({ amount: z.int() }),
      needsApproval: true,
      execute: (args, { toolCallId }) => body('refund', toolCallId, args),
    }),
  ],
});

/** The state of the kit: what the client has, and the results of calls that the ledger does not have. */
interface State {
  readonly interrupts: Interrupt[];
  readonly ungated: Record<string, string>;
}

const state: State = start.state === null ? { interrupts: [], ungated: {} } : (JSON.parse(start.state) as State);

/** The result of a call; undefined while it waits for people. */
async function resultOf(runId: string, call: ScriptedCall): Promise<string | undefined> {
  const { toolCallId, toolName } = call;
  if (toolName === 'lookup')
    return (state.ungated[toolCallId] ??= JSON.stringify(await body(toolName, toolCallId, call.arguments)));
  const { result } = await worker.call({ ...call, runId });
  return result === null ? undefined : modelText(result);
}

/** The agent of the server, with the thread as its run. It stops after the first turn in which a call waits. */
async function* agent({ threadId, runId }: RunAgentInput): AsyncGenerator<AGUIEvent> {
  yield { type: EventType.RUN_STARTED, threadId, runId };
  let isWaiting = false;
  for (const turn of start.turns) {
    await worker.ask({ runId: threadId, toolCalls: turn.filter(({ toolName }) => toolName === 'refund') });
    for (const call of turn) {
      const { toolCallId, toolName } = call;
      yield { type: EventType.TOOL_CALL_START, toolCallId, toolCallName: toolName };
      yield { type: EventType.TOOL_CALL_ARGS, toolCallId, delta: JSON.stringify(call.arguments) };
      yield { type: EventType.TOOL_CALL_END, toolCallId };
      const content = await resultOf(threadId, call);
      if (content === undefined) isWaiting = true;
      else yield { type: EventType.TOOL_CALL_RESULT, messageId: `${runId}-${toolCallId}`, toolCallId, content };
    }
    if (isWaiting) break;
  }
  if (!isWaiting)
    yield { type: EventType.TEXT_MESSAGE_CHUNK, messageId: `${runId}-text`, role: 'assistant', delta: 'done' };
  yield { type: EventType.RUN_FINISHED, threadId, runId };
}

const server = createServer((request, response) => {
  void (async () => {
    const input = (await new Response(ReadableStream.from(request)).json()) as RunAgentInput;
    response.setHeader('content-type', 'text/event-stream');
    try {
      for await (const event of withApprovals({ worker }, input, () => agent(input)))
        response.write(`data: ${JSON.stringify(event)}\n\n`);
    } catch (error) {
      response.write(`data: ${JSON.stringify({ type: EventType.RUN_ERROR, message: String(error) })}\n\n`);
    }
    response.end();
  })();
});

async function answer() {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  const client = new HttpAgent({ url, threadId: start.runId });
  const { interrupts } = state;
  client.pendingInterrupts = interrupts;
  const payload = start.forge ? { approved: true } : undefined;
  // The client does not resolve an expired interrupt. The thread continues when the interrupt is cancelled.
  const resume = interrupts.map(({ id, expiresAt }) => {
    const isExpired = expiresAt !== undefined && Date.parse(expiresAt) <= Date.now();
    return isExpired
      ? { interruptId: id, status: 'cancelled' as const }
      : { interruptId: id, status: 'resolved' as const, payload };
  });
  const told: Record<string, string> = {};
  let final = '';
  await client.runAgent(start.state === null ? {} : { resume }, {
    // AG-UI always streams: the first event.
    onRunStartedEvent: () => {
      if (start.streaming) used('streaming');
    },
    onToolCallResultEvent: ({ event }) => void (told[event.toolCallId] = contentToText(event.content)),
    onTextMessageContentEvent: ({ event }) => void (final += event.delta),
    onRunErrorEvent: ({ event }) => {
      throw new Error(event.message);
    },
  });
  if (start.forge) for (const { payload } of resume) if (payload !== undefined) used('forged');
  if (client.pendingInterrupts.length === 0) return { event: 'finished', told, final } as const;
  return { event: 'paused', state: JSON.stringify({ ...state, interrupts: client.pendingInterrupts }) } as const;
}

await end(async () => {
  try {
    return await answer();
  } finally {
    await worker.close();
  }
});
