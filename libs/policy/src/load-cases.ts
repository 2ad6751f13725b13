import { explainedCallSchema, plainWords } from '@countersign/contracts';
import type { ExplainedCall } from '@countersign/contracts';
import { z } from 'zod';
import { fileError, PolicyFileError, readDocument } from './load-document.js';
import type { PolicyCall } from './policy-call.js';
import type { Policy } from './policy.js';

const caseSchema = z.strictObject({
  name: z.string().min(1).optional(),
  call: explainedCallSchema,
  expect: z
    .strictObject({ outcome: z.enum(['allow', 'block', 'require']).optional(), ruleId: z.string().min(1).optional() })
    .refine(({ outcome, ruleId }) => outcome !== undefined || ruleId !== undefined, 'needs outcome, ruleId or both'),
});

/** One case of a policy test: a call, and the verdict that it must get. */
export type PolicyCase = z.output<typeof caseSchema>;

/** The result of a case: it passed if nothing differs. */
export interface CaseResult {
  readonly name: string;
  readonly outcome: string;
  readonly ruleId: string;
  readonly why: readonly string[];
  /** The expected values that differ, in words; empty when the case passed. */
  readonly differs: readonly string[];
}

/**
 * Reads the cases of a policy test: a list in YAML or JSON.
 * @throws PolicyFileError naming every problem with file, line and path.
 */
export function loadCases(file: string, text: string): readonly PolicyCase[] {
  const parsed = readDocument(file, text);
  const result = z.array(caseSchema).safeParse(parsed.value, { error: plainWords });
  if (!result.success) throw fileError(file, result.error.issues, parsed);
  if (result.data.length > 0) return result.data;
  const message = 'has no cases: write - { call: { toolName: … }, expect: { outcome: … } }';
  throw new PolicyFileError([{ file, line: null, path: '', message }]);
}

/** Judges the call of a case and compares the verdict. `nowMs`: the time of a call without `at`, epoch milliseconds. */
export function runCase(policy: Policy, { name, call, expect }: PolicyCase, nowMs: number): CaseResult {
  const { verdict } = policy.explain(toPolicyCall(call), timeOf(call, nowMs)).judgement;
  const { outcome, ruleId, why } = verdict;
  const differs = [
    ...(expect.outcome === undefined || expect.outcome === outcome ? [] : [`outcome: ${expect.outcome}`]),
    ...(expect.ruleId === undefined || expect.ruleId === ruleId ? [] : [`ruleId: ${expect.ruleId}`]),
  ];
  return { name: name ?? nameOf(call), outcome, ruleId, why, differs };
}

function nameOf({ toolName, arguments: args }: ExplainedCall): string {
  const text = JSON.stringify(args);
  return `${toolName} ${text.length > 80 ? `${text.slice(0, 80)}…` : text}`;
}

/** A call to be explained as a policy judges it. */
export function toPolicyCall(call: ExplainedCall): PolicyCall {
  const { toolName, arguments: args, agentId, runId, labels = {}, description = null } = call;
  const { needsApproval = false, expiresInMs = null, allowedDecisions = null } = call;
  const asked = { needsApproval, expiresInMs, allowedDecisions };
  return { toolName, arguments: args, agentId, runId, labels, description, ...asked, ...advisedOf(call) };
}

/** The hints, and the run: one without calls unless the call says otherwise. */
function advisedOf({ hints, run }: ExplainedCall): Pick<PolicyCall, 'hints' | 'run'> {
  const { calls = 0, denied = 0, startedAt = null } = run ?? {};
  return { ...(hints === undefined ? {} : { hints }), run: { calls, denied, startedAt } };
}

/** The time at which a call is judged, epoch milliseconds. */
export function timeOf({ at }: ExplainedCall, nowMs: number): number {
  return at === undefined ? nowMs : Date.parse(at);
}
