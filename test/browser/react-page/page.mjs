// A page of another application, with the list and the card.
import { createElement, useState } from 'react';
import { createRoot } from 'react-dom/client';
import { Approval, ApprovalList, ApprovalsProvider, createApprovalsClient } from '@countersign/react';

const client = createApprovalsClient({ url: '/api/approvals' });

function Desk() {
  const [open, setOpen] = useState();
  return createElement(
    ApprovalsProvider,
    { client, everyMs: 1000 },
    createElement('h1', null, 'Support desk'),
    createElement(ApprovalList, { currentId: open, onOpen: setOpen }),
    open !== undefined && createElement(Approval, { key: open, approvalId: open }),
  );
}

createRoot(globalThis.document.getElementById('desk')).render(createElement(Desk));
