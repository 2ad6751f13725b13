import { plainWords } from '@countersign/contracts';
import { z } from 'zod';
import { globSchema } from './field-schemas.js';
import { matchSchema } from './rule-schema.js';

/** Tools that run without an approval in the calls of some agents, or with some labels, such as those of one workflow. */
export const someAutoApprovedSchema = matchSchema.required({ tools: true });

/** An entry of the allow-list. */
export interface AutoApproved {
  readonly tools: readonly string[];
  /** Null: every agent. */
  readonly agents: readonly string[] | null;
  readonly labels: ReadonlyMap<string, string>;
}

/** An entry of `autoApprovedTools`: a glob, or a `match` that names tools. Not a union: a mistake is reported at its own place. */
export const autoApprovedSchema = z.unknown().transform((written, context): AutoApproved => {
  const isText = typeof written === 'string';
  const result = isText
    ? globSchema.transform((glob) => ({ tools: [glob] })).safeParse(written)
    : someAutoApprovedSchema.safeParse(written, { error: plainWords });
  if (result.success) return toAutoApproved(result.data);
  for (const issue of result.error.issues) context.issues.push({ ...issue, input: written } as never);
  return z.NEVER;
});

interface Written {
  readonly tools: readonly string[];
  readonly agents?: readonly string[] | undefined;
  readonly labels?: Readonly<Record<string, string>> | undefined;
}

function toAutoApproved(written: Written): AutoApproved {
  const { tools, agents = null, labels = {} } = written;
  return { tools, agents, labels: new Map(Object.entries(labels)) };
}
