import type { JsonObject } from '@countersign/contracts';
import type { WrittenQuotas, WrittenRequire, WrittenRule } from '@countersign/text';

/** The parts of a policy file that the page shows in words. The server has validated the file. */
export interface WrittenPolicy {
  readonly default?: 'allow' | 'require';
  readonly autoApprovedTools?: readonly (string | NonNullable<WrittenRule['match']>)[];
  readonly requireApprovalTools?: readonly string[];
  readonly defaults?: WrittenRequire;
  readonly quotas?: WrittenQuotas;
  readonly passkeys?: { readonly secondPerson: boolean };
  readonly rules?: readonly WrittenRule[];
  readonly approvers?: readonly {
    readonly id: string;
    readonly groups?: readonly string[];
    /** A text for each channel; `frontEnds` has several. */
    readonly identities?: Readonly<Record<string, string | readonly string[]>>;
    readonly delegates?: readonly { readonly to: string; readonly from?: string; readonly until?: string }[];
  }[];
}

/** The content of a policy as the page reads it. */
export function policyOf(content: JsonObject): WrittenPolicy {
  return content;
}
