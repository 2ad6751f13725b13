import { deriveGrantId, grantStream, isGrantId, parseApprovalId } from '@countersign/contracts';
import type { CreateGrantBody, GrantEvent, Remember, RespondBody, RevokeGrantBody } from '@countersign/contracts';
import { currentProposal, grantDecider } from '@countersign/domain';
import type { Grant, GrantCommand, GrantState } from '@countersign/domain';
import type { Actor } from '../actor.js';
import { aliasesOf } from '../people/aliases.js';
import type { GrantPorts } from './grant-ports.js';
import { isAsAsked, isAsRemembered } from './same-grant.js';
import { mayConfirm, planGrant, planRemembered } from './plan-grant.js';
import type { PlannedGrant } from './plan-grant.js';
import type { CommandPorts } from '../ports.js';
import { withProof } from '../proof.js';
import { refused } from '../result.js';
import type { Result } from '../result.js';
import { respond } from '../people/respond.js';
import { forbidden } from '../stream/forbidden.js';
import type { CommandMeta } from '../stream/handle-command.js';
import { reusedKey } from '../stream/repeats.js';
import { findCall } from '../stream/with-tool-call.js';

/** Creates a standing grant. Above the risk tier it waits for a second person. */
export async function createGrant(
  ports: CommandPorts,
  actor: Actor,
  body: CreateGrantBody,
  commandId: string,
): Promise<Result<Grant>> {
  const recorded = await recordedBefore(ports, actor, commandId);
  if (recorded !== undefined) return isAsAsked(recorded.value.terms, body) ? recorded : reusedKey;
  const refusal = forbidden(ports, { tenant: actor.tenant, runId: body.runId ?? '' }, 'judge');
  if (refusal !== undefined) return refusal;
  const planned = await planGrant(ports, actor, body);
  if (planned.status === 'refused') return planned;
  const outcome = await recordGrant(ports, actor, planned.terms, commandId);
  // Another process may have recorded one under the same key meanwhile.
  return outcome.status === 'refused' || isAsAsked(outcome.value.terms, body) ? outcome : reusedKey;
}

/** A second person confirms a pending grant. They must be able to give it themselves. */
export function confirmGrant(
  ports: CommandPorts,
  actor: Actor,
  grantId: string,
  commandId: string,
): Promise<Result<Grant>> {
  const { principal: confirmedBy, via } = actor;
  const refusal = forbidden(ports, { tenant: actor.tenant, runId: '' }, 'judge');
  if (refusal !== undefined) return Promise.resolve(refusal);
  return withGrant(ports, actor, { grantId, commandId }, (grant, at) =>
    mayConfirm(ports, actor, grant.terms)
      ? { type: 'ConfirmGrant', at, confirmedBy, aliases: aliasesOf(ports, actor.tenant, confirmedBy), via }
      : refused('not-an-approver', 'only a person who could give this grant can confirm it'),
  );
}

/** Ends a grant. No call that is requested after this resolved is covered by it. */
export function revokeGrant(
  ports: CommandPorts,
  actor: Actor,
  { grantId, reason }: RevokeGrantBody & { readonly grantId: string },
  commandId: string,
): Promise<Result<Grant>> {
  const { principal: revokedBy, via } = actor;
  const why = reason === undefined ? {} : { reason };
  const isRepeat = (recorded: readonly GrantEvent[]): boolean =>
    recorded.every(({ type, data }) => type !== 'GrantRevoked' || data.reason === reason);
  return withGrant(ports, actor, { grantId, commandId, isRepeat }, (_, at) => ({
    ...{ type: 'RevokeGrant', at, revokedBy, via },
    ...why,
  }));
}

const noGrants = refused(
  'forbidden',
  'A person of a front end gives no standing grants: answer without `remember`, or give the grant with a token or a sign-in of their own.',
);

/**
 * Records an approval, and a grant for calls like it. All is checked before the approval is recorded; a retry with the
 * same id completes what a crash left. Null: the arguments were changed meanwhile, so nothing is remembered.
 */
export async function respondAndRemember(
  ports: CommandPorts,
  actor: Actor,
  approvalId: string,
  { remember, ...response }: Omit<RespondBody, 'remember'> & { readonly remember: Remember },
  commandId: string,
): Promise<Result<Grant | null>> {
  if (actor.vouchedBy !== undefined) return noGrants;
  const recorded = await recordedBefore(ports, actor, commandId);
  const respondNow = () => respond(ports, actor, approvalId, response, commandId);
  if (recorded !== undefined) return rememberedBefore(recorded, remember, respondNow);
  const before = await findApproval(ports, actor, approvalId);
  if (before === undefined) return refused('unknown-approval', `there is no approval ${approvalId}`);
  const refusal = forbidden(ports, before.call.request, 'judge');
  if (refusal !== undefined) return refusal;
  const planned = planRemembered(ports, actor, before.call, before.approval, remember, response.reason);
  if (planned.status === 'refused') return planned;
  const responded = await respondNow();
  if (responded.status === 'refused') return responded;
  const after = await findApproval(ports, actor, approvalId);
  const isAsPlanned =
    after?.approval.resolution.status === 'approved' &&
    after.call.action.actionDigest === currentProposal(before.approval).action.actionDigest;
  return isAsPlanned ? recordGrant(ports, actor, planned.terms, commandId) : { ...responded, value: null };
}

/** The grant of a repeat, where it and the response are the ones that are recorded. */
async function rememberedBefore(
  grant: Result<Grant> & { readonly status: 'done' },
  remember: Remember,
  respondAgain: () => Promise<Result>,
): Promise<Result<Grant>> {
  if (!isAsRemembered(grant.value.terms, remember)) return reusedKey;
  const response = await respondAgain();
  return response.status === 'refused' ? response : grant;
}

async function findApproval(ports: CommandPorts, { tenant }: Actor, approvalId: string) {
  const callId = parseApprovalId(approvalId)?.callId;
  const call = callId === undefined ? undefined : await findCall(ports, tenant, callId);
  const approval = call?.approvals.find((one) => one.approvalId === approvalId);
  return call === undefined || approval === undefined ? undefined : { call, approval };
}

/** A retry returns its grant, also when the same person could not give it now. */
async function recordedBefore(
  ports: CommandPorts,
  { tenant, principal }: Actor,
  commandId: string,
): Promise<(Result<Grant> & { readonly status: 'done' }) | undefined> {
  const { state, position } = await handlerOf(ports).load(grantStream(deriveGrantId(tenant, principal, commandId)));
  const grant = grantOf(state, tenant);
  return grant === undefined ? undefined : { status: 'done', value: grant, position };
}

async function recordGrant(
  ports: CommandPorts,
  actor: Actor,
  planned: PlannedGrant,
  commandId: string,
): Promise<Result<Grant>> {
  const grantId = deriveGrantId(actor.tenant, actor.principal, commandId);
  const command: GrantCommand = { type: 'CreateGrant', at: ports.clock.now(), terms: { grantId, ...planned } };
  return handle(ports, actor, { grantId, commandId }, () => command);
}

interface Target extends Pick<CommandMeta<GrantState, GrantEvent>, 'commandId' | 'isRepeat'> {
  readonly grantId: string;
}

type Built = GrantCommand | (Result & { readonly status: 'refused' });

async function withGrant(
  ports: CommandPorts,
  actor: Actor,
  target: Target,
  build: (grant: Grant, at: number) => Built,
): Promise<Result<Grant>> {
  const { grantId } = target;
  if (!isGrantId(grantId)) return noSuchGrant(grantId);
  return handle(ports, actor, target, (state) => {
    const grant = grantOf(state, actor.tenant);
    return grant === undefined ? noSuchGrant(grantId) : build(grant, ports.clock.now());
  });
}

async function handle(
  ports: CommandPorts,
  actor: Actor,
  { grantId, ...command }: Target,
  build: (state: GrantState) => Built,
): Promise<Result<Grant>> {
  const { decideGrant = grantDecider.decide } = ports;
  const { tenant } = actor;
  const decide = (state: GrantState) => {
    const built = build(state);
    return 'refusal' in built ? built : withProof(decideGrant(built, state), actor);
  };
  const meta = { tenant, callId: null, runId: null, ...command };
  const handled = await handlerOf(ports).handleCommand(grantStream(grantId), decide, meta);
  if (handled.status === 'refused') return { status: 'refused', refusal: handled.refusal };
  // A repeat is recognised by its id before it is decided, so the tenant is looked at here as well.
  const grant = grantOf(handled.state, tenant);
  return grant === undefined ? noSuchGrant(grantId) : { status: 'done', value: grant, position: handled.position };
}

function handlerOf({ grants }: CommandPorts): GrantPorts['handler'] {
  if (grants === undefined) throw new Error('this process was opened without grants');
  return grants.handler;
}

function grantOf(state: GrantState, tenant: string): Grant | undefined {
  return state.status !== 'unknown' && state.terms.tenant === tenant ? state : undefined;
}

/** The refusal for an unknown id or another tenant's id, which look the same. */
export function noSuchGrant(grantId: string): Result & { readonly status: 'refused' } {
  return refused('not-found', `there is no grant ${grantId}`);
}
