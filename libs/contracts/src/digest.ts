import { hash } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { JsonObject, JsonValue } from './json.js';

/** All that the action digest covers but the arguments. Absent is null. */
export interface DigestInput {
  readonly tenant: string;
  readonly agentId: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly toolSchemaHash: string | null;
  /** 16 random bytes, hex: a digest seen elsewhere then tells nothing about low-entropy arguments. */
  readonly salt: string;
}

/** `sha256:` and the lower-case hex SHA-256 over the RFC 8785 (JCS) form of a JSON value. */
export function jcsDigest(value: JsonValue): string {
  return digestOf(jcs(value));
}

/**
 * The action digest: `sha256:` and the SHA-256 over the RFC 8785 (JCS) form of
 * `{tenant, agentId, runId, toolCallId, toolName, toolSchemaHash, arguments, salt}`.
 * What was approved is what runs: whoever is about to execute recomputes it over the arguments it will pass.
 */
export function actionDigest(input: DigestInput, args: JsonObject): string {
  // The members are picked one by one, so that a presentational field can never enter the digest; and written in the
  // order that JCS asks for, so that nothing is sorted but the arguments.
  return digestOf(
    `{"agentId":${jcs(input.agentId)},"arguments":${jcs(args)},"runId":${jcs(input.runId)},"salt":${jcs(input.salt)},` +
      `"tenant":${jcs(input.tenant)},"toolCallId":${jcs(input.toolCallId)},"toolName":${jcs(input.toolName)},` +
      `"toolSchemaHash":${jcs(input.toolSchemaHash)}}`,
  );
}

function jcs(value: JsonValue): string {
  return canonicalize(value) ?? 'null';
}

function digestOf(text: string): string {
  return `sha256:${hash('sha256', text, 'hex')}`;
}
