import { hash } from 'node:crypto';
import { canonicalJson, canonicalText } from './canonical-json.js';
import { inOnePiece } from './in-one-piece.js';
import type { JsonObject, JsonValue } from './json.js';
import type { Requirement } from './requirement.js';

/** All that the action digest covers but the arguments. Absent is null. */
export interface DigestInput {
  readonly tenant: string;
  readonly agentId: string;
  readonly runId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  readonly toolSchemaHash: string | null;
  /** 16 random bytes, hex, so that a digest reveals nothing about arguments that are easy to guess. */
  readonly salt: string;
}

/** `sha256:` and the lower-case hex SHA-256 over the RFC 8785 (JCS) form of a JSON value. */
export function jcsDigest(value: JsonValue): string {
  return digestOf(canonicalJson(value));
}

/**
 * The action digest: `sha256:` and the SHA-256 over the RFC 8785 (JCS) form of `{tenant, agentId, runId, toolCallId,
 * toolName, toolSchemaHash, arguments, salt}`. The executor recomputes it over the arguments that it passes, so only
 * the approved arguments run.
 */
export function actionDigest(input: DigestInput, args: JsonObject): string {
  // The members are listed one by one, so that no presentational field enters the digest, and in JCS order, so that
  // only the arguments need sorting.
  const { agentId, runId, salt, tenant, toolCallId, toolName, toolSchemaHash } = input;
  return digestOf(
    `{"agentId":${canonicalText(agentId)},"arguments":${canonicalJson(args)},"runId":${canonicalText(runId)},"salt":${canonicalText(salt)},` +
      `"tenant":${canonicalText(tenant)},"toolCallId":${canonicalText(toolCallId)},"toolName":${canonicalText(toolName)},` +
      `"toolSchemaHash":${toolSchemaHash === null ? 'null' : canonicalText(toolSchemaHash)}}`,
  );
}

/** All that a proposal digest covers. */
export interface ProposalDigestInput {
  readonly approvalId: string;
  readonly number: number;
  readonly requirements: readonly Requirement[];
  readonly subject:
    | { readonly kind: 'run'; readonly actionDigest: string }
    /** The salt of the request, so that the digest reveals nothing about an answer that is easy to guess. */
    | { readonly kind: 'answer'; readonly output: JsonValue; readonly salt: string | null };
}

/**
 * The digest of a proposal, which a response names: `sha256:` and the SHA-256 over the RFC 8785 (JCS) form of
 * `{approvalId, number, actionDigest, requirements}`. For an answer `outputDigest` stands in the place of
 * `actionDigest`: the salted digest of the answer.
 */
export function proposalDigest({ approvalId, number, subject, requirements: all }: ProposalDigestInput): string {
  const asked = `"approvalId":${canonicalText(approvalId)},"number":${String(number)}`;
  const requirements = `"requirements":[${all.map(requirementText).join(',')}]`;
  if (subject.kind === 'run')
    return digestOf(`{"actionDigest":${canonicalText(subject.actionDigest)},${asked},${requirements}}`);
  const outputDigest = saltedDigest(jcsDigest(subject.output), subject.salt ?? '');
  return digestOf(`{${asked},"outputDigest":${canonicalText(outputDigest)},${requirements}}`);
}

/** A requirement never changes, and the calls of a rule share one. */
const requirementTexts = new WeakMap<Requirement, string>();

function requirementText(requirement: Requirement): string {
  const known = requirementTexts.get(requirement);
  if (known !== undefined) return known;
  const text = canonicalJson(requirement);
  requirementTexts.set(requirement, text);
  return text;
}

/**
 * The digest of all that an approval shows a person to agree to: the proposal, and the instructions that the agent gets
 * with it. Without instructions it is that of the proposal.
 */
export function shownDigest(
  proposal: string,
  instructions: readonly { readonly respondedBy: string; readonly instruction: string; readonly ifDenied?: true }[],
): string {
  if (instructions.length === 0) return proposal;
  return jcsDigest({
    proposalDigest: proposal,
    instructions: instructions.map(({ respondedBy, instruction, ifDenied }) => ({
      respondedBy,
      instruction,
      ...(ifDenied === true && { ifDenied }),
    })),
  });
}

/**
 * The digest of what the other calls of a step propose that runs together: `sha256:` and the SHA-256 over the RFC 8785 (JCS) form
 * of the list of `[callId, digest]`, in the order of the step. `digest` is that of the current proposal, or of the action of a call about
 * which nobody was asked. Null: no such call of the same principal is recorded.
 */
export function othersDigest(others: readonly (readonly [callId: string, digest: string | null])[]): string {
  return jcsDigest(others.map((one) => [...one]));
}

/**
 * The digest of exactly these arguments of a tool, in every run: `sha256:` and the SHA-256 over the RFC 8785 (JCS) form
 * of `{arguments, toolName}`. It has no salt, so it is never stored as it is.
 */
export function argumentsDigest(toolName: string, args: JsonObject): string {
  return digestOf(`{"arguments":${canonicalJson(args)},"toolName":${canonicalJson(toolName)}}`);
}

/** An {@link argumentsDigest} as a grant stores it. Only the holder of the salt can test a guess. */
export function saltedDigest(digest: string, salt: string): string {
  return digestOf(canonicalJson([digest, salt]));
}

function digestOf(text: string): string {
  return inOnePiece('sha256:', hash('sha256', text, 'hex'));
}
