export { PolicyFileError, loadPolicy } from './load-policy.js';
export type { PolicyProblem } from './load-policy.js';
export { createPolicies, createPolicy } from './policy.js';
export type { Judgement, Policies, Policy, PolicyCall } from './policy.js';
export { builtInPolicyContent } from './policy-file.js';
export type { PolicyContent } from './policy-file.js';
