import { useState } from 'react';
import type { ReactNode } from 'react';
import { Dialog, HoldButton, problemOf, problemWords, useAccount } from '@countersign/react/parts';
import { send } from '../api/http.js';

/** The tenant of the operator: its stops cover every tenant. */
const operatorTenant = 'default';

/** Stops every call. A reason is there already, because there may be no time to write one. */
export function StopDialog({ onClose, onDone }: { onClose: () => void; onDone: () => void }): ReactNode {
  const { tenant } = useAccount();
  const [reason, setReason] = useState('stopped in the inbox');
  const [problem, setProblem] = useState('');
  const [isBusy, setBusy] = useState(false);
  const stop = async (): Promise<void> => {
    setBusy(true);
    try {
      await send('POST', '/v1/stops', { body: { reason } });
      onDone();
      onClose();
    } catch (error) {
      setProblem(problemWords(problemOf(error), Date.now()));
      setBusy(false);
    }
  };
  return (
    <Dialog
      title={`Stop all calls of ${tenant === operatorTenant ? 'every tenant' : 'your tenant'}?`}
      description="Within a second none is requested, approved or claimed. What runs is not interrupted at once: its lease is not renewed."
      onClose={onClose}
    >
      <label className="cs-field">
        <span className="cs-label">Why (recorded, and told to those who wait)</span>
        <input value={reason} maxLength={8192} onChange={(event) => setReason(event.target.value)} />
      </label>
      <p className="cs-problem-line" role="alert">
        {problem}
      </p>
      <div className="cs-actions">
        <HoldButton
          className="cs-button stop-button"
          isOff={isBusy || reason.trim() === ''}
          asks="Hold the button for a second, or confirm:"
          confirm="Stop all calls"
          onDone={() => void stop()}
        >
          Hold to stop
        </HoldButton>
      </div>
    </Dialog>
  );
}
