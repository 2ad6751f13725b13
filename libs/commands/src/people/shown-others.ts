import { batchStream, othersDigest, parseApprovalId, proposalDigest, toolCallStream } from '@countersign/contracts';
import type { RespondBody } from '@countersign/contracts';
import {
  beforeOwnProposals,
  currentProposal,
  digestInputOf,
  isBatchMember,
  isMemberWith,
  otherMembersOf,
} from '@countersign/domain';
import type { Approval, Proposal, RespondToApproval, ToolCall } from '@countersign/domain';
import { sideBySide } from '@countersign/runtime';
import type { CommandPorts } from '../ports.js';
import type { SeenCall, SeenCalls } from './seen-calls.js';
import { callOf } from '../stream/with-tool-call.js';

/** A call or its row in a read model. */
interface Member extends Pick<ToolCall, 'approvals'> {
  readonly request: Parameters<typeof otherMembersOf>[0]['request'] & { readonly salt: string | null };
  readonly action: { readonly actionDigest: string };
}

/**
 * The digest of what the other calls propose that run together with a call; undefined: it runs alone.
 * @param read returns another call, if it can be read.
 */
export function othersDigestOf(call: Member, read: (callId: string) => Member | undefined): string | undefined {
  const others = otherMembersOf(call);
  if (others.length === 0) return undefined;
  return othersDigest(others.map((callId) => [callId, proposedBy(read(callId), call)]));
}

/** The number of calls in memory at once, because calls may have large arguments. */
const atOnce = 32;

/**
 * The response with the current digests of what the other calls of its step propose, each from its own stream, where the person says what
 * they were shown of them. A denial is not bound to it.
 */
export function withShownOthers(
  ports: Pick<CommandPorts, 'handler' | 'seenForYes'>,
  call: ToolCall,
  { shownOthersDigest: shown, decision }: RespondBody,
  command: RespondToApproval,
): RespondToApproval | Promise<RespondToApproval> {
  if (shown === undefined || decision.type === 'deny') return command;
  const { principal } = command.responder;
  const seen: SeenCalls = (decision.type === 'approve' ? ports.seenForYes : undefined) ?? new Map();
  // Only calls with the same list are members of one step.
  const step = batchStream(call.request);
  return sideBySide(otherMembersOf(call), atOnce, (callId) => {
    const key = `${step} ${callId}`;
    const other = seen.get(key) ?? lookAt(ports, call, callId, principal);
    seen.set(key, other);
    return other;
  }).then((others) => {
    const digests = (which: 'before' | 'now') => othersDigest(others.map((one) => [one.callId, one[which]]));
    return { ...command, shownOthers: { shown, current: [digests('now'), digests('before')] } };
  });
}

async function lookAt(
  { handler }: Pick<CommandPorts, 'handler'>,
  call: ToolCall,
  callId: string,
  principal: string,
): Promise<SeenCall> {
  const { state, unreadable } = await handler.look(toolCallStream(callId));
  const found = unreadable === undefined ? callOf(state, call.request.tenant) : undefined;
  return { callId, now: proposedBy(found, call), before: proposedBy(found, call, principal) };
}

/**
 * Records a response: after the others that this process records of the same step, if it may change a call and says what its person
 * was shown of the others.
 *
 * Attack: two people change two calls of a step at one moment. Each is compared with the other call before it changes, and both run as
 * nobody has seen them together. A *yes* may be recorded meanwhile: it changes nothing with which they are compared.
 */
export async function afterOthersOfStep<Done>(
  { handler, changesOfSteps }: Pick<CommandPorts, 'handler' | 'changesOfSteps'>,
  approvalId: string,
  { shownOthersDigest, decision }: RespondBody,
  work: () => Promise<Done>,
): Promise<Done> {
  const target = parseApprovalId(approvalId);
  const isChange = decision.type === 'edit' || decision.type === 'answer';
  if (!isChange || shownOthersDigest === undefined || target === undefined) return work();
  const { state } = await handler.look(toolCallStream(target.callId));
  if (state.status === 'unrequested' || !isBatchMember(state)) return work();
  return changesOfSteps(batchStream(state.request), work);
}

/** The digest of what a call proposes; null: it is none that runs together with `call`. */
function proposedBy(found: Member | undefined, call: Member, own?: string): string | null {
  if (found === undefined || !isMemberWith(found, call)) return null;
  const approval = found.approvals.at(-1);
  if (approval === undefined) return found.action.actionDigest;
  return digestOf(own === undefined ? approval : beforeOwnProposals(approval, own), found.request.salt);
}

/** A proposal never changes, and is looked at many times. */
const digests = new WeakMap<Proposal, string>();

function digestOf(approval: Approval, salt: string | null): string {
  const proposal = currentProposal(approval);
  const known = digests.get(proposal);
  if (known !== undefined) return known;
  const digest = proposalDigest(digestInputOf(approval, salt));
  digests.set(proposal, digest);
  return digest;
}
