import { useEffect, useRef } from 'react';

/** The actions by key name. */
export type Shortcuts = Readonly<Record<string, () => void>>;

/** Binds keys while the component is mounted. They are ignored in text fields and while a dialog is open. */
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
