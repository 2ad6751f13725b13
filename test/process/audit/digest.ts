import { createHash } from 'node:crypto';
import type { JsonObject } from '@countersign/contracts';
import canonicalize from 'canonicalize';

/** The parts of an action digest besides the arguments. */
export interface DigestParts {
  readonly tenant: string;
  readonly agentId: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly toolSchemaHash: string | null;
  readonly salt: string | null;
}

/** The action digest as the design defines it, computed here once more: the judge shares no code with the judged. */
export function digestOf(parts: DigestParts, args: JsonObject): string {
  const { tenant, agentId, runId, toolCallId, toolName, toolSchemaHash, salt } = parts;
  const covered = { tenant, agentId, runId, toolCallId, toolName, toolSchemaHash, arguments: args, salt };
  return `sha256:${createHash('sha256')
    .update(canonicalize(covered) ?? '')
    .digest('hex')}`;
}
