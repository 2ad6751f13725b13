import { hash } from 'node:crypto';
import { jcsDigest } from '@countersign/contracts';
import type { ConfigurationKind, JsonValue } from '@countersign/contracts';
import type { PolicyContent } from '@countersign/policy';
import { readTextFile } from '@countersign/runtime';
import { processTenant } from './system-log.js';
import type { SystemLog } from './system-log.js';

/** A part of the configuration, by its digest and a summary. Tokens are recorded entry by entry instead. */
export interface ConfiguredPart {
  readonly configures: Exclude<ConfigurationKind, 'tokens'>;
  /** Default: `default`. */
  readonly tenant?: string;
  /** Null: there is none. */
  readonly digest: string | null;
  readonly summary: readonly string[];
}

const summaryMax = 200;
const textMax = 500;

/** The digest of a configuration with nothing in it. */
const none = jcsDigest(null);

/** Records the parts whose digest is another one than this process recorded last. @throws as {@link SystemLog.record}. */
export async function recordConfiguration(system: SystemLog, parts: readonly ConfiguredPart[]): Promise<void> {
  for (const { configures, tenant = processTenant, digest, summary } of parts) {
    const before = (await system.recorded(tenant)).digests.get(configures) ?? none;
    if (before === (digest ?? none)) continue;
    await system.record(tenant, {
      type: 'ConfigurationChanged',
      data: {
        ...{ configures, digest: digest ?? none, added: [], changed: [], removed: [] },
        ...{ summary: shortened(summary), changedAt: system.now() },
      },
    });
  }
}

function shortened(summary: readonly string[]): string[] {
  const shown = summary.slice(0, summaryMax).map((text) => text.slice(0, textMax));
  return summary.length <= summaryMax ? shown : [...shown, `and ${String(summary.length - summaryMax)} more`];
}

/** The policy that a process judges by; null: the built-in one, for every tenant. */
export function policyParts(
  { tenants }: Pick<SystemLog, 'tenants'>,
  content: PolicyContent | null,
): readonly ConfiguredPart[] {
  const isOf = (tenant: string): boolean => tenant === content?.tenant;
  return [...new Set([...tenants(), ...(content === null ? [] : [content.tenant])])].map((tenant) => ({
    ...{ configures: 'policy', tenant, digest: content !== null && isOf(tenant) ? content.version : null },
    summary: content !== null && isOf(tenant) ? [`${String(content.rules.length)} rules`] : [],
  }));
}

/** Says that a file cannot be used, and that what was in force stays in force. */
export function noteRefused(system: SystemLog, configures: ConfigurationKind, error: unknown, file: string): void {
  const why = (error instanceof Error ? error.message : String(error)).slice(0, 4 * textMax);
  const digest = digestOfFile(file);
  system.note(processTenant, () => ({
    type: 'ConfigurationRefused',
    data: { configures, digest, why, refusedAt: system.now() },
  }));
}

/** The digest of the text of a file; null: there is none, or it cannot be read. */
export function digestOfFile(file: string | null): string | null {
  if (file === null) return null;
  try {
    return digestOfText(readTextFile(file, (problem) => new Error(problem), ''));
  } catch {
    return null;
  }
}

/** `sha256:` and the SHA-256 of a text. */
export function digestOfText(text: string): string {
  return `sha256:${hash('sha256', text, 'hex')}`;
}

/** The digest of a configuration that is not a file. */
export function digestOfValue(value: JsonValue): string {
  return jcsDigest(value);
}
