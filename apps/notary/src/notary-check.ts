import type { ReadinessCheck } from '@countersign/shell';
import type { NotaryHealth } from './notary.js';

/** Fails when the log contradicts what was signed, or cannot be followed. */
export function createNotaryCheck(health: () => NotaryHealth): ReadinessCheck {
  return {
    name: 'notary',
    check: () => {
      const now = health();
      return now.status === 'ok' ? { status: 'ok' } : { status: 'failing', why: now.why };
    },
  };
}
