import { builtInPolicyContent } from './policy-file.js';
import type { PolicyContent } from './policy-file.js';
import { createPolicy } from './policy.js';
import type { Policy } from './policy.js';

/** The policy that each tenant is judged by. */
export interface Policies {
  readonly of: (tenant: string) => Policy;
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

/** Policies of which the file's can be replaced while the process runs. */
export interface LivePolicies extends Policies {
  /** Judges by this content from now on. Calls that were judged before keep their verdicts. */
  readonly activate: (content: PolicyContent) => void;
}

/** The policies by the content of a file that may change. Null: the built-in policy for every tenant. */
export function createLivePolicies(content: PolicyContent | null): LivePolicies {
  let current = createPolicies(content === null ? [] : [content]);
  return {
    of: (tenant) => current.of(tenant),
    activate: (next) => {
      current = createPolicies([next]);
    },
  };
}
