import { createHmac } from 'node:crypto';
import { proposalDigest, receiptArgumentsHash } from '@countersign/contracts';
import type { Assurance, ReceiptFacts } from '@countersign/contracts';
import { agrees, currentApproval, currentProposal, digestInputOf } from '@countersign/domain';
import type { Approval, ToolCall, Vote } from '@countersign/domain';
import type { CommandPorts } from './ports.js';
import { forbidden } from './stream/forbidden.js';

/** A claim as its receipt tells of it, and the people who agreed. */
export interface ClaimReceipt {
  readonly facts: ReceiptFacts;
  /** Their principals. A receipt has them only where the operator wants it. */
  readonly approvers: readonly string[];
}

/** A call whose execution is claimed. */
export type ClaimedToolCall = ToolCall & { readonly execution: { readonly status: 'claimed' } };

/**
 * The receipt of a claimed call. It is derived from the stream of the call alone, so each process returns the same one for a
 * repeated claim, also after a restart; a renewal changes `exp` alone. Undefined where the arguments cannot be read, because they
 * are erased or their key is missing: a receipt over the text `[erased]` would say that these were the arguments.
 */
export function receiptOf(call: ClaimedToolCall): ClaimReceipt | undefined {
  const { request, action, execution, verdict } = call;
  const { callId, runId, agentId, tenant, toolName } = request;
  if (action.salt === null) return undefined;
  const { attempt } = execution;
  const approval = call.permission.status === 'approved' ? currentApproval(call) : undefined;
  const votes = approval === undefined ? [] : agreeing(approval);
  const nonce = receiptNonce(action.salt, callId, attempt);
  return {
    approvers: votes.map(({ respondedBy }) => respondedBy),
    facts: {
      ...{ aud: toolName, sub: callId, attempt, runId, agentId, tenant },
      actionDigest: action.actionDigest,
      proposalDigest: approval === undefined ? null : proposalDigest(digestInputOf(approval, request.salt)),
      argumentsHash: receiptArgumentsHash(nonce, action.arguments),
      nonce,
      approvals: { count: votes.length, assurance: weakest(votes) },
      policyVersion: verdict?.policyVersion ?? null,
      seq: execution.seq ?? null,
      iat: secondsOf(execution.claimedAt),
      exp: secondsOf(execution.leaseUntil),
      jti: `${callId}.${String(attempt)}`,
    },
  };
}

/** The votes of people for the proposal that is current. */
function agreeing(approval: Approval): readonly Vote[] {
  const { number } = currentProposal(approval);
  return approval.votes.filter(
    (vote) => vote.status === 'counted' && !vote.automatic && vote.proposal === number && agrees(vote),
  );
}

const levels: readonly Assurance[] = ['low', 'medium', 'high'];

function weakest(votes: readonly Vote[]): Assurance | null {
  return levels.find((level) => votes.some(({ assurance }) => assurance === level)) ?? null;
}

/** Rounded down: a receipt must not outlive its lease. */
function secondsOf(time: string): number {
  return Math.floor(Date.parse(time) / 1000);
}

/** Returns whether a stream that cannot be read stops the call, such as the cancellation of its run. */
export function isForbiddenToRun(ports: Pick<CommandPorts, 'forbidding'>, { request }: ToolCall): boolean {
  return forbidden(ports, request, 'run') !== undefined;
}

/**
 * The nonce of an attempt, 32 hex digits. Each process that knows the salt of the arguments computes the same one. It does not
 * reveal the salt: the salt is the key of an HMAC.
 */
function receiptNonce(salt: string, callId: string, attempt: number): string {
  const mac = createHmac('sha256', salt).update(`countersign receipt nonce ${callId} ${String(attempt)}`);
  return mac.digest('hex').slice(0, 32);
}
