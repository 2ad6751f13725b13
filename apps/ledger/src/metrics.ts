import { createDurations, createMetricsRegistry } from '@countersign/shell';
import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';

/** The figures of a ledger. */
export interface LedgerMetrics {
  readonly registry: Registry;
  /** A request and how it ended: `done`, `refused`, `poison` or `failed` (it is tried again). */
  readonly requestEnded: (type: string, outcome: 'done' | 'refused' | 'poison' | 'failed', durationMs: number) => void;
  readonly refused: (code: string) => void;
  /** A refusal that was not recorded, since there were too many. */
  readonly refusalDropped: () => void;
  /** A message without a required signature, or with an invalid one. */
  readonly unverified: () => void;
  /** A message of a type that producers may not send, such as a person's response. */
  readonly forged: (type: string) => void;
}

/** Metrics in the given registry, or in their own. */
export function createLedgerMetrics(registry: Registry = createMetricsRegistry()): LedgerMetrics {
  const registers = [registry];
  const handled = createDurations(registry)(
    'countersign_ledger_request_seconds',
    'Time to handle a request from the requests topic, by type and outcome.',
    ['type', 'outcome'],
  );
  const counter = <T extends string>(name: string, help: string, labelNames: T[]): Counter<T> =>
    new Counter({ name, help, labelNames, registers });
  const refusals = counter('countersign_ledger_refusals_total', 'Refused requests, by code.', ['code']);
  const dropped = counter('countersign_ledger_refusals_dropped_total', 'Refusals beyond the rate limit.', []);
  const unverified = counter('countersign_ledger_unverified_total', 'Messages without a valid signature.', []);
  const forged = counter('countersign_ledger_forged_total', 'Messages that no sender may send, by type.', ['type']);
  return {
    registry,
    requestEnded: (type, outcome, durationMs) => handled(durationMs, { type, outcome }),
    refused: (code) => refusals.inc({ code }),
    refusalDropped: () => dropped.inc(),
    unverified: () => unverified.inc(),
    forged: (type) => forged.inc({ type }),
  };
}
