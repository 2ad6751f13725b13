// A page with cards of its own: the hooks alone, and nothing styled.
import { createElement, version } from 'react';
import { createRoot } from 'react-dom/client';
import { ApprovalsProvider, createApprovalsClient, useApproval, useApprovals, useDecision } from '@countersign/react';

const client = createApprovalsClient({ url: '/api/approvals' });
const button = (name, onClick) => createElement('button', { onClick }, name);

function Card({ approval }) {
  const { mayDecide, change, acknowledge, mine, decide, takeBack } = useDecision(approval, {
    reason: 'a card of its own',
  });
  return createElement(
    'section',
    { 'aria-label': approval.toolName },
    createElement('pre', null, JSON.stringify(approval.arguments)),
    change !== undefined && button('I have seen the change', acknowledge),
    mayDecide && button('Yes', () => decide({ type: 'approve' })),
    mine !== undefined && button('Take it back', takeBack),
    createElement('p', { role: 'status' }, approval.state),
  );
}

function Shown({ id }) {
  const { approval } = useApproval(id);
  return approval === undefined ? null : createElement(Card, { approval });
}

/** The first one stays when it is over. */
let first;

function Page() {
  const { approvals } = useApprovals();
  first ??= approvals[0]?.approvalId;
  return createElement('main', { 'data-react': version }, first && createElement(Shown, { id: first }));
}

createRoot(globalThis.document.getElementById('desk')).render(
  createElement(ApprovalsProvider, { client, filter: { toolName: 'deploy' }, everyMs: 1000 }, createElement(Page)),
);
