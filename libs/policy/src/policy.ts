import type { RunInputs } from '@countersign/cel';
import type { JsonObject, Requirement } from '@countersign/contracts';
import { delegatorsAt } from './approvers.js';
import type { Approver } from './approvers.js';
import { askedOfTool } from './asked-of-tool.js';
import { createCandidates } from './candidates.js';
import type { PolicyContent } from './policy-file.js';
import type { PolicyCall } from './policy-call.js';
import type { Quotas } from './quotas.js';
import { budgetOfRequest, inspect, rulingOn } from './ruling.js';
import type { Budget, Finding, Inspected, Judgement } from './ruling.js';
import type { Rule } from './rule.js';

/** The result of one rule for a call. */
export interface RuleFinding extends Omit<Finding, 'why'> {
  readonly ruleId: string;
  /** True if the rule decides when no earlier one does. */
  readonly decides: boolean;
  readonly why: string;
}

/** A judgement with the findings of all rules, those after the first match included. */
export interface Explanation {
  readonly judgement: Judgement;
  readonly rules: readonly RuleFinding[];
}

/** Versioned rules that give each call a verdict. Pure: the same calls at the same time get the same judgements. */
export interface Policy {
  readonly tenant: string;
  readonly version: string;
  readonly content: JsonObject;
  /** Null: no limit. */
  readonly quotas: Quotas | null;
  /** True if an expression may look at `run`: only then it has to be known. */
  readonly usesRun: boolean;
  /** Judges the calls of one model step together, before any of them is recorded. `nowMs`: epoch milliseconds. */
  readonly judge: (calls: readonly PolicyCall[], nowMs: number) => readonly Judgement[];
  readonly explain: (call: PolicyCall, nowMs: number) => Explanation;
  /** The groups that the policy gives to a principal, in addition to those of its sign-in. */
  readonly groupsOf: (principal: string) => readonly string[];
  /** Returns whether the policy lists a principal among its approvers. */
  readonly isListed: (principal: string) => boolean;
  /** Returns the requirements that calls of a tool may have. Empty when every call of it is blocked. */
  readonly askedOf: (toolName: string) => readonly Requirement[];
  /** The people who have delegated their responses to a principal. `nowMs`: epoch milliseconds. */
  readonly delegatorsOf: (principal: string, nowMs: number) => readonly Approver[];
  /** The people of the file. */
  readonly approvers: readonly Approver[];
  /** True if a second person confirms each passkey. */
  readonly confirmsPasskeys: boolean;
}

/** A policy out of a file's content. */
export function createPolicy(content: PolicyContent): Policy {
  const candidates = createCandidates(content.rules);
  const judgeOne = (call: PolicyCall, nowMs: number, budget: Budget): Judgement =>
    rulingOn(content, candidates(call.toolName), toInspected(call, nowMs, budget));
  return {
    tenant: content.tenant,
    version: content.version,
    content: content.source,
    quotas: content.quotas,
    usesRun: content.usesRun,
    approvers: content.approvers,
    confirmsPasskeys: content.confirmsPasskeys,
    groupsOf: (principal) => content.approvers.find(({ id }) => id === principal)?.groups ?? [],
    delegatorsOf: (principal, nowMs) => delegatorsAt(content.approvers, principal, nowMs),
    isListed: (principal) => content.approvers.some(({ id }) => id === principal),
    askedOf: (toolName) => askedOfTool(content, candidates(toolName)),
    judge: (calls, nowMs) => {
      const budget = { left: budgetOfRequest };
      return calls.map((call) => judgeOne(call, nowMs, budget));
    },
    explain: (call, nowMs) => ({
      judgement: judgeOne(call, nowMs, { left: budgetOfRequest }),
      rules: findingsOf(content, toInspected(call, nowMs, { left: budgetOfRequest })),
    }),
  };
}

function toInspected(call: PolicyCall, nowMs: number, budget: Budget): Inspected {
  const { toolName, agentId, runId, labels, description } = call;
  const facts = { toolName, agentId, runId, labels, description, hints: { ...call.hints } };
  return { call, inputs: { args: call.arguments, call: facts, run: runOf(call, nowMs), nowMs }, budget };
}

function runOf({ run }: PolicyCall, nowMs: number): RunInputs | null {
  if (run === undefined) return null;
  const { calls, denied, startedAt } = run;
  return { calls, denied, startedAtMs: startedAt === null ? nowMs : Date.parse(startedAt) };
}

function findingsOf({ rules }: PolicyContent, inspected: Inspected): readonly RuleFinding[] {
  return rules.map((rule) => {
    const finding = inspect(rule, inspected);
    return { ...finding, ruleId: rule.id, decides: decides(rule, finding), why: finding.why() };
  });
}

function decides({ then }: Rule, { status }: Finding): boolean {
  return status === 'matched' || (status === 'failed' && then.outcome === 'require');
}
