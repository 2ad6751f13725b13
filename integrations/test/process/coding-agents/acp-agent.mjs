// An agent of the Agent Client Protocol without a model: each prompt is a command that it asks to run.
import { appendFileSync } from 'node:fs';
import { Readable, Writable } from 'node:stream';
import { agent, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';

const options = [
  { optionId: 'always', name: 'Always', kind: 'allow_always' },
  { optionId: 'once', name: 'Once', kind: 'allow_once' },
  { optionId: 'no', name: 'No', kind: 'reject_once' },
];
let sessions = 0;
let calls = 0;

agent({ name: 'scripted' })
  .onRequest(methods.agent.initialize, () => ({ protocolVersion: PROTOCOL_VERSION, agentCapabilities: {} }))
  .onRequest(methods.agent.session.new, () => ({ sessionId: `${process.argv[2]}-${++sessions}` }))
  .onNotification(methods.agent.session.cancel, () => undefined)
  .onRequest(methods.agent.session.prompt, async ({ params: { sessionId, prompt }, client }) => {
    const command = prompt[0].text;
    const toolCallId = `call-${++calls}`;
    const tell = (update) => client.notify(methods.client.session.update, { sessionId, update });
    await tell({ sessionUpdate: 'tool_call', toolCallId, title: command, kind: 'execute', rawInput: { command } });
    const toolCall = { toolCallId };
    const { outcome } = await client.request(methods.client.session.requestPermission, {
      sessionId,
      toolCall,
      options,
    });
    if (outcome.outcome === 'cancelled') return { stopReason: 'cancelled' };
    const isAllowed = outcome.optionId === 'once';
    if (isAllowed) appendFileSync(process.argv[3], `${command} ${Object.keys(process.env).join(' ')}\n`);
    const status = isAllowed ? 'completed' : 'failed';
    await tell({ sessionUpdate: 'tool_call_update', toolCallId, status, rawOutput: { option: outcome.optionId } });
    return { stopReason: 'end_turn' };
  })
  .connect(ndJsonStream(Writable.toWeb(process.stdout), Readable.toWeb(process.stdin)));
