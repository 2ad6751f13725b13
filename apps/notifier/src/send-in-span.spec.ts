import type { SpanOptions, Tracing } from '@countersign/shell';
import { sendInSpan } from './send-in-span.js';

const messageAbout = (
  toolCallId: string,
  traceparent: string | undefined,
): Parameters<typeof sendInSpan>[0][number] => ({
  job: {
    callId: `tc_${toolCallId}`,
    approvalId: `apr_${toolCallId}_1`,
    key: { channelId: 'pager', kind: 'digest', nth: 1, recipient: null },
    dueAtMs: null,
  },
  subject: {
    tenant: 'default',
    callId: `tc_${toolCallId}`,
    runId: 'run-1',
    tool: { toolName: 'pay', toolCallId, agentId: 'agent' },
    approvalId: `apr_${toolCallId}_1`,
    traceparent,
  },
});

it('puts a message about several calls into the trace of the first, and names the traces of the others', async () => {
  const spans: SpanOptions[] = [];
  const inSpan: Tracing['inSpan'] = (options, work) => {
    spans.push(options);
    return work({ fail: () => undefined });
  };
  const messages = [messageAbout('a', 'trace-a'), messageAbout('b', 'trace-b'), messageAbout('c', undefined)];
  const sent = { status: 'delivered', messageRef: 'm1' } as const;
  await sendInSpan(messages, { channelId: 'pager', tracing: { inSpan } }, () => Promise.resolve(sent));
  expect(spans).toMatchObject([{ name: 'send pager', parent: 'trace-a', others: ['trace-b', undefined] }]);
});
