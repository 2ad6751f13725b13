import {
  argumentsDigest,
  grantLimits,
  hiddenValues,
  placeLabelsOf,
  saltedDigest,
  subjectOf,
} from '@countersign/contracts';
import type { CreateGrantBody, GrantMatch, GrantTerms, Remember, Requirement, Risk } from '@countersign/contracts';
import {
  currentProposal,
  couldApproveAlone,
  highestRisk,
  isBlank,
  isWithinRisk,
  needsSecondPerson,
  requirementOf,
} from '@countersign/domain';
import type { Approval, Responder, ToolCall, ToolCallProposal } from '@countersign/domain';
import type { Actor } from '../actor.js';
import type { GrantIndex } from './grant-ports.js';
import type { CommandPorts } from '../ports.js';
import { refused } from '../result.js';
import type { Result } from '../result.js';
import { responderOf } from '../people/responder.js';

/** A grant before it has an id. */
export type PlannedGrant = Omit<GrantTerms, 'grantId'>;

type Planned = { readonly status: 'planned'; readonly terms: PlannedGrant } | (Result & { readonly status: 'refused' });

/**
 * Plans a grant that a person asks for. Refused when its expression cannot be used, when the policy blocks the tool or
 * asks more of its calls than this person alone, and when the tenant has too many grants.
 */
export async function planGrant(ports: CommandPorts, actor: Actor, body: CreateGrantBody): Promise<Planned> {
  const problem = 'when' in body.match ? await problemOf(ports, body.match.when) : undefined;
  if (problem !== undefined) return refusedMatch(`the expression cannot be used: ${problem}`, 'match.when');
  const asked = ports.policies.of(actor.tenant).askedOf(body.toolName);
  if (asked.length === 0) return refused('blocked-by-policy', `the policy blocks every call of "${body.toolName}"`);
  const responder = ownRightOf(ports, actor);
  const alone = asked.filter((requirement) => isForOne(ports, requirement, responder, proposalOf(actor, body)));
  if (alone.length === 0) {
    const detail = `no rule about "${body.toolName}" lets you approve a call alone, so you cannot grant its calls`;
    return refused('not-an-approver', detail);
  }
  const risk = highestRisk(alone);
  if (isUnseen(body, risk)) return refusedUnseen;
  const { toolName, runId = null, agentId = null, requestedBy, labels, reason } = body;
  const scope = {
    toolName,
    runId,
    agentId,
    ...(requestedBy === undefined ? {} : { requestedBy }),
    ...(labels === undefined ? {} : { labels }),
    match: toStored(ports, body.match),
    reason,
    approvalId: null,
  };
  return toTerms(ports, actor, body, { ...scope, risk });
}

/** Attack: the second person confirms a digest, in which they see no arguments. Those of a remembered approval can be looked at. */
const refusedUnseen = refusedMatch(
  'a grant of high risk waits for a second person, who sees no arguments in a digest: remember an approval of such a call, or give { "when" }',
);

function isUnseen({ match }: CreateGrantBody, risk: Risk | null): boolean {
  return 'digest' in match && needsSecondPerson(risk);
}

/** Plans the grant of an approval that a person gives and wants remembered. */
export function planRemembered(
  ports: CommandPorts,
  actor: Actor,
  call: ToolCall,
  approval: Approval,
  remember: Remember,
  reason: string | undefined,
): Planned {
  const { request } = call;
  const { approvalId } = approval;
  const { kind, action } = currentProposal(approval);
  const requirement = requirementOf(approval);
  if (kind === 'answer' || !isForOne(ports, requirement, ownRightOf(ports, actor), request)) {
    const detail = 'only an approval that you can give alone can be remembered; leave "remember" out';
    return refused('decision-not-allowed', detail);
  }
  const { toolName, agentId, requestedBy } = request;
  const match: GrantMatch =
    remember.match === 'tool'
      ? { any: true }
      : toStored(ports, { digest: argumentsDigest(toolName, action.arguments) });
  const scope = { toolName, agentId, requestedBy, runId: remember.scope === 'run' ? request.runId : null, match };
  const isSecret = 'digest' in match && hiddenValues(action.arguments, action.sensitive).length > 0;
  const labels = placeLabelsOf(request.labels);
  return toTerms(ports, actor, remember, {
    ...{ ...scope, approvalId, risk: requirement.risk },
    ...(Object.keys(labels).length > 0 && { labels }),
    toolSchemaHash: request.toolSchemaHash,
    // The digest must become useless when these values are erased.
    ...(isSecret && { subject: subjectOf(request) }),
    reason: reason === undefined || isBlank(reason) ? `remembered with the approval ${approvalId}` : reason,
  });
}

/** Returns whether a person could confirm a grant: they can approve calls of its risk alone. */
export function mayConfirm(ports: CommandPorts, actor: Actor, terms: GrantTerms): boolean {
  const responder = ownRightOf(ports, actor);
  const asked = ports.policies.of(terms.tenant).askedOf(terms.toolName);
  return asked.some(
    (requirement) =>
      isWithinRisk(terms.risk, requirement.risk) && isForOne(ports, requirement, responder, proposalOf(actor, terms)),
  );
}

/** The person without the people whom they stand in for: a delegation ends, and a grant would outlast it. */
function ownRightOf(ports: CommandPorts, actor: Actor): Responder {
  return { ...responderOf(ports, actor, ports.clock.now()), delegators: [] };
}

function refusedMatch(message: string, path = 'match.digest'): Result & { readonly status: 'refused' } {
  return refused('invalid-request', `${path}: ${message}`, { errors: [{ path, message }] });
}

async function problemOf({ grants }: CommandPorts, when: string): Promise<string | undefined> {
  return (await grants?.conditions())?.problemOf(when);
}

type Scope = Pick<
  PlannedGrant,
  | 'toolName'
  | 'runId'
  | 'agentId'
  | 'requestedBy'
  | 'labels'
  | 'toolSchemaHash'
  | 'match'
  | 'reason'
  | 'approvalId'
  | 'subject'
> & {
  readonly risk: Risk | null;
};

function toTerms(
  { grants, clock, policies }: CommandPorts,
  { tenant, principal, groups, via, assurance }: Actor,
  { expiresInMs, maxUses }: Pick<CreateGrantBody, 'expiresInMs'> & { readonly maxUses?: number | undefined },
  scope: Scope,
): Planned {
  const at = clock.now();
  const full = fullness(grants?.index, tenant, scope.toolName, at);
  if (full !== undefined) {
    return refused('too-many-requests', `${full} grants that have not ended; revoke one that is no longer needed`);
  }
  const by = { createdBy: principal, groups: [...groups], isListed: policies.of(tenant).isListed(principal) };
  const times = { createdAt: toTime(at), expiresAt: toTime(at + expiresInMs) };
  return { status: 'planned', terms: { ...scope, tenant, maxUses: maxUses ?? null, ...by, via, assurance, ...times } };
}

/**
 * Returns in words which limit of grants is reached, or undefined. Attack: enough grants for one tool that each call of it keeps
 * the process busy for seconds.
 */
function fullness(index: GrantIndex | undefined, tenant: string, toolName: string, at: number): string | undefined {
  if (index === undefined) return undefined;
  if (index.liveCount(tenant, at) >= grantLimits.liveMax) return `this tenant has ${String(grantLimits.liveMax)}`;
  const ofTool = index.live(tenant, toolName, at).length;
  return ofTool >= grantLimits.liveOfToolMax ? `the tool has ${String(grantLimits.liveOfToolMax)}` : undefined;
}

function toTime(epochMs: number): string {
  return new Date(epochMs).toISOString();
}

/** Attack: an approver lists grants and guesses hidden arguments from their digests. A secret salt prevents it. */
function toStored({ ids }: CommandPorts, match: CreateGrantBody['match']): GrantMatch {
  if (!('digest' in match)) return match;
  const salt = Buffer.from(ids.randomBytes(16)).toString('hex');
  return { digest: saltedDigest(match.digest, salt), salt };
}

function isForOne(
  { clock }: CommandPorts,
  requirement: Requirement,
  responder: Responder,
  proposal: ToolCallProposal,
): boolean {
  return couldApproveAlone({ proposal, requirement }, responder, clock.now());
}

interface ScopeOfBody {
  readonly toolName: string;
  readonly runId?: string | null | undefined;
  readonly agentId?: string | null | undefined;
  readonly requestedBy?: string | undefined;
}

/** A call that the grant may cover. A grant for every agent has an empty id here, which excludes no person. */
function proposalOf({ tenant }: Actor, { toolName, runId, agentId, requestedBy }: ScopeOfBody): ToolCallProposal {
  return {
    ...{ callId: '', tenant, runId: runId ?? '', agentId: agentId ?? '', toolCallId: '', toolName },
    ...{ batchId: null, batchMode: 'independent', batchCallIds: [], arguments: {}, toolSchema: null },
    ...{ toolSchemaHash: null, salt: '', actionDigest: '', sensitive: [], needsApproval: true, reason: null },
    ...{ description: null, clientExecuted: false, idempotent: false, labels: {}, requestedBy: requestedBy ?? '' },
  };
}
