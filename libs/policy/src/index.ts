export { PolicyFileError, loadPolicy } from './load-policy.js';
export type { PolicyProblem } from './load-policy.js';
export { createPolicies, createPolicy } from './policy.js';
export type { Explanation, Judgement, Policies, Policy, PolicyCall, RuleFinding } from './policy.js';
export { builtInPolicyContent } from './policy-file.js';
export type { PolicyContent } from './policy-file.js';
export { unreachableRules } from './unreachable.js';
export type { UnreachableRule } from './unreachable.js';
