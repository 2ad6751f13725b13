import type { Clock } from '@countersign/contracts/clock';
import type { Changes } from './changes.js';

/** Events only wake; should something on the way swallow them, this look makes the worker slower, not deaf. */
export const lookEveryMs = 30_000;

/** Asks for a look at everything again and again. Returns the function that ends it. */
export function lookRegularly(clock: Clock, changes: Changes): () => void {
  let cancel: () => void;
  const schedule = (): void => {
    cancel = clock.setTimer(lookEveryMs, () => {
      changes.addAnything();
      schedule();
    });
  };
  schedule();
  return () => {
    cancel();
  };
}
