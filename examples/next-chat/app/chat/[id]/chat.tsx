'use client';

import { useChat } from '@ai-sdk/react';
import { Approval, ApprovalsProvider, createApprovalsClient, useApprovals } from '@countersign/react';
import { getToolName, isToolUIPart, type UIMessage } from 'ai';
import { useEffect } from 'react';
import { Composer } from '../../composer';

const client = createApprovalsClient({ url: '/api/approvals' });

export function Chat({ id, runId, stored }: { id: string; runId: string; stored: UIMessage[] }) {
  return (
    <ApprovalsProvider client={client} filter={{ runId }} everyMs={1000}>
      <Conversation id={id} stored={stored} />
    </ApprovalsProvider>
  );
}

function Conversation({ id, stored }: { id: string; stored: UIMessage[] }) {
  const { messages, sendMessage, status, error } = useChat({ id, messages: stored });
  const { approvals, status: read } = useApprovals();
  const approvalOf = (toolCallId: string) => approvals.find((one) => one.toolCallId === toolCallId);
  const asked =
    messages
      .at(-1)
      ?.parts.filter(isToolUIPart)
      .filter(({ state }) => state === 'approval-requested') ?? [];
  const isDecided = asked.length > 0 && read === 'ready' && !asked.some(({ toolCallId }) => approvalOf(toolCallId));
  // Decided here, in another tab, in the inbox or in Slack: the server asks the ledger, and goes on.
  useEffect(() => {
    if (isDecided && status === 'ready') void sendMessage();
  }, [isDecided, status, sendMessage]);

  const show = (part: UIMessage['parts'][number], key: number) => {
    if (part.type === 'text') return <p key={key}>{part.text}</p>;
    if (!isToolUIPart(part)) return null;
    const approval = part.state === 'approval-requested' ? approvalOf(part.toolCallId) : undefined;
    if (approval) return <Approval key={key} approvalId={approval.approvalId} />;
    return <p key={key}>{`${getToolName(part)}: ${part.state}`}</p>;
  };
  return (
    <main>
      <h1>Refunds</h1>
      {messages.map(({ id, role, parts }) => (
        <section key={id} className={role}>
          {parts.map(show)}
        </section>
      ))}
      {error && <p role="alert">Countersign or the model did not answer. Reload the page to try again.</p>}
      <Composer isBusy={status !== 'ready'} onSend={(text) => sendMessage({ text })} />
    </main>
  );
}
