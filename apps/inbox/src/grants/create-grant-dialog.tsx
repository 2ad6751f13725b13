import { useState } from 'react';
import type { ReactNode } from 'react';
import type { CreateGrantBody, GrantPreview } from '@countersign/contracts';
import { Dialog, countWords, problemOf, problemWords, useToast } from '@countersign/react/parts';
import { createGrant, previewGrant } from '../api/grants.js';
import { GrantFields, bodyOf, emptyGrant } from './grant-fields.js';
import type { GrantForm } from './grant-fields.js';
import { GrantPreviewTable } from './grant-preview-table.js';

/** Creates a grant, after a preview of what it would have covered. */
export function CreateGrantDialog({ onClose, onCreated }: { onClose: () => void; onCreated: () => void }): ReactNode {
  const [form, setForm] = useState(emptyGrant);
  const [preview, setPreview] = useState<GrantPreview>();
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const toast = useToast();
  const change = (next: GrantForm): void => {
    setForm(next);
    // A preview of other terms must not be shown next to the button.
    setPreview(undefined);
  };
  const attempt = async (work: (body: CreateGrantBody) => Promise<void>): Promise<void> => {
    setBusy(true);
    setProblem('');
    await work(bodyOf(form)).catch((error: unknown) => setProblem(problemWords(problemOf(error), Date.now())));
    setBusy(false);
  };
  const look = (): void => void attempt(async (body) => setPreview(await previewGrant(body)));
  const create = (): void =>
    void attempt(async (body) => {
      const { state } = await createGrant(body);
      toast({
        tone: 'good',
        text: state === 'active' ? 'The grant holds.' : 'A second person must confirm the grant.',
      });
      onCreated();
      onClose();
    });
  return (
    <Dialog
      size="large"
      title="New grant"
      description="Calls that it covers run without an approval. It covers only what you could approve alone."
      onClose={onClose}
    >
      <form
        className="grant-form"
        onSubmit={(event) => {
          event.preventDefault();
          look();
        }}
      >
        <GrantFields form={form} onChange={change} />
        <p className="cs-problem-line" role="alert">
          {problem}
        </p>
        {preview !== undefined && <Preview preview={preview} />}
        <div className="cs-actions">
          <button className={`cs-button ${preview === undefined ? 'cs-primary' : ''}`} type="submit" disabled={isBusy}>
            Preview
          </button>
          {/* Enter that is held, or pressed twice, makes the preview again: nobody has read the first one yet. */}
          {preview !== undefined && (
            <button className="cs-button cs-primary" type="button" disabled={isBusy} onClick={create}>
              Create the grant
            </button>
          )}
        </div>
      </form>
    </Dialog>
  );
}

function Preview({ preview }: { preview: GrantPreview }): ReactNode {
  const { scanned, covered, notCompared, byOutcome, state } = preview;
  const outcomes = Object.entries(byOutcome).map(([outcome, count]) => `${count} ${outcome}`);
  return (
    <section aria-label="Preview">
      <p role="status">
        Of {countWords(scanned, 'recorded approval')} of this tool it would have covered <strong>{covered}</strong>
        {outcomes.length > 0 && ` (${outcomes.join(', ')})`}.
        {notCompared > 0 && ` ${countWords(notCompared, 'approval')} with hidden values could not be compared.`}
        {state === 'pending' && ' Because of its risk, a second person must confirm it.'}
      </p>
      {preview.calls.length > 0 && <GrantPreviewTable calls={preview.calls} />}
    </section>
  );
}
