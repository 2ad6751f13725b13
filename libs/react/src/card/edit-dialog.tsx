import { useMemo, useState } from 'react';
import type { ReactNode } from 'react';
import type { ApprovalView, JsonObject } from '@countersign/contracts';
import { printable } from '@countersign/text';
import { readApproval } from '../client/approvals.js';
import { useClient } from '../live/use-client.js';
import { useLoaded } from '../live/use-loaded.js';
import type { ApprovalsClient } from '../client/approvals-client.js';
import type { Loaded } from '../live/use-loaded.js';
import { ArgumentsChange } from './arguments-change.js';
import { JsonEditor } from './json-editor.js';
import { parseObject, schemaProblems } from './schema-problems.js';
import { SeenParts, Unseen, useSeen } from './seen.js';
import { SendingDialog } from './sending-dialog.js';
import type { SendingProps } from './sending-dialog.js';

/** Other arguments for the call: written as JSON, held against the tool's schema, and shown as a change before they are sent. */
export default function EditDialog(props: SendingProps<JsonObject>): ReactNode {
  const { approval, change, onAcknowledge, problem, isBusy, onClose, onSend } = props;
  // The arguments that the person saw. The text is compared with them, and is sent only while they have not changed.
  const original = change?.before ?? approval.arguments;
  const [text, setText] = useState(() => JSON.stringify(original, null, 2));
  const { edited, problems, schema } = useEdited(text, approval, original);
  // What runs is the text as it is now: each change of it has to be on screen to its end.
  const { state: seen, context } = useSeen(text);
  const canSend = edited?.isFine === true && seen.isAll && !isBusy && change === undefined;
  const send = (): void => {
    if (canSend) void onSend(edited.value);
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
      <div className="cs-edit-grid">
        <section aria-label="Arguments as JSON">
          <JsonEditor text={text} onChange={setText} onSubmit={send} />
          <Problems problems={problems} fine={fineWords(schema)} />
        </section>
        <section aria-label="The change">
          <h3>The change</h3>
          {edited !== undefined && (
            <SeenParts context={context}>
              <ArgumentsChange before={original} after={edited.value} />
            </SeenParts>
          )}
        </section>
      </div>
      {edited?.isFine === true && (
        <Unseen seen={seen} words="The change goes on below. You can send it after its end was on screen." />
      )}
    </SendingDialog>
  );
}

function Problems({ problems, fine }: { problems: readonly string[]; fine: string }): ReactNode {
  return (
    <div role="status">
      <ul className="cs-problems" aria-label="Problems">
        {problems.slice(0, 8).map((words) => (
          <li key={words}>{printable(words, 400)}</li>
        ))}
        {problems.length === 0 && <li data-fine>{fine}</li>}
      </ul>
    </div>
  );
}

/** The arguments that a text has, and what is wrong with them; undefined: it is no JSON yet. */
function useEdited(text: string, { approvalId, hiddenValues }: ApprovalView, original: JsonObject) {
  const client = useClient();
  const hidden = useMemo(() => hiddenValues.map(({ pointer }) => pointer), [hiddenValues]);
  const schema = useLoaded(approvalId, () => readSchema(client, approvalId));
  const parsed = useMemo(() => parseObject(text), [text]);
  const problems = useMemo(
    () => (parsed.status === 'ok' ? schemaProblems(parsed.value, schema.value ?? null, hidden) : [parsed.problem]),
    [parsed, schema.value, hidden],
  );
  if (parsed.status !== 'ok') return { edited: undefined, problems, schema };
  const isSame = JSON.stringify(parsed.value) === JSON.stringify(original);
  return { edited: { value: parsed.value, isFine: problems.length === 0 && !isSame }, problems, schema };
}

/** The schema that the agent gave with the call; null when it gave none, or when it cannot be read now. */
async function readSchema(client: ApprovalsClient, approvalId: string): Promise<JsonObject | null> {
  const { argumentsSchema } = await readApproval(client, approvalId);
  return argumentsSchema ?? null;
}

/** The result for arguments without a problem. */
function fineWords({ value, problem }: Loaded<JsonObject | null>): string {
  if (problem !== undefined) return 'Valid JSON. The tool’s schema could not be read: the server checks it.';
  if (value === undefined) return 'Valid JSON. Reading the tool’s schema …';
  return value === null ? 'Valid JSON; the tool named no schema.' : 'Fits the tool’s schema.';
}
