import { useEffect, useState } from 'react';
import type { ReactNode } from 'react';

const saidMs = 2000;

/** Copies a text, where the browser can. */
export function CopyButton({ text, label }: { readonly text: () => string; readonly label: string }): ReactNode {
  const [result, setResult] = useState<'copied' | 'failed'>();
  useEffect(() => {
    if (result === undefined) return undefined;
    const end = setTimeout(() => setResult(undefined), saidMs);
    return () => clearTimeout(end);
  }, [result]);
  // Absent without https.
  const clipboard = (navigator as { readonly clipboard?: Clipboard }).clipboard;
  if (clipboard === undefined) return null;
  const copy = (): void => {
    clipboard.writeText(text()).then(
      () => setResult('copied'),
      () => setResult('failed'),
    );
  };
  return (
    <button className="cs-button cs-quiet cs-copy" type="button" aria-label={label} onClick={copy}>
      <span role="status">{result === undefined ? 'Copy' : words[result]}</span>
    </button>
  );
}

const words = { copied: 'Copied', failed: 'Not copied' } as const;
