import type { StoreClock } from '@countersign/event-store';
import type { Registry } from 'prom-client';
import type { ReadinessCheck } from '../http/health.js';
import { createGauges } from '../http/metrics.js';

/** Returns whether the clock of this machine is right, compared with the event store's and with what it holds. */
export function createClockCheck({ problem, note }: Pick<StoreClock, 'problem' | 'note'>): ReadinessCheck {
  return {
    name: 'clock',
    check: () => {
      const why = problem();
      if (why !== undefined) return { status: 'failing', why };
      const noted = note?.();
      return { status: 'ok', ...(noted !== undefined && { note: noted }) };
    },
  };
}

/** Adds the metric of how far the clock of this machine is off. */
export function observeClock(registry: Registry, { aheadMs }: Pick<StoreClock, 'aheadMs'>): void {
  const help = "How far this machine's clock is ahead of the event store's; negative: behind.";
  createGauges(registry)('countersign_clock_ahead_seconds', help, () => aheadMs() / 1000);
}
