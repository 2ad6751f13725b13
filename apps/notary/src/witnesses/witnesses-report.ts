import { createGauges, createLabelledGauge } from '@countersign/shell';
import type { createMetricsRegistry, ReadinessCheck } from '@countersign/shell';
import type { OpenNotary } from '../open-notary.js';
import type { WitnessState } from './witnesses.js';

/** Names the witnesses that do not cosign. The process is ready all the same. */
export function createWitnessesCheck(states: () => readonly WitnessState[]): ReadinessCheck {
  return {
    name: 'log-witnesses',
    check: () => {
      const problems = states().flatMap(({ name, problem }) => (problem === undefined ? [] : [`${name}: ${problem}`]));
      return problems.length === 0 ? { status: 'ok' } : { status: 'ok', note: problems.join('; ') };
    },
  };
}

/** Adds the metrics of the witnesses. */
export function createWitnessesMetrics(
  registry: ReturnType<typeof createMetricsRegistry>,
  { witnessStates: states, quorumAtMs }: Pick<OpenNotary, 'witnessStates' | 'quorumAtMs'>,
): void {
  createGauges(registry)(
    'countersign_log_quorum_timestamp_seconds',
    'When a checkpoint got the quorum of the witnesses last; 0: not yet in this process.',
    () => Math.floor((quorumAtMs() ?? 0) / 1000),
  );
  const gauge = (name: string, help: string, read: (state: WitnessState) => number | undefined): void => {
    createLabelledGauge(registry, { name: `countersign_log_witness_${name}`, help, label: 'witness' }, () =>
      states().map((state) => [state.name, Math.floor((read(state) ?? 0) / 1000)] as const),
    );
  };
  gauge('success_timestamp_seconds', 'When a witness cosigned last; 0: not yet.', (state) => state.succeededAtMs);
  gauge('failure_timestamp_seconds', 'When a witness failed last; 0: not yet.', (state) => state.failedAtMs);
}
