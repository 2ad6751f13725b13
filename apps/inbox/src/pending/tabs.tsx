import { useMemo } from 'react';
import type { ReactNode } from 'react';
import { usePending } from '@countersign/react/parts';
import { ofTab } from './order.js';
import type { Tab } from './order.js';

const tabs: readonly (readonly [Tab, string])[] = [
  ['mine', 'For me'],
  ['others', 'Waiting for others'],
  ['all', 'All'],
];

/** Whose turn it is. A number stands there once it is known. */
export function Tabs({ tab, onChange }: { tab: Tab; onChange: (tab: Tab) => void }): ReactNode {
  const { approvals, status, hasMore } = usePending();
  const mine = useMemo(() => ofTab(approvals, 'mine').length, [approvals]);
  const counts = { mine, others: approvals.length - mine, all: approvals.length };
  return (
    <div className="tabs" role="group" aria-label="Whose turn it is">
      {tabs.map(([name, words]) => (
        <button key={name} className="tab" type="button" aria-pressed={name === tab} onClick={() => onChange(name)}>
          {words}
          {status === 'ready' && (
            <span className="tab-count">
              {counts[name].toLocaleString('en-US')}
              {hasMore && '+'}
            </span>
          )}
        </button>
      ))}
    </div>
  );
}
