import type { Risk, ToolCallState } from '@countersign/contracts';
import type { ReactNode } from 'react';

const stateWords: Readonly<Record<string, string>> = {
  awaiting_approval: 'waiting',
  pending: 'waiting',
};

/** A modal dialog. Escape and the cross close it. It keeps the focus inside and restores it afterwards. */
export function StateBadge({ state }: { state: ToolCallState | 'pending' }): ReactNode {
  return (
    <span className="badge" data-state={state}>
      {stateWords[state] ?? state}
    </span>
  );
}

/** Not the library's own overlay: that adds a style element, which the content security policy forbids. */
export function RiskBadge({ risk }: { risk: Risk | null }): ReactNode {
  return risk === null ? null : (
    <span className="badge" data-risk={risk}>
      {risk} risk
    </span>
  );
}
