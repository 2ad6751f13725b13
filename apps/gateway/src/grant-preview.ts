import { setImmediate } from 'node:timers/promises';
import { isInReach, matchesArguments, planGrant } from '@countersign/commands';
import type { Actor, GrantedCall } from '@countersign/commands';
import { approvalStates, hiddenValues } from '@countersign/contracts';
import type { CreateGrantBody, GrantPreview, GrantTerms } from '@countersign/contracts';
import { needsSecondPerson, requirementOfRequest } from '@countersign/domain';
import { budgetOfRequest, recordedCall } from '@countersign/policy';
import type { ApprovalOfCall } from '@countersign/read-model';
import { ok, refused } from './answer.js';
import type { Answer } from './answer.js';
import type { GatewayPorts } from './ports.js';

/** How many recorded approvals of each outcome are compared, the newest ones. */
const scannedOfEachMax = 200;
const listedMax = 100;

/** Returns the recorded approvals that a grant would have covered. Creates nothing. */
export async function previewGrant(ports: GatewayPorts, actor: Actor, body: CreateGrantBody): Promise<Answer> {
  const planned = await planGrant(ports.commands, actor, body);
  if (planned.status === 'refused') return refused(planned.refusal);
  const terms: GrantTerms = { ...planned.terms, grantId: '' };
  const grant = { terms, confirmed: null };
  const asked = newestAsked(ports, actor.tenant, body.toolName);
  const budget = { left: budgetOfRequest * 10 };
  const calls: GrantPreview['calls'] = [];
  const byOutcome: Record<string, number> = {};
  let [covered, notCompared] = [0, 0];
  for (const one of asked) {
    const call = toGrantedCall(one);
    if (!isInReach(ports.commands, grant, call, Date.parse(one.approval.requestedAt))) continue;
    // Attack: guesses of hidden arguments, by their digest.
    if ('digest' in terms.match && hidesValues(one)) {
      notCompared += 1;
      continue;
    }
    if (!(await matchesArguments(ports.commands, terms, call, budget))) continue;
    // An expression may take milliseconds. Others get their turn between two calls.
    await setImmediate();
    const { status: outcome } = one.approval.resolution;
    covered += 1;
    byOutcome[outcome] = (byOutcome[outcome] ?? 0) + 1;
    const { callId, runId, agentId } = one.call.request;
    const { approvalId, requestedAt } = one.approval;
    if (calls.length < listedMax) calls.push({ callId, approvalId, runId, agentId, requestedAt, outcome });
  }
  const state = needsSecondPerson(terms.risk) ? 'pending' : 'active';
  const preview: GrantPreview = {
    ...{ state, risk: terms.risk, scanned: asked.length, covered, notCompared, byOutcome, calls },
  };
  return ok(preview);
}

/** The first approvals of the newest calls of a tool, with any result. */
function newestAsked({ readModel }: GatewayPorts, tenant: string, toolName: string): readonly ApprovalOfCall[] {
  const seqOf = ({ call, approval }: ApprovalOfCall): number =>
    call.approvalSeqs[call.approvals.indexOf(approval)] ?? 0;
  return approvalStates
    .flatMap((state) => {
      const page = readModel.listApprovals(tenant, { state, toolName, order: 'newest', limit: scannedOfEachMax });
      return page.status === 'page' ? page.rows.filter(({ approval }) => approval.round === 1) : [];
    })
    .sort((one, other) => seqOf(other) - seqOf(one));
}

function hidesValues({ call: { request } }: ApprovalOfCall): boolean {
  return hiddenValues(request.arguments, request.sensitive).length > 0;
}

function toGrantedCall({ call, approval }: ApprovalOfCall): GrantedCall {
  const { request } = call;
  const { reason, description } = approval;
  const requirement = requirementOfRequest(approval);
  const proposal = { ...request, toolSchema: null, needsApproval: false, reason, description };
  return { proposal, requirement, policyCall: recordedCall(proposal) };
}
