import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ToolCallView } from '@countersign/contracts';
import { nameWords } from '@countersign/text';
import { Arguments, Dialog, problemOf, problemWords, useToast } from '@countersign/react/parts';
import { reconcile } from '../api/countersign.js';
import type { ReconciledStatus } from '../api/countersign.js';

const choices = [
  ['succeeded', 'It ran', 'The agent is told that the call succeeded.'],
  ['failed', 'It did not run, or it failed', 'The agent is told that the call failed.'],
  ['retry', 'It did not run: run it again', 'A worker may run the tool once more, with the same arguments.'],
] as const satisfies readonly (readonly [ReconciledStatus, string, string])[];

/**
 * Records what a person found out about a call whose outcome is unknown, or that was claimed and released. The latter can be
 * claimed already, so it needs no retry.
 */
export function ReconcileDialog(props: { call: ToolCallView; onClose: () => void; onDone: () => void }): ReactNode {
  const { call, onClose, onDone } = props;
  const possible = choices.filter(([value]) => value !== 'retry' || call.state === 'unknown');
  const [status, setStatus] = useState<ReconciledStatus>();
  const [note, setNote] = useState('');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const toast = useToast();
  const record = async (): Promise<void> => {
    if (status === undefined) return;
    setBusy(true);
    try {
      await reconcile(call.callId, status, note.trim());
      toast({ tone: 'good', text: `Recorded: ${nameWords(call.toolName, 80)}` });
      onDone();
      onClose();
    } catch (error) {
      setProblem(problemWords(problemOf(error), Date.now()));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`What became of ${nameWords(call.toolName, 80)}?`}
      description="Your name, your note and the time are recorded. It cannot be changed later."
      onClose={onClose}
    >
      <form
        className="grant-form"
        onSubmit={(event) => {
          event.preventDefault();
          void record();
        }}
      >
        <Arguments value={call.arguments} hiddenValues={call.approval?.hiddenValues} />
        <fieldset className="choices">
          <legend className="cs-label">What happened</legend>
          {possible.map(([value, label, effect]) => (
            <label key={value} className="cs-check">
              <input type="radio" name="status" required checked={status === value} onChange={() => setStatus(value)} />
              <span>
                {label} <span className="cs-muted">{effect}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <label className="cs-field">
          <span className="cs-label">How you know (needed)</span>
          <input value={note} required maxLength={8192} onChange={(event) => setNote(event.target.value)} />
        </label>
        <p className="cs-problem-line" role="alert">
          {problem}
        </p>
        <div className="cs-actions">
          <button className="cs-button cs-primary" type="submit" disabled={isBusy || note.trim() === ''}>
            Record
          </button>
        </div>
      </form>
    </Dialog>
  );
}
