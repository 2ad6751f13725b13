import { reasonOf } from '@countersign/contracts/clock';

/** A controller that aborts with other signals too. */
export interface LinkedController {
  readonly signal: AbortSignal;
  readonly abort: (reason: Error) => void;
  /** MUST be called when done, or a longer-lived signal keeps a reference to it. */
  readonly release: () => void;
}

/** A controller that also aborts when one of `parents` does. */
export function linkedController(...parents: readonly (AbortSignal | undefined)[]): LinkedController {
  const controller = new AbortController();
  const releases = parents.map((parent) => {
    const onAbort = (): void => {
      controller.abort(reasonOf(parent));
    };
    if (parent?.aborted === true) onAbort();
    else parent?.addEventListener('abort', onAbort, { once: true });
    return () => parent?.removeEventListener('abort', onAbort);
  });
  return {
    signal: controller.signal,
    abort: (reason) => {
      controller.abort(reason);
    },
    release: () => {
      for (const release of releases) release();
    },
  };
}
