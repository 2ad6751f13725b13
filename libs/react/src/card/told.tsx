import { useMemo } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { answeredMaskNote, hiddenInAnswer } from '@countersign/text';
import { Marked, Name } from '../ui/marked.js';
import { Arguments } from './arguments.js';
import { Part } from './seen.js';

/** The rest of what a person agrees to: an answer in place of the run, and the instructions that the agent gets. */
export function Told({ approval }: { approval: ApprovalView }): ReactNode {
  const { proposal, instructions } = approval;
  return (
    <>
      {proposal.kind === 'answer' && (
        <section aria-labelledby="card-answer">
          <h3 id="card-answer">
            What the agent gets in place of a run: an answer of <Name text={proposal.proposedBy} />
          </h3>
          <Answer proposal={proposal} />
          <Part />
        </section>
      )}
      {instructions.length > 0 && (
        <section aria-labelledby="card-told">
          <h3 id="card-told">What the agent is told</h3>
          <Instructions instructions={instructions} />
          <Part />
        </section>
      )}
    </>
  );
}

/** An answer in place of a run. Kept between renders: what is drawn hangs on it. */
export function Answer({ proposal: { output, hiddenValues } }: Pick<ApprovalView, 'proposal'>): ReactNode {
  const value = useMemo(() => ({ answer: output }), [output]);
  const hidden = useMemo(() => hiddenInAnswer(hiddenValues), [hiddenValues]);
  return <Arguments value={value} hiddenValues={hidden} note={answeredMaskNote} />;
}

/** The instructions of the people who agreed or denied so far. */
export function Instructions({ instructions }: Pick<ApprovalView, 'instructions'>): ReactNode {
  return (
    <ul className="cs-instructions" aria-label="Instructions">
      {instructions.map(({ respondedBy, instruction, ifDenied }) => (
        <li key={respondedBy}>
          <Name text={respondedBy} />
          {ifDenied === true && ' (if denied)'}: <Marked text={instruction} keepsLines />
        </li>
      ))}
    </ul>
  );
}
