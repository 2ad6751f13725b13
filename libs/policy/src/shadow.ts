import { createPolicy } from './policy.js';
import type { Policy } from './policy.js';
import type { PolicyContent } from './policy-file.js';

/** A candidate policy. It judges the same calls as the policy in force, and decides nothing. */
export interface ShadowPolicy {
  /** Undefined: no candidate judges the calls of this tenant. */
  readonly of: (tenant: string) => Policy | undefined;
  /** Judges by this content from now on. */
  readonly activate: (content: PolicyContent) => void;
}

/** The candidate of a file that may change. Nothing judges until a content is activated. */
export function createShadowPolicy(): ShadowPolicy {
  let current: Policy | undefined;
  return {
    of: (tenant) => (current?.tenant === tenant ? current : undefined),
    activate: (content) => {
      current = createPolicy(content);
    },
  };
}
