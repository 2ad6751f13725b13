import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { withdraw } from '../client/approvals.js';
import { problemOf } from '../client/problem.js';
import { useClient } from '../live/use-client.js';
import { usePendingStore } from '../live/use-pending.js';
import { problemWords } from '../text/words.js';
import { onPress } from '../ui/press.js';

/** One person has one vote. It can be withdrawn while others are still needed. */
export function Voted({ approval, response }: { approval: ApprovalView; response: number }): ReactNode {
  const client = useClient();
  const store = usePendingStore();
  const [problem, setProblem] = useState('');
  const takeBack = (): void => {
    withdraw(client, approval.approvalId, response).then(store.apply, (error: unknown) => {
      setProblem(problemWords(problemOf(error), Date.now()));
    });
  };
  return (
    <div className="cs-actions">
      <span>Your answer is recorded. More people must answer.</span>
      <span className="cs-actions-gap" />
      <button className="cs-button" type="button" onClick={onPress(takeBack)}>
        Take it back
      </button>
      <span className="cs-problem-line" role="alert">
        {problem}
      </span>
    </div>
  );
}
