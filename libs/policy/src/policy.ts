import { decisionTypes, matchesGlob } from '@countersign/contracts';
import type { DecisionType, DurationMs, JsonObject, Requirement, Verdict } from '@countersign/contracts';
import { builtInPolicyContent } from './policy-file.js';
import type { PolicyContent } from './policy-file.js';

/** The input of a policy: the validated call, and the worker's facts about it. */
export interface PolicyCall {
  readonly agentId: string;
  readonly runId: string;
  readonly toolName: string;
  readonly arguments: JsonObject;
  readonly labels: Readonly<Record<string, string>>;
  /** The worker's own predicate, or the tools file: it can only make a call stricter. */
  readonly needsApproval: boolean;
  readonly expiresInMs: DurationMs | null;
  readonly allowedDecisions: readonly DecisionType[] | null;
}

/** A verdict, and what it requires; `requirement` is what would be asked, also for a verdict of `allow`. */
export interface Judgement {
  readonly verdict: Verdict;
  readonly requirement: Requirement;
}

/** Versioned rules that give each call a verdict. Pure: the same calls get the same judgements. */
export interface Policy {
  readonly tenant: string;
  readonly version: string;
  readonly content: JsonObject;
  /** Judges the calls of one model step together, before any of them is recorded. */
  readonly judge: (calls: readonly PolicyCall[]) => readonly Judgement[];
}

/** The policy that each tenant is judged by. */
export interface Policies {
  readonly of: (tenant: string) => Policy;
}

/** A policy out of a file's content. */
export function createPolicy(content: PolicyContent): Policy {
  return {
    tenant: content.tenant,
    version: content.version,
    content: content.source,
    judge: (calls) => calls.map((call) => judgeOne(content, call)),
  };
}

/** The policies of all tenants: the file's for the tenant that it names, the built-in one for every other. */
export function createPolicies(contents: readonly PolicyContent[]): Policies {
  const byTenant = new Map(contents.map((content) => [content.tenant, createPolicy(content)]));
  const of = (tenant: string): Policy => {
    const known = byTenant.get(tenant);
    if (known !== undefined) return known;
    const builtIn = createPolicy(builtInPolicyContent(tenant));
    byTenant.set(tenant, builtIn);
    return builtIn;
  };
  return { of };
}

function judgeOne(content: PolicyContent, call: PolicyCall): Judgement {
  const requirement = requirementOf(content, call);
  const ruled = firstMatch(content, call);
  if (ruled.outcome === 'allow' && call.needsApproval) {
    const why = [...ruled.why, 'the worker asks for approval'];
    return { verdict: verdictOf(content, { outcome: 'require', ruleId: 'needsApproval', why }), requirement };
  }
  return { verdict: verdictOf(content, ruled), requirement };
}

interface Ruled {
  readonly outcome: 'allow' | 'require';
  readonly ruleId: string;
  readonly why: readonly string[];
}

function firstMatch(content: PolicyContent, call: PolicyCall): Ruled {
  const required = content.requireApprovalTools.find((glob) => matchesGlob(glob, call.toolName));
  if (required !== undefined) {
    return { outcome: 'require', ruleId: 'requireApprovalTools', why: [`the tool matches "${required}"`] };
  }
  const allowed = content.autoApprovedTools.find((glob) => matchesGlob(glob, call.toolName));
  if (allowed !== undefined) {
    return { outcome: 'allow', ruleId: 'autoApprovedTools', why: [`the tool matches "${allowed}"`] };
  }
  return { outcome: content.default, ruleId: 'default', why: ['nothing else matches'] };
}

function verdictOf(content: PolicyContent, ruled: Ruled): Verdict {
  return {
    outcome: ruled.outcome,
    ruleId: ruled.ruleId,
    policyVersion: content.version,
    automatic: ruled.outcome !== 'require',
    why: [...ruled.why],
  };
}

/** One approver with the approver role. The request's wishes narrow the defaults and never widen them. */
function requirementOf(content: PolicyContent, call: PolicyCall): Requirement {
  const { defaults } = content;
  return {
    stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: null }],
    fourEyes: defaults.fourEyes,
    allowedDecisions: decisionsOf(content, call),
    requireReason: [],
    minAssurance: null,
    risk: null,
    expiresInMs: expiryOf(content, call),
    executeByMs: defaults.executeByMs,
    onTimeout: defaults.onTimeout,
    escalation: [],
    remindersMs: [],
  };
}

/** Attack: an agent that removes `deny`, so that its call can only be approved. A person can always deny. */
function decisionsOf({ defaults }: PolicyContent, call: PolicyCall): DecisionType[] {
  const wanted = call.allowedDecisions ?? decisionTypes;
  const both = defaults.allowedDecisions.filter((decision) => wanted.includes(decision));
  const allowed = both.length > 0 ? both : defaults.allowedDecisions;
  return decisionTypes.filter((decision) => decision === 'deny' || allowed.includes(decision));
}

/** Attack: an agent keeps its request open until a person approves. A request can only shorten the file's timeout. */
function expiryOf({ defaults }: PolicyContent, { expiresInMs: wanted }: PolicyCall): DurationMs {
  if (wanted === null) return defaults.expiresInMs;
  if (!defaults.isExpirySet || defaults.expiresInMs === 'never') return wanted;
  return wanted === 'never' ? defaults.expiresInMs : Math.min(wanted, defaults.expiresInMs);
}
