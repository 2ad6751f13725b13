import { builtInPolicy, builtInPolicyVersion, canonicalForm } from '@countersign/audit';
import { policyFile } from './layout.js';

/** The file of a policy: its path in a bundle, and its text. */
export interface PolicyFile {
  readonly path: string;
  readonly text: string;
}

/** The file of the policy that an event has; undefined: it has none. */
export function policyIn(data: unknown): PolicyFile | undefined {
  if (typeof data !== 'object' || data === null) return undefined;
  const { policyVersion, content } = data as Readonly<Record<string, unknown>>;
  const path = content === undefined || typeof policyVersion !== 'string' ? undefined : policyFile(policyVersion);
  return path === undefined ? undefined : { path, text: canonicalForm(content) };
}

/** The built-in policy of a tenant, as an event about it has it. */
export function builtInPolicyData(tenant: string): { readonly policyVersion: string; readonly content: object } {
  return { policyVersion: builtInPolicyVersion(tenant), content: builtInPolicy(tenant) };
}
