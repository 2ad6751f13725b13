import { createContext, useCallback, useContext, useMemo, useRef, useState } from 'react';
import type { ReactNode } from 'react';

/** Something to say for a moment. */
export interface Toast {
  readonly tone: 'good' | 'neutral' | 'bad';
  readonly text: string;
}

const ToastContext = createContext<(toast: Toast) => void>(() => undefined);
const shownMs = 6000;

/** Shows a toast at the edge of the page, which screen readers read out. */
export function useToast(): (toast: Toast) => void {
  return useContext(ToastContext);
}

/** The container of the toasts. It exists from the start, since a screen reader announces only changes inside it. */
export function Toasts({ children }: { children: ReactNode }): ReactNode {
  const [toast, setToast] = useState<(Toast & { key: number }) | undefined>();
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  const key = useRef(0);
  const show = useCallback((next: Toast) => {
    clearTimeout(timer.current);
    key.current += 1;
    setToast({ ...next, key: key.current });
    timer.current = setTimeout(() => setToast(undefined), shownMs);
  }, []);
  const place = useMemo(
    () => (
      <div className="cs-root cs-toasts" role="status" aria-live="polite">
        {toast !== undefined && (
          <p key={toast.key} className="cs-toast" data-tone={toast.tone}>
            {toast.text}
          </p>
        )}
      </div>
    ),
    [toast],
  );
  return (
    <ToastContext.Provider value={show}>
      {children}
      {place}
    </ToastContext.Provider>
  );
}
