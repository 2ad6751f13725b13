import type { ReactNode } from 'react';
import type { GrantPreview } from '@countersign/contracts';
import { Ago, Marked } from '@countersign/react/parts';
import { hrefs } from '../routes.js';
import { Link } from '../ui/link.js';
import { ScrollTable } from '../ui/table.js';

/** The recorded approvals that a grant would have covered. */
export function GrantPreviewTable({ calls }: { calls: GrantPreview['calls'] }): ReactNode {
  return (
    <ScrollTable label="Covered calls" columns={['Call', 'Agent', 'Run', 'Asked', 'Outcome']}>
      {calls.map(({ callId, approvalId, agentId, runId, requestedAt, outcome }) => (
        <tr key={approvalId}>
          <th scope="row" className="cs-mono">
            <Link href={hrefs.call(callId)}>
              <Marked text={callId} />
            </Link>
          </th>
          <td>
            <Marked text={agentId} />
          </td>
          <td>
            <Marked text={runId} />
          </td>
          <td>
            <Ago time={requestedAt} />
          </td>
          <td>
            <Marked text={outcome} />
          </td>
        </tr>
      ))}
    </ScrollTable>
  );
}
