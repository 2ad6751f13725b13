import { useState } from 'react';
import type { ReactNode } from 'react';
import type { JsonValue } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { SendingDialog } from './sending-dialog.js';
import type { SendingProps } from './sending-dialog.js';

/** A result given in place of running the tool. */
export function AnswerDialog(props: SendingProps<JsonValue>): ReactNode {
  const { approval, change, onAcknowledge, problem, isBusy, onClose, onSend } = props;
  const [text, setText] = useState('');
  const output = outputOf(text);
  return (
    <SendingDialog
      title={`Answer in place of ${printable(approval.toolName, 80)}`}
      description="The tool does not run. The agent gets this as its result."
      {...{ problem, change, onAcknowledge }}
      send={{
        label: 'Send the answer',
        isReady: !isBusy && text.trim() !== '',
        now: () => void onSend(output.value),
      }}
      onClose={onClose}
    >
      <label className="cs-field">
        <span className="cs-label">Result</span>
        <textarea
          className="cs-mono"
          rows={8}
          value={text}
          autoFocus
          onChange={(event) => setText(event.target.value)}
        />
      </label>
      <p className="cs-hint">{output.isJson ? 'Sent as JSON.' : 'Sent as plain text.'}</p>
    </SendingDialog>
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
