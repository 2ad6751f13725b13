import { useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import type { JsonObject } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { readToolSchema } from '../api/call-events.js';
import { useLoaded } from '../live/use-loaded.js';
import type { Loaded } from '../live/use-loaded.js';
import { ArgumentsChange } from './arguments-change.js';
import { JsonEditor } from './json-editor.js';
import { parseObject, schemaProblems } from './schema-problems.js';
import { SendingDialog } from './sending-dialog.js';
import type { SendingProps } from './sending-dialog.js';

/** Other arguments for the call: written as JSON, held against the tool's schema, and shown as a change before they are sent. */
export default function EditDialog(props: SendingProps<JsonObject>): ReactNode {
  const { approval, change, onAcknowledge, problem, isBusy, onClose, onSend } = props;
  // The arguments that the person saw. The text is compared with them, and is sent only while they have not changed.
  const original = change?.before ?? approval.arguments;
  const [text, setText] = useState(() => JSON.stringify(original, null, 2));
  const hidden = useMemo(() => approval.hiddenValues.map(({ pointer }) => pointer), [approval.hiddenValues]);
  const schema = useLoaded(approval.callId, (signal) => readToolSchema(approval.callId, signal));
  const parsed = useMemo(() => parseObject(text), [text]);
  const problems = useMemo(
    () => (parsed.status === 'ok' ? schemaProblems(parsed.value, schema.value ?? null, hidden) : [parsed.problem]),
    [parsed, schema.value, hidden],
  );
  const isSame = parsed.status === 'ok' && JSON.stringify(parsed.value) === JSON.stringify(original);
  const canSend = parsed.status === 'ok' && problems.length === 0 && !isSame && !isBusy && change === undefined;
  const send = (): void => {
    if (canSend) void onSend(parsed.value);
  };
  return (
    <SendingDialog
      size="large"
      title={`Edit the arguments of ${printable(approval.toolName, 80)}`}
      description="What stands here runs in place of what was requested. A masked value stays as it was if you leave its mask."
      {...{ problem, change, onAcknowledge }}
      send={{ label: 'Approve these arguments', isReady: canSend, now: send }}
      onClose={onClose}
    >
      <div className="edit-grid">
        <section aria-label="Arguments as JSON">
          <JsonEditor text={text} onChange={setText} onSubmit={send} />
          <div role="status">
            <ul className="problems" aria-label="Problems">
              {problems.slice(0, 8).map((words) => (
                <li key={words}>{printable(words, 400)}</li>
              ))}
              {problems.length === 0 && <li data-fine>{fineWords(schema)}</li>}
            </ul>
          </div>
        </section>
        <section aria-label="The change">
          <h3>The change</h3>
          {parsed.status === 'ok' && <ArgumentsChange before={original} after={parsed.value} />}
        </section>
      </div>
    </SendingDialog>
  );
}

/** The result for arguments without a problem. */
function fineWords({ value, problem }: Loaded<JsonObject | null>): string {
  if (problem !== undefined) return 'Valid JSON. The tool’s schema could not be read: the server checks it.';
  if (value === undefined) return 'Valid JSON. Reading the tool’s schema …';
  return value === null ? 'Valid JSON; the tool named no schema.' : 'Fits the tool’s schema.';
}
