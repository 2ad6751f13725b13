import type { Risk, ToolCallState } from '@countersign/contracts';
import type { ReactNode } from 'react';

const stateWords: Readonly<Record<string, string>> = {
  awaiting_approval: 'waiting',
  pending: 'waiting',
};

/** The state of a call or an approval: a word and a colour. */
export function StateBadge({
  state,
  waitsForTurn = false,
}: {
  state: ToolCallState | 'pending';
  /** Nobody is asked about the call yet. */
  waitsForTurn?: boolean | undefined;
}): ReactNode {
  return (
    <span className="cs-badge" data-state={state}>
      {waitsForTurn ? 'waits for its turn' : (stateWords[state] ?? state)}
    </span>
  );
}

/** The risk tier of the rule. */
export function RiskBadge({ risk }: { risk: Risk | null }): ReactNode {
  return risk === null ? null : (
    <span className="cs-badge" data-risk={risk}>
      {risk} risk
    </span>
  );
}
