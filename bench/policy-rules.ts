import { celEngine } from '@countersign/cel';
import { createPolicy, loadPolicy } from '@countersign/policy';
import type { Policy, PolicyCall } from '@countersign/policy';

/** How long one call is judged, in ms. */
export interface JudgeTimes {
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/** The policies to compare: `count` rules of which the globs of one match, or all of which evaluate an expression. */
export interface RulesTimes {
  readonly none: JudgeTimes;
  readonly globs: JudgeTimes;
  readonly expressions: JudgeTimes;
  /** To read the file with the globs, expressions compiled, in ms. */
  readonly loadMs: number;
}

const call: PolicyCall = {
  agentId: 'billing-1',
  runId: 'run',
  toolName: 'tool_last',
  arguments: { amount: 60, statement: 'select 1', note: 'x'.repeat(500) },
  labels: { env: 'prod' },
  description: null,
  needsApproval: false,
  expiresInMs: null,
  allowedDecisions: null,
};

/** Measures in turn a policy with `count` rules and a policy without rules. */
export function measureRules(count: number, rounds: number): RulesTimes {
  const numbers = Array.from({ length: count }, (_, index) => index);
  const startedAt = performance.now();
  const globs = policyOf(
    numbers.map((n) => {
      const tool = n === count - 1 ? 'tool_last' : `tool_${String(n)}`;
      const match = `{ tools: [${tool}, "other_${String(n)}_*"], agents: ["billing-*"], labels: { env: prod } }`;
      return `  - { id: r${String(n)}, match: ${match}, when: args.amount > 50 && args.statement.contains("select"), then: { require: {} } }`;
    }),
  );
  const loadMs = performance.now() - startedAt;
  const expressions = policyOf(
    numbers.map((n) => `  - { id: r${String(n)}, when: args.amount == ${String(n)}.5, then: allow }`),
  );
  const all = { none: policyOf([]), globs, expressions };
  const times: Record<keyof typeof all, number[]> = { none: [], globs: [], expressions: [] };
  for (let round = 0; round < rounds; round += 1) {
    for (const name of ['none', 'globs', 'expressions'] as const) {
      for (let turn = 0; turn < 200; turn += 1) times[name].push(timeOf(all[name]));
    }
  }
  return { none: summary(times.none), globs: summary(times.globs), expressions: summary(times.expressions), loadMs };
}

function policyOf(rules: readonly string[]): Policy {
  const text = `version: 1\n${rules.length === 0 ? '' : `rules:\n${rules.join('\n')}\n`}`;
  return createPolicy(loadPolicy('bench.yaml', text, celEngine));
}

function timeOf(policy: Policy): number {
  const startedAt = performance.now();
  policy.judge([call], 0);
  return performance.now() - startedAt;
}

/** Without the first fifth, in which the code is compiled. */
function summary(times: readonly number[]): JudgeTimes {
  const sorted = times.slice(times.length / 5).toSorted((one, other) => one - other);
  const at = (part: number): number => sorted[Math.floor(sorted.length * part)] ?? NaN;
  return { p50Ms: at(0.5), p99Ms: at(0.99) };
}
