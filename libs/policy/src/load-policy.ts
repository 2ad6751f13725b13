import type { CelEngine } from '@countersign/cel';
import type { JsonObject } from '@countersign/contracts';
import { compileExpressions } from './compile-expressions.js';
import { fileError, PolicyFileError, readDocument } from './load-document.js';
import { policyFileSchema, toPolicyContent } from './policy-file.js';
import type { PolicyContent } from './policy-file.js';
import { unreachableRules } from './unreachable.js';
import type { UnreachableRule } from './unreachable.js';

/** EventStoreDB accepts 1 MiB per append. */
const contentBytesMax = 512 * 1024;

/** A policy file that can be used, and what its author should look at again. */
export interface CheckedPolicy {
  readonly content: PolicyContent;
  /** Rules that no call can reach, with their lines. */
  readonly unreachable: readonly (UnreachableRule & { readonly line: number | null })[];
}

/**
 * Parses a policy file. The ending of `file` gives the format (`.toml`; otherwise YAML, which includes JSON).
 * @param cel reads and evaluates expressions; null is enough for a file whose rules have none
 * @throws PolicyFileError naming every problem with file, line and path.
 */
export function loadPolicy(file: string, text: string, cel: CelEngine | null = null): PolicyContent {
  return checkPolicy(file, text, cel).content;
}

/** The same, with what is allowed and looks like a mistake. @throws PolicyFileError as {@link loadPolicy}. */
export function checkPolicy(file: string, text: string, cel: CelEngine | null): CheckedPolicy {
  const parsed = readDocument(file, text);
  if (parsed.value === null || parsed.value === undefined) {
    throw new PolicyFileError([{ file, line: null, path: '', message: 'is empty: it needs at least "version: 1"' }]);
  }
  const result = policyFileSchema.safeParse(parsed.value);
  const { compiled, issues } = compileExpressions(parsed.value, cel);
  if (!result.success || issues.length > 0) {
    throw fileError(file, [...(result.error?.issues ?? []), ...issues], parsed);
  }
  const source = parsed.value as JsonObject;
  if (Buffer.byteLength(JSON.stringify(source)) > contentBytesMax) {
    const message = `has more than ${String(contentBytesMax / 1024)} KiB as JSON, and the whole of it is recorded as one event`;
    throw new PolicyFileError([{ file, line: null, path: '', message }]);
  }
  const content = toPolicyContent(result.data, source, { celVersion: cel?.version ?? null, compiled });
  const unreachable = unreachableRules(content.rules).map((rule) => ({
    ...rule,
    line: parsed.lineOf(['rules', rule.index]),
  }));
  return { content, unreachable };
}
