'use client';

import { useChat } from '@ai-sdk/react';
import { Approval, ApprovalsProvider, createApprovalsClient, useApprovals } from '@countersign/react';
import type { UIMessage } from 'ai';
import { useEffect } from 'react';
import { Composer } from '../../composer';
import { Messages, openCallsOf } from './messages';

const client = createApprovalsClient({ url: '/api/approvals' });

export function Chat({ id, runId, stored }: { id: string; runId: string; stored: UIMessage[] }) {
  return (
    <ApprovalsProvider client={client} filter={{ runId }} everyMs={1000}>
      <Conversation id={id} stored={stored} />
    </ApprovalsProvider>
  );
}

const cardOf = (approvalId?: string) => approvalId && <Approval approvalId={approvalId} />;

function Conversation({ id, stored }: { id: string; stored: UIMessage[] }) {
  const { messages, sendMessage, status, error } = useChat({ id, messages: stored });
  const { approvals, status: read } = useApprovals();
  const idOf = (toolCallId: string) => approvals.find((one) => one.toolCallId === toolCallId)?.approvalId;
  const asked = openCallsOf(messages);
  const isDecided = asked.length > 0 && read === 'ready' && !asked.some(idOf);
  // Decided here, in another tab, in the inbox or in Slack: the server asks the ledger, and goes on.
  useEffect(() => {
    if (isDecided && status === 'ready') void sendMessage();
  }, [isDecided, status, sendMessage]);
  return (
    <main>
      <h1>Refunds</h1>
      <Messages messages={messages} cardOf={(toolCallId) => cardOf(idOf(toolCallId))} />
      {error && <p role="alert">Countersign or the model did not answer. Reload the page to try again.</p>}
      <Composer isBusy={status !== 'ready'} onSend={(text) => sendMessage({ text })} />
    </main>
  );
}
