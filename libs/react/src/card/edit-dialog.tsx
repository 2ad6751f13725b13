import { Suspense, lazy, useState } from 'react';
import type { ReactNode } from 'react';
import type { JsonObject } from '@countersign/contracts';
import { nameWords, printable } from '@countersign/text';
import { ArgumentsChange } from './arguments-change.js';
import { ArgumentsForm } from './form/arguments-form.js';
import type { Form } from './form/fields.js';
import { SeenParts, Unseen, useSeen } from './seen.js';
import { SendingDialog } from './sending-dialog.js';
import type { SeenState } from './seen.js';
import type { SendingProps } from './sending-dialog.js';
import { useEdited } from './use-edited.js';

// Loaded when a person edits JSON.
const JsonEditor = lazy(() => import('./json-editor.js'));

const ways = [
  ['form', 'Form'],
  ['json', 'JSON'],
] as const;

interface EditProps extends SendingProps<JsonObject> {
  /** Whether the card, with all that an edit leaves as it is, was on screen. */
  readonly cardSeen: SeenState;
  /** The text that the person had written before they looked at the card again. */
  readonly draft: string | undefined;
  /** Goes back to the card, and keeps the text. */
  readonly onLookBack: (text: string) => void;
}

/**
 * Other arguments for the call: in a form or as JSON, held against the tool's schema, and shown as a change before they are
 * sent. The text is the one state of both: the form changes what a person touches in it.
 */
export default function EditDialog(props: EditProps): ReactNode {
  const { cardSeen, draft, onLookBack, approval, change, onAcknowledge, problem, isBusy, onClose, onSend } = props;
  // The arguments that the person saw. The text is compared with them, and is sent only while they have not changed.
  const original = change?.before ?? approval.arguments;
  const [text, setText] = useState(() => draft ?? JSON.stringify(original, null, 2));
  const [way, setWay] = useState<'form' | 'json'>('form');
  const { value, isFine, form, problems, fine } = useEdited(text, approval, original);
  // What runs is the text as it is now: all of the change has to be on screen.
  const { state: seen, context } = useSeen(text);
  const canSend = isFine && cardSeen.isAll && seen.isAll && !isBusy && change === undefined;
  const isHeld = approval.risk === 'high';
  const send = (): void => {
    if (canSend && value !== undefined) void onSend(value);
  };
  return (
    <SendingDialog
      size="large"
      title={`Edit the arguments of ${nameWords(approval.toolName, 80)}`}
      description="What stands here runs in place of what was requested. What you do not touch stays as it is, hidden values too."
      {...{ problem, approval, change, onAcknowledge }}
      send={{ label: 'Approve these arguments', isReady: canSend, isHeld, now: send }}
      onClose={onClose}
    >
      <div className="cs-edit-grid">
        <section aria-label="The arguments">
          <div className="cs-edit-ways" role="group" aria-label="How to edit">
            {ways.map(([name, words]) => (
              <button
                key={name}
                className="cs-button cs-quiet"
                type="button"
                aria-pressed={name === way}
                onClick={() => setWay(name)}
              >
                {words}
              </button>
            ))}
          </div>
          <Editor {...{ way, text, value, form }} onChange={setText} onSubmit={isHeld ? nothing : send} />
          <Problems problems={problems} fine={fine} />
        </section>
        <section aria-label="The change">
          <h3>The change</h3>
          {value !== undefined && (
            <SeenParts context={context}>
              <ArgumentsChange before={original} after={value} />
            </SeenParts>
          )}
        </section>
      </div>
      <CardUnseen isSeen={cardSeen.isAll} onLookBack={() => onLookBack(text)} />
      {isFine && (
        <Unseen seen={seen} words="There is more of the change. You can send it once all of it was on screen." />
      )}
    </SendingDialog>
  );
}

/** Says that an edit runs the rest of the card, too, and leads back to it; nothing once all of it was on screen. */
function CardUnseen({ isSeen, onLookBack }: { readonly isSeen: boolean; readonly onLookBack: () => void }): ReactNode {
  if (isSeen) return null;
  return (
    <p className="cs-more-below">
      There is more on the card, which runs too. You can send the edit once all of it was on screen.{' '}
      <button type="button" className="cs-button cs-quiet" onClick={onLookBack}>
        Back to the card
      </button>
    </p>
  );
}

function nothing(): void {
  // A key alone does not send what has to be held.
}

/** The text as JSON, or as a form of its values. */
function Editor(props: {
  readonly way: 'form' | 'json';
  readonly text: string;
  readonly value: JsonObject | undefined;
  readonly form: Form | undefined;
  readonly onChange: (text: string) => void;
  readonly onSubmit: () => void;
}): ReactNode {
  const { way, text, value, form, onChange, onSubmit } = props;
  if (way === 'json') {
    return (
      <Suspense fallback={<div className="cs-json-editor" aria-busy="true" />}>
        <JsonEditor {...{ text, onChange, onSubmit }} />
      </Suspense>
    );
  }
  return (
    <div className="cs-form-box">
      {value === undefined && <p className="cs-muted">This is no JSON yet. Go on in the JSON.</p>}
      {value !== undefined && form !== undefined && (
        <ArgumentsForm {...{ value, form }} onChange={(next) => onChange(JSON.stringify(next, null, 2))} />
      )}
    </div>
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
