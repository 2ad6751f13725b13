import { hash } from 'node:crypto';
import { canonicalForm } from '../canonical.js';

/** `sha256:` and the SHA-256 over the RFC 8785 form of a JSON value. */
export function digestOf(value: unknown): string {
  return `sha256:${hash('sha256', canonicalForm(value), 'hex')}`;
}

/** The built-in policy. A log without a policy file has no event with it, and it is the same in every version. */
export function builtInPolicy(tenant: string): BuiltInPolicy {
  return { version: 1, tenant, default: 'allow' };
}

interface BuiltInPolicy {
  readonly version: 1;
  readonly tenant: string;
  readonly default: 'allow';
}

/** The version of the built-in policy. */
export function builtInPolicyVersion(tenant: string): string {
  return digestOf(builtInPolicy(tenant));
}

/** The members that an action digest covers besides the arguments and their salt. */
export interface DigestFacts {
  readonly tenant: string;
  readonly agentId: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly toolSchemaHash: string | null;
}

/** The digest of an action: what people agree to run. */
export function digestOfAction(facts: DigestFacts, args: unknown, salt: string | null): string {
  const { tenant, agentId, runId, toolCallId, toolName, toolSchemaHash } = facts;
  return digestOf({ tenant, agentId, runId, toolCallId, toolName, toolSchemaHash, arguments: args, salt });
}

/** The digest of an answer, salted with the salt of the request. */
export function digestOfAnswer(outputDigest: string, salt: string): string {
  return digestOf([outputDigest, salt]);
}

/** `prefix` and 26 characters of base32 derived from a JSON value: how ids of calls and names of batches are made. */
export function derivedName(prefix: string, identity: unknown): string {
  return prefix + base32(hash('sha256', canonicalForm(identity), 'hex').slice(0, 32));
}

const letters = 'abcdefghijklmnopqrstuvwxyz234567';

/** 128 bits, as 32 hex digits, in groups of 5 bits. */
function base32(hex: string): string {
  let bits = BigInt(`0x${hex}`) << 2n;
  let text = '';
  for (let count = 0; count < 26; count += 1) {
    text = letters.charAt(Number(bits & 31n)) + text;
    bits >>= 5n;
  }
  return text;
}
