import type { Risk, ToolCallState } from '@countersign/contracts';
import type { ReactNode } from 'react';

const stateWords: Readonly<Record<string, string>> = {
  awaiting_approval: 'waiting',
  pending: 'waiting',
};

/** Where a call or an approval stands: a word, and a colour beside it. */
export function StateBadge({ state }: { state: ToolCallState | 'pending' }): ReactNode {
  return (
    <span className="badge" data-state={state}>
      {stateWords[state] ?? state}
    </span>
  );
}

/** How risky the rule says it is. */
export function RiskBadge({ risk }: { risk: Risk | null }): ReactNode {
  return risk === null ? null : (
    <span className="badge" data-risk={risk}>
      {risk} risk
    </span>
  );
}
