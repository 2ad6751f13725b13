import type { ReadinessCheck } from '../http/health.js';

/**
 * Says how many keys of sensitive values are lost. It does not fail: a start is refused until an operator has accepted the
 * loss, and everything else can be done.
 */
export function createKeysCheck(missing: () => number): ReadinessCheck {
  return {
    name: 'keys',
    check: () => {
      const keys = missing();
      if (keys === 0) return { status: 'ok' };
      return {
        status: 'ok',
        note: `${String(keys)} keys are missing: their values read as [key missing], not as [erased]`,
      };
    },
  };
}
