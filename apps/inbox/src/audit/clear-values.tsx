import { useState } from 'react';
import type { ReactNode } from 'react';
import { Dialog } from '@countersign/react/parts';

/** Shows hidden values after a second step, which says that the read is recorded. */
export function ClearValues({ isClear, onChange }: { isClear: boolean; onChange: (is: boolean) => void }): ReactNode {
  const [isAsking, setAsking] = useState(false);
  const show = (): void => {
    setAsking(false);
    onChange(true);
  };
  if (isClear) {
    return (
      <>
        <span role="status">Hidden values are shown in clear. This is recorded.</span>
        <button className="cs-button" type="button" onClick={() => onChange(false)}>
          Hide them again
        </button>
      </>
    );
  }
  return (
    <>
      <button className="cs-button" type="button" onClick={() => setAsking(true)}>
        Show clear values…
      </button>
      {isAsking && (
        <Dialog
          title="Show clear values"
          description="The events of this search are read again with their hidden values. The log records your name, the time and the period that you read. Erased values stay erased."
          onClose={() => setAsking(false)}
        >
          <div className="cs-actions">
            <button className="cs-button cs-primary" type="button" onClick={show}>
              Show and record
            </button>
            <button className="cs-button" type="button" onClick={() => setAsking(false)}>
              Keep them hidden
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}
