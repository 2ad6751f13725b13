'use client';

import { Approval, ApprovalsProvider, createApprovalsClient, useApproval } from '@countersign/react';
import type { Message } from '@langchain/langgraph-sdk';
import { FetchStreamTransport, useStream } from '@langchain/langgraph-sdk/react';
import { useEffect, useState } from 'react';
import { Composer } from '../../composer';

type State = { messages: Message[] };
/** What the interrupt of a gated call has: the id of its approval in the ledger. */
type Interrupt = { readonly countersign: { readonly approvalId: string } };

const client = createApprovalsClient({ url: '/api/approvals' });

export function Thread({ threadId, runId }: { threadId: string; runId: string }) {
  return (
    <ApprovalsProvider client={client} filter={{ runId }} everyMs={1000}>
      <Conversation threadId={threadId} />
    </ApprovalsProvider>
  );
}

function Conversation({ threadId }: { threadId: string }) {
  const [transport] = useState(() => new FetchStreamTransport({ apiUrl: '/api/langgraph' }));
  const { messages, interrupts, submit, isLoading, error } = useStream<State, { InterruptType: Interrupt }>({
    transport,
    threadId,
  });
  const goOn = () => void submit(null);
  useEffect(goOn, []);
  return (
    <main>
      <h1>Refunds, by LangGraph</h1>
      {messages.map(({ id, type, content }) => (
        <p key={id} className={type}>
          {String(content)}
        </p>
      ))}
      {interrupts.map(
        ({ id, value }) =>
          value && <Asked key={id} approvalId={value.countersign.approvalId} isLoading={isLoading} onDecided={goOn} />,
      )}
      {error !== undefined && (
        <p role="alert">Countersign or the agent did not answer. Reload the page to try again.</p>
      )}
      <Composer isBusy={isLoading || interrupts.length > 0} onSend={(text) => submit({ text } as never)} />
    </main>
  );
}

type AskedProps = { approvalId: string; isLoading: boolean; onDecided: () => void };

/** The card of an interrupt. The thread goes on when the ledger has a decision, wherever it was made. */
function Asked({ approvalId, isLoading, onDecided }: AskedProps) {
  const state = useApproval(approvalId).approval?.state ?? 'pending';
  useEffect(() => {
    if (state !== 'pending' && !isLoading) onDecided();
  }, [state, isLoading]);
  return <Approval approvalId={approvalId} />;
}
