import { HumanMessage, type BaseMessage } from '@langchain/core/messages';
import { Command } from '@langchain/langgraph';
import { z } from 'zod';
import { graph } from '../../../lib/graph';
import { runOf, userOf } from '../../../lib/user';

const body = z.object({
  input: z.object({ text: z.string().min(1) }).nullish(),
  config: z.object({ configurable: z.object({ thread_id: z.uuid() }) }),
});

/** What the transport of `useStream` sends: a text of the user, or nothing, which means "go on if people have decided". */
export async function POST(request: Request): Promise<Response> {
  const { data } = body.safeParse(await request.json().catch(() => null));
  if (data === undefined) return new Response(null, { status: 400 });
  // The thread is the run of the ledger.
  const config = { configurable: { thread_id: runOf(userOf(request), data.config.configurable.thread_id) } };
  const { tasks, values } = await graph.getState(config);
  const isWaiting = tasks.some(({ interrupts }) => interrupts.length > 0);
  // LangGraph would drop the pause, and the question would stay open.
  if (isWaiting && data.input) return new Response(null, { status: 409 });
  const options = { ...config, streamMode: ['values' as const], encoding: 'text/event-stream' as const };
  const stream = data.input
    ? await graph.stream({ messages: [new HumanMessage(data.input.text)] }, options)
    : isWaiting
      ? // A value that is no decision: at the interrupt the adapter asks the ledger, and pauses again while people decide.
        await graph.stream(new Command({ resume: 'go on' }), options)
      : valuesOf(values.messages ?? []);
  return new Response(stream, { headers: { 'content-type': 'text/event-stream' } });
}

/** The end of the thread, as a stream has it. */
function valuesOf(messages: readonly BaseMessage[]): string {
  const shown = messages.map(({ id, type, content }) => ({ id, type, content }));
  return `event: values\ndata: ${JSON.stringify({ messages: shown })}\n\n`;
}
