import { useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, JsonValue } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { Dialog } from '../ui/dialog.js';

/** A result given in place of running the tool. */
export function AnswerDialog(props: {
  approval: ApprovalView;
  problem: string;
  isBusy: boolean;
  onClose: () => void;
  onSend: (output: JsonValue) => Promise<void>;
}): ReactNode {
  const { approval, problem, isBusy, onClose, onSend } = props;
  const [text, setText] = useState('');
  const output = outputOf(text);
  return (
    <Dialog
      title={`Answer in place of ${printable(approval.toolName, 80)}`}
      description="The tool does not run. The agent gets this as its result."
      onClose={onClose}
    >
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void onSend(output.value);
        }}
      >
        <label className="field">
          <span className="label">Result</span>
          <textarea
            className="mono"
            rows={8}
            value={text}
            autoFocus
            onChange={(event) => setText(event.target.value)}
          />
        </label>
        <p className="hint">{output.isJson ? 'Sent as JSON.' : 'Sent as plain text.'}</p>
        <p className="problem-line" role="alert">
          {problem}
        </p>
        <div className="actions">
          <button className="button" type="button" onClick={onClose}>
            Cancel
          </button>
          <button className="button approve" type="submit" disabled={isBusy || text.trim() === ''}>
            Send the answer
          </button>
        </div>
      </form>
    </Dialog>
  );
}

/** JSON where it is JSON, else the text itself. */
function outputOf(text: string): { readonly value: JsonValue; readonly isJson: boolean } {
  try {
    return { value: JSON.parse(text) as JsonValue, isJson: true };
  } catch {
    return { value: text, isJson: false };
  }
}
