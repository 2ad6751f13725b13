import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, RevealedView } from '@countersign/contracts';
import { hiddenIn, hiddenWords } from '@countersign/text';
import { reveal } from '../client/approvals.js';
import { useClient } from '../live/use-client.js';
import { Arguments } from './arguments.js';

/** The number of hidden values and who hides them, with a way to reveal them while the approval is pending. */
export function HiddenValues({ approval }: { approval: ApprovalView }): ReactNode {
  const { approvalId, state } = approval;
  const hiddenValues = hiddenIn(approval);
  const client = useClient();
  const [revealed, setRevealed] = useState<RevealedView>();
  const [problem, setProblem] = useState('');
  if (hiddenValues.length === 0) return null;
  const show = (): void => {
    reveal(client, approvalId).then(setRevealed, (error: unknown) =>
      setProblem(error instanceof Error ? error.message : 'The values cannot be shown now.'),
    );
  };
  return (
    <div className="cs-hidden-values">
      <p className="cs-notice">
        {hiddenWords(hiddenValues)}.{' '}
        {state === 'pending' && revealed === undefined && (
          <button type="button" className="cs-button cs-quiet" onClick={show}>
            Show hidden values (recorded)
          </button>
        )}
      </p>
      {problem !== '' && <p role="alert">{problem}</p>}
      {revealed !== undefined && (
        <section aria-label="Hidden values shown">
          <Arguments value={revealed.arguments} hiddenValues={[]} />
          {revealed.output !== undefined && <Arguments value={{ answer: revealed.output }} hiddenValues={[]} />}
        </section>
      )}
    </div>
  );
}
