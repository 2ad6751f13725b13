import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ToolCallView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { reconcile } from '../api/countersign.js';
import type { ReconciledStatus } from '../api/countersign.js';
import { problemOf } from '../api/problem.js';
import { Arguments } from '../card/arguments.js';
import { problemWords } from '../text/words.js';
import { Dialog } from '../ui/dialog.js';
import { useToast } from '../ui/toast.js';

const choices = [
  ['succeeded', 'It ran', 'The agent is told that the call succeeded.'],
  ['failed', 'It did not run, or it failed', 'The agent is told that the call failed.'],
  ['retry', 'It did not run: run it again', 'A worker may run the tool once more, with the same arguments.'],
] as const satisfies readonly (readonly [ReconciledStatus, string, string])[];

/** Records what a person found out about a call whose outcome is unknown. */
export function ReconcileDialog(props: { call: ToolCallView; onClose: () => void; onDone: () => void }): ReactNode {
  const { call, onClose, onDone } = props;
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
      toast({ tone: 'good', text: `Recorded: ${printable(call.toolName, 80)}` });
      onDone();
      onClose();
    } catch (error) {
      setProblem(problemWords(problemOf(error), Date.now()));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`What became of ${printable(call.toolName, 80)}?`}
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
          <legend className="label">What happened</legend>
          {choices.map(([value, label, effect]) => (
            <label key={value} className="check">
              <input type="radio" name="status" required checked={status === value} onChange={() => setStatus(value)} />
              <span>
                {label} <span className="muted">{effect}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <label className="field">
          <span className="label">How you know (needed)</span>
          <input value={note} required maxLength={8192} onChange={(event) => setNote(event.target.value)} />
        </label>
        <p className="problem-line" role="alert">
          {problem}
        </p>
        <div className="actions">
          <button className="button primary" type="submit" disabled={isBusy || note.trim() === ''}>
            Record
          </button>
        </div>
      </form>
    </Dialog>
  );
}
