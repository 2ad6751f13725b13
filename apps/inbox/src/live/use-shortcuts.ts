import { useEffect, useRef } from 'react';

/** One response to many approvals, after a preview of all of them. */
export type Shortcuts = Readonly<Record<string, () => void>>;

/** The selection when the dialog opened. Later changes do not affect it. */
export function useShortcuts(shortcuts: Shortcuts): void {
  const current = useRef(shortcuts);
  useEffect(() => {
    current.current = shortcuts;
  });
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event)) return;
      const act = Object.hasOwn(current.current, event.key) ? current.current[event.key] : undefined;
      if (act === undefined) return;
      event.preventDefault();
      act();
    };
    window.addEventListener('keydown', onKey);
    return () => window.removeEventListener('keydown', onKey);
  }, []);
}

function isTyping(event: KeyboardEvent): boolean {
  if (document.querySelector('[role="dialog"]') !== null) return true;
  const [target] = event.composedPath();
  return target instanceof HTMLElement && target.closest('input:not([type="checkbox"]), textarea, select') !== null;
}
