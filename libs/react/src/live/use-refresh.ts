import { useEffect } from 'react';
import { repeatWhileVisible } from './repeat.js';

/**
 * Reads again a while after each result, while the page is visible. A slow answer is waited for.
 *
 * @param result the last one; undefined: there is none, or nothing is to be read
 */
export function useRefresh(result: unknown, reload: () => void, everyMs: number): void {
  useEffect(() => {
    if (result === undefined) return undefined;
    const stop = repeatWhileVisible(everyMs, () => {
      stop();
      reload();
    });
    return stop;
  }, [result, reload, everyMs]);
}
