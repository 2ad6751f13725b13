import { grantStream, toolCallStream } from '@countersign/contracts';
import { grantDecider, holdsUse, isExhausted } from '@countersign/domain';
import type { Grant, GrantState } from '@countersign/domain';
import { budgetOfRequest } from '@countersign/policy';
import type { Budget, Judgement } from '@countersign/policy';
import { crashPoint } from '@countersign/runtime';
import { isInReach, matchesArguments } from './grant-match.js';
import type { GrantedCall } from './grant-match.js';
import type { GrantPorts } from './grant-ports.js';
import type { Plan } from './plan-call.js';
import type { CommandPorts } from './ports.js';

/** How many grants may match a call and then turn out to have ended. Beyond that a person decides. */
const triesMax = 10;

/**
 * The judgements of the calls of one request, those that a standing grant covers as `allow`. A use is taken in the
 * grant's own stream before the call is recorded. Costs nothing where no grant is about the tool of a new call.
 */
export function coverByGrants(
  ports: CommandPorts,
  plans: readonly Plan[],
  judgements: readonly Judgement[],
  commandId: string,
  at: number,
): readonly Judgement[] | Promise<readonly Judgement[]> {
  const { grants } = ports;
  if (grants === undefined) return judgements;
  const candidates = candidatesOf(grants, plans, judgements, at);
  if (candidates.every(({ length }) => length === 0)) return judgements;
  return coverAll({ ports, grants, commandId, at, budget: { left: budgetOfRequest } }, plans, judgements, candidates);
}

/**
 * The judgements as {@link coverByGrants} would return them now, without taking a use: a request that quotas refuse must
 * take none. Without quotas it returns the judgements as they are.
 */
export async function foreseeCover(
  ports: CommandPorts,
  plans: readonly Plan[],
  judgements: readonly Judgement[],
  at: number,
): Promise<readonly Judgement[]> {
  const { grants, policies } = ports;
  const [first] = plans;
  if (grants === undefined || first === undefined || policies.of(first.proposal.tenant).quotas === null)
    return judgements;
  const candidates = candidatesOf(grants, plans, judgements, at);
  const budget: Budget = { left: budgetOfRequest };
  const uses = new Map<string, number>();
  const foreseen: Judgement[] = [];
  for (const [index, judgement] of judgements.entries()) {
    const plan = plans[index];
    const usable = plan === undefined ? [] : usableFor(ports, plan, judgement, candidates[index] ?? [], at);
    const grant = plan === undefined ? undefined : await foreseeOne(ports, plan, judgement, usable, { uses, budget });
    foreseen.push(grant === undefined ? judgement : granted(judgement, grant));
  }
  return foreseen;
}

/** The grant that would cover the call, whose use is then counted. `uses`: those that the calls before it would take. */
async function foreseeOne(
  ports: CommandPorts,
  plan: Plan,
  { mightBeBlockedBy }: Judgement,
  usable: readonly Grant[],
  { uses, budget }: { readonly uses: Map<string, number>; readonly budget: Budget },
): Promise<Grant | undefined> {
  if (mightBeBlockedBy !== undefined) return undefined;
  const grant = await firstMatch(ports, plan, usable.filter(hasUse(plan, uses)), budget);
  if (grant !== undefined) uses.set(grant.terms.grantId, usesOf(grant, uses) + 1);
  return grant;
}

function hasUse({ callId }: Plan, uses: ReadonlyMap<string, number>): (grant: Grant) => boolean {
  return (grant) => grant.callIds.includes(callId) || !isExhausted({ ...grant, uses: usesOf(grant, uses) });
}

function usesOf(grant: Grant, uses: ReadonlyMap<string, number>): number {
  return uses.get(grant.terms.grantId) ?? grant.uses;
}

async function firstMatch(
  ports: CommandPorts,
  plan: Plan,
  grants: readonly Grant[],
  budget: Budget,
): Promise<Grant | undefined> {
  for (const grant of grants) if (await matchesArguments(ports, grant.terms, plan, budget)) return grant;
  return undefined;
}

function candidatesOf(
  grants: GrantPorts,
  plans: readonly Plan[],
  judgements: readonly Judgement[],
  at: number,
): readonly (readonly Grant[])[] {
  return plans.map(({ state, proposal: { tenant, toolName } }, index) =>
    state.status === 'unrequested' && judgements[index]?.verdict.outcome === 'require'
      ? grants.index.live(tenant, toolName, at)
      : [],
  );
}

interface Covering {
  readonly ports: CommandPorts;
  readonly grants: GrantPorts;
  readonly commandId: string;
  readonly at: number;
  readonly budget: Budget;
}

async function coverAll(
  covering: Covering,
  plans: readonly Plan[],
  judgements: readonly Judgement[],
  candidates: readonly (readonly Grant[])[],
): Promise<readonly Judgement[]> {
  const covered: Judgement[] = [];
  for (const [index, judgement] of judgements.entries()) {
    const plan = plans[index];
    const of = candidates[index] ?? [];
    covered.push(plan === undefined || of.length === 0 ? judgement : await coverOne(covering, plan, judgement, of));
  }
  return covered;
}

async function coverOne(
  covering: Covering,
  plan: Plan,
  judgement: Judgement,
  candidates: readonly Grant[],
): Promise<Judgement> {
  const { ports, at, budget } = covering;
  const { callId, proposal, policyCall } = plan;
  const call: GrantedCall = { proposal, policyCall, requirement: judgement.requirement };
  const usable = usableFor(ports, plan, judgement, candidates, at);
  if (usable.length === 0 || (await isRecorded(ports, callId))) return judgement;
  // Attack: arguments on which the expression of a blocking rule has no answer, so that a grant covers the call.
  if (judgement.mightBeBlockedBy !== undefined) return uncovered(judgement, judgement.mightBeBlockedBy);
  let tries = 0;
  for (const grant of usable) {
    if (tries === triesMax) break;
    if (!(await matchesArguments(ports, grant.terms, call, budget))) continue;
    tries += 1;
    if (await takeUse(covering, grant, call)) return granted(judgement, grant);
  }
  return judgement;
}

function usableFor(
  ports: CommandPorts,
  { callId, proposal, policyCall }: Plan,
  { requirement }: Judgement,
  candidates: readonly Grant[],
  at: number,
): readonly Grant[] {
  const call: GrantedCall = { proposal, policyCall, requirement };
  return candidates.filter((grant) => mayStillCover(grant, callId) && isInReach(ports, grant, call, at));
}

function mayStillCover(grant: Grant, callId: string): boolean {
  return grant.status === 'active' && (!isExhausted(grant) || grant.callIds.includes(callId));
}

/** A process that records without a read does not know it, and a repeat of a call must take no use. */
async function isRecorded({ handler, writeOnly }: CommandPorts, callId: string): Promise<boolean> {
  return writeOnly === true && (await handler.load(toolCallStream(callId))).state.status === 'recorded';
}

/**
 * Resolves to whether the call holds a use of the grant. Another process may have revoked the grant or taken its last
 * use: then the append at the expected revision finds it.
 */
async function takeUse({ ports, grants, commandId }: Covering, grant: Grant, call: GrantedCall): Promise<boolean> {
  const { grantId, tenant } = grant.terms;
  const { callId, runId } = call.proposal;
  const { clock } = ports;
  const decide = (state: GrantState) =>
    (ports.decideGrant ?? grantDecider.decide)({ type: 'UseGrant', at: clock.now(), callId, runId }, state);
  const meta = { tenant, callId: null, runId: null, commandId: `${commandId}:${callId}` };
  const taken = await grants.handler.handleCommand(grantStream(grantId), decide, meta);
  crashPoint('grant.used');
  // A repeat of the command is accepted without a decision.
  return taken.status === 'accepted' && (taken.events.length > 0 || holdsUse(taken.state, callId, clock.now()));
}

function uncovered(judgement: Judgement, ruleId: string): Judgement {
  const why = [...judgement.verdict.why, `no grant covers it, because "${ruleId}" might block the call`];
  return { ...judgement, verdict: { ...judgement.verdict, why } };
}

function granted({ verdict, requirement }: Judgement, { terms: { grantId, createdBy } }: Grant): Judgement {
  const why = [...verdict.why, `covered by the grant ${grantId} of ${createdBy}`];
  return { verdict: { ...verdict, outcome: 'allow', automatic: true, why, grantId }, requirement };
}
