import { useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, JsonObject } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { readToolSchema } from '../api/call-events.js';
import { useLoaded } from '../live/use-loaded.js';
import { Dialog } from '../ui/dialog.js';
import { ArgumentsChange } from './arguments-change.js';
import { JsonEditor } from './json-editor.js';
import { parseObject, schemaProblems } from './schema-problems.js';

/** Other arguments for the call: written as JSON, held against the tool's schema, and shown as a change before they are sent. */
export default function EditDialog(props: {
  approval: ApprovalView;
  problem: string;
  isBusy: boolean;
  onClose: () => void;
  onSend: (value: JsonObject) => Promise<void>;
}): ReactNode {
  const { approval, problem, isBusy, onClose, onSend } = props;
  const [original] = useState(approval.arguments);
  const [text, setText] = useState(() => JSON.stringify(original, null, 2));
  const schema = useLoaded(approval.callId, (signal) => readToolSchema(approval.callId, signal));
  const parsed = useMemo(() => parseObject(text), [text]);
  const problems = useMemo(
    () => (parsed.status === 'ok' ? schemaProblems(parsed.value, schema.value ?? null) : [parsed.problem]),
    [parsed, schema.value],
  );
  const isSame = parsed.status === 'ok' && JSON.stringify(parsed.value) === JSON.stringify(original);
  const canSend = parsed.status === 'ok' && problems.length === 0 && !isSame && !isBusy;
  return (
    <Dialog
      size="large"
      title={`Edit the arguments of ${printable(approval.toolName, 80)}`}
      description="What stands here runs in place of what was requested. A masked value stays as it was if you leave its mask."
      onClose={onClose}
    >
      <div className="edit-grid">
        <section aria-label="Arguments as JSON">
          <JsonEditor text={text} onChange={setText} onSubmit={() => canSend && void onSend(parsed.value)} />
          <div role="status">
            <ul className="problems" aria-label="Problems">
              {problems.slice(0, 8).map((words) => (
                <li key={words}>{printable(words, 400)}</li>
              ))}
              {problems.length === 0 && (
                <li data-fine>
                  {(schema.value ?? null) === null
                    ? 'Valid JSON; the tool named no schema.'
                    : 'Fits the tool’s schema.'}
                </li>
              )}
            </ul>
          </div>
        </section>
        <section aria-label="The change">
          <h3>The change</h3>
          {parsed.status === 'ok' && <ArgumentsChange before={original} after={parsed.value} />}
        </section>
      </div>
      <p className="problem-line" role="alert">
        {problem}
      </p>
      <div className="actions">
        <button className="button" type="button" onClick={onClose}>
          Cancel
        </button>
        <button
          className="button approve"
          type="button"
          disabled={!canSend}
          onClick={() => canSend && void onSend(parsed.value)}
        >
          Approve these arguments
        </button>
      </div>
    </Dialog>
  );
}
