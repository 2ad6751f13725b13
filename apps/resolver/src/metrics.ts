import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';

/** The figures of a resolver. */
export interface ResolverMetrics {
  /** An event reported a granted approval that the log does not have. */
  readonly forged: (type: string) => void;
}

/** Metrics in the registry of the process. */
export function createResolverMetrics(registry: Registry): ResolverMetrics {
  const forged = new Counter({
    name: 'countersign_resolver_forged_total',
    help: 'Events of the events topic that the log contradicts, by type: a client other than the relay writes there.',
    labelNames: ['type'],
    registers: [registry],
  });
  return { forged: (type) => forged.inc({ type }) };
}
