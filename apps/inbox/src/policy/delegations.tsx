import type { ReactNode } from 'react';
import { Marked, useNow } from '@countersign/react/parts';
import { LocalTime } from '../ui/local-time.js';
import { ScrollTable } from '../ui/table.js';
import type { WrittenPolicy } from './policy-content.js';

/** The people whom the policy names: their groups, and who stands in for whom until when. */
export function Delegations({ written: { approvers = [] } }: { written: WrittenPolicy }): ReactNode {
  const nowMs = useNow();
  if (approvers.length === 0) return null;
  return (
    <section aria-labelledby="policy-people" className="stack">
      <h2 id="policy-people">People</h2>
      <ScrollTable label="People" columns={['Approver', 'Groups', 'Identities', 'Stand-ins']} isPanel>
        {approvers.map(({ id, groups = [], identities = {}, delegates = [] }) => (
          <tr key={id}>
            <th scope="row">
              <Marked text={id} />
            </th>
            <td>
              <Marked text={groups.join(', ')} />
            </td>
            <td>
              {identityLines(identities).map(({ kind, text }) => (
                <div key={`${kind} ${text}`}>
                  {kind} <Marked text={text} />
                </div>
              ))}
            </td>
            <td>
              {delegates.map((delegate, index) => (
                <div key={index} className={isNow(delegate, nowMs) ? '' : 'cs-muted'}>
                  <Marked text={delegate.to} /> <Between {...delegate} />
                  {isNow(delegate, nowMs) ? ' (now)' : ''}
                </div>
              ))}
            </td>
          </tr>
        ))}
      </ScrollTable>
    </section>
  );
}

function identityLines(
  identities: Readonly<Record<string, string | readonly string[]>>,
): readonly { readonly kind: string; readonly text: string }[] {
  return Object.entries(identities).flatMap(([kind, texts]) =>
    [texts].flat().map((text) => ({ kind: kind === 'frontEnds' ? 'front end' : kind, text })),
  );
}

interface Times {
  readonly from?: string;
  readonly until?: string;
}

function isNow({ from, until }: Times, nowMs: number): boolean {
  return (from === undefined || Date.parse(from) <= nowMs) && (until === undefined || nowMs < Date.parse(until));
}

function Between({ from, until }: Times): ReactNode {
  return (
    <>
      {from !== undefined && (
        <>
          from <LocalTime time={from} />{' '}
        </>
      )}
      {until !== undefined && (
        <>
          until <LocalTime time={until} />
        </>
      )}
    </>
  );
}
