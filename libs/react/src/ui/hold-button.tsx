import { useEffect, useRef, useState } from 'react';
import type { ReactNode, Ref } from 'react';
import { onPress } from './press.js';

const holdMs = 1200;
/** A question that nobody answers goes away. */
const askedMs = 20_000;

/**
 * A button for what is hard to undo. It acts after it was held for a moment. A short press, a key or a screen reader asks
 * instead: a second button, at another place, confirms. A key that repeats itself, or a double click, decides nothing.
 */
export function HoldButton(props: {
  readonly className: string;
  readonly isOff: boolean;
  /** What the second button says, such as `Approve deploy`. */
  readonly confirm: string;
  /** What it says after a short press. Default: that the risk is high. */
  readonly asks?: string | undefined;
  readonly shortcut?: string | undefined;
  readonly buttonRef?: Ref<HTMLButtonElement> | undefined;
  readonly onDone: () => void;
  readonly children: ReactNode;
}): ReactNode {
  const { className, isOff, confirm, shortcut, buttonRef, onDone, children } = props;
  const { asks = 'High risk. Hold the button for a second, or confirm:' } = props;
  const [isHeld, setHeld] = useState(false);
  const [isAsking, setAsking] = useState(false);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useEffect(() => () => clearTimeout(timer.current), []);
  useEffect(() => {
    if (!isAsking) return undefined;
    const end = setTimeout(() => setAsking(false), askedMs);
    return () => clearTimeout(end);
  }, [isAsking]);
  const release = (): void => {
    clearTimeout(timer.current);
    setHeld(false);
  };
  const done = (): void => {
    release();
    setAsking(false);
    onDone();
  };
  const press = (): void => {
    setHeld(true);
    clearTimeout(timer.current);
    timer.current = setTimeout(done, holdMs);
  };
  // What was pressed is no longer what stands there.
  useEffect(() => {
    if (isOff) release();
  }, [isOff]);
  return (
    <>
      {isAsking && !isOff && (
        <p className="cs-hold-question" role="alert">
          <span>{asks}</span>
          <button className="cs-button" type="button" onClick={onPress(done)}>
            {confirm}
          </button>
        </p>
      )}
      <button
        ref={buttonRef}
        className={`${className} cs-hold`}
        type="button"
        disabled={isOff}
        data-held={isHeld}
        aria-keyshortcuts={shortcut}
        aria-description="Hold it for a second"
        onPointerDown={(event) => event.button === 0 && event.isPrimary && press()}
        onPointerUp={release}
        onPointerLeave={release}
        onPointerCancel={release}
        // A long press on a phone opens a menu.
        onContextMenu={(event) => event.preventDefault()}
        // After a press that was too short, and from keys and screen readers.
        onClick={() => setAsking(true)}
      >
        {children}
      </button>
    </>
  );
}
