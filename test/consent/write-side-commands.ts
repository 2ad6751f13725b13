import * as api from '@countersign/commands';
import type { Actor, Result } from '@countersign/commands';
import { approvalIdOf, hiddenByName, hiddenValues, isSettled, maskAt, maskEdited } from '@countersign/contracts';
import type { JsonObject, RespondBody, RespondInBulkBody } from '@countersign/contracts';
import { callState, currentApproval, currentProposal } from '@countersign/domain';
import type { Action, Approval, Grant, ToolCall } from '@countersign/domain';
import { decisionBody } from './decision-body.ts';
import type { Defence } from './defences.ts';
import { grantBody, idOf, rememberBody, requestBody, runOfCommand } from './requests.ts';
import { digestOf, wholeOf } from './shown.ts';
import { leaseMs } from './subject.ts';
import type { Agent, ApproveAll, Command, Policy, Respond } from './words.ts';
import { isOfDesk } from './world.ts';
import { cancelRunOf } from './write-side-background.ts';
import { admin, agents, changeDesk, endPerson, isGone, personOf, worker } from './write-side-people.ts';
import { fireAll, policyOf } from './write-side-world.ts';
import type { Done, World } from './write-side-world.ts';

type Of<Type extends Command['type']> = Extract<Command, { type: Type }>;

type Digests = Pick<RespondBody, 'proposalDigest' | 'shownDigest'>;

const gone: Done = { result: api.refused('unauthenticated', 'removed') };

/** Executes the commands of the model. */
export function createDoing(world: World, first: Policy): (command: Command) => Promise<Done> {
  const { ports, calls, grants, tokens, firstDigests, stateOf, nextId, without } = world;
  const person = (principal: string): Actor => personOf(tokens, principal, without);
  const files = { policy: first, identities: new Map<string, string>() };
  const cached = new Map<string, Result<unknown>>();
  const approvalOf = async (call: number): Promise<string> => {
    const state = await stateOf(call);
    return (state && currentApproval(state)?.approvalId) ?? approvalIdOf(idOf(call), 1);
  };
  /** Without its defence a repeat of a command gets the answer of the first one. */
  const answered = async (defence: Defence, command: Command, run: () => Promise<Result<unknown>>): Promise<Done> => {
    if (without !== defence) return { result: await run() };
    const id = JSON.stringify(command);
    const result = cached.get(id) ?? (await run());
    // Its receipt is a function, which no cache keeps.
    cached.set(id, structuredClone(withoutReceipt(result)));
    return { result };
  };
  const claimed = (command: Of<'claim'>): Promise<Done> => {
    const key = without === 'own-keys' ? 'the key of all' : command.key;
    const body = { resolverId: 'r', leaseMs };
    return answered('fresh-claims', command, () => api.claim(ports, worker, idOf(command.call), body, key));
  };
  const extended = (command: Of<'extend'>): Promise<Done> => {
    const body = { attempt: command.attempt, leaseMs };
    return answered('fresh-renewals', command, () => api.renewClaim(ports, worker, idOf(command.call), body, nextId()));
  };
  const given = (result: Result<Grant | null>): Done => {
    const { grantId } = (result.status === 'done' ? result.value?.terms : null) ?? {};
    if (grantId !== undefined && !grants.includes(grantId)) grants.push(grantId);
    return { result };
  };
  const responded = async (command: Respond): Promise<Done> => {
    const [approvalId, state] = [await approvalOf(command.call), await stateOf(command.call)];
    const by = person(command.by);
    const mayDecide = state === undefined ? false : api.mayDecide(ports, by, state, approvalId).now;
    const body = responseBody(command, state, state && shownTo(command.seen, approvalId, state));
    const { remember: wanted } = command;
    if (wanted === null) {
      const respond = () => api.respond(ports, by, approvalId, body, nextId());
      return { ...(await answered('fresh-responses', command, respond)), mayDecide };
    }
    const remembering = { ...body, remember: rememberBody(wanted) };
    return { ...given(await api.respondAndRemember(ports, by, approvalId, remembering, nextId())), mayDecide };
  };
  /** The digest that a person sends. */
  const shownTo = (seen: Respond['seen'], approvalId: string, state: ToolCall): Digests => {
    const approval = currentApproval(state);
    const now = approval && (api.lostVotes(ports, state, approval)?.now ?? approval);
    const proposal = { first: firstDigests.get(approvalId), current: digestOf(state) };
    const whole = { whole: now && wholeOf(state, now), early: world.firstWhole.get(approvalId) };
    if (seen === 'whole' || seen === 'early') return without === 'shown-words' ? {} : { shownDigest: whole[seen] };
    return seen === 'none' || without === 'shown-digest' ? {} : { proposalDigest: proposal[seen] };
  };
  const approvedAll = async ({ calls: of, by, seen }: ApproveAll): Promise<Done> => {
    const found = await Promise.all(
      of.map(async (call) => {
        const [approvalId, state] = [await approvalOf(call), await stateOf(call)];
        return [approvalId, seen === 'first' ? firstDigests.get(approvalId) : state && digestOf(state)] as const;
      }),
    );
    const shown = found.flatMap(([id, digest]) => (digest === undefined ? [] : [[id, digest] as const]));
    const body: RespondInBulkBody = {
      ...{ approvalIds: found.map(([id]) => id), decision: { type: 'approve' }, mode: 'all-or-nothing' },
      ...(without !== 'step-digests' && { proposalDigests: Object.fromEntries(shown) }),
    };
    const result = await api.respondInBulk(ports, person(by), body, nextId());
    const refused = result.status === 'done' ? result.value.find(({ status }) => status === 'refused') : undefined;
    return { result: refused?.status === 'refused' ? { status: 'refused', refusal: refused.refusal } : result };
  };
  const onGrant = async ({ type, grant, by }: Of<'confirm' | 'revoke'>): Promise<Done> => {
    const grantId = grants[grant] ?? 'grn_none';
    return {
      result:
        type === 'confirm'
          ? await api.confirmGrant(ports, person(by), grantId, nextId())
          : await api.revokeGrant(ports, person(by), { grantId }, nextId()),
    };
  };
  const withdrawn = async ({ call, by }: Of<'withdraw'>): Promise<Done> => {
    const { vouchedBy, ...rest } = person(by);
    const isVouched = vouchedBy !== undefined && without !== 'own-withdrawals';
    const who = isVouched ? { ...rest, vouchedBy } : rest;
    return { result: await api.withdraw(ports, who, await approvalOf(call), nextId()) };
  };
  const waited = async (seconds: number, pass = world.clock.advance): Promise<Done> => {
    pass(seconds * 1_000);
    for (const call of calls) await fireAll(world, call);
    return { result: null };
  };
  const identified = ({ person: name, as }: Of<'identify'>): void => {
    const isLeftOut = without === 'one-person' || (without === 'names-at-desk' && isOfDesk(name));
    if (!isLeftOut) files.identities.set(name, as);
  };
  const changed = (): Promise<Done> => {
    world.policies.activate(policyOf(files.policy, files.identities, without));
    return waited(1);
  };
  return async (command) => {
    if ('by' in command && isGone(tokens, command.by)) return gone;
    switch (command.type) {
      case 'request': {
        for (const { call } of command.calls) calls.add(call);
        return { result: await api.requestToolCalls(ports, agents[command.by], requestBody(command), nextId()) };
      }
      case 'ask': {
        const body = command.expiresIn === null ? {} : { expiresInMs: command.expiresIn * 1_000 };
        return { result: await api.requestApproval(ports, agents[command.by], idOf(command.call), body, nextId()) };
      }
      case 'respond':
        return responded(command);
      case 'approve-all':
        return approvedAll(command);
      case 'output': {
        const body = { status: 'succeeded', output: 'paid' } as const;
        return { result: await api.submitClientOutput(ports, agents[command.by], idOf(command.call), body, nextId()) };
      }
      case 'withdraw':
        return withdrawn(command);
      case 'cancel':
        return answered('fresh-cancellations', command, () =>
          api.cancelToolCall(ports, agents[command.by], idOf(command.call), 'no', nextId()),
        );
      case 'cancel-run':
        return { result: await cancelRunOf(world, agents[command.by], runOfCommand(command.run)) };
      case 'claim':
        return claimed(command);
      case 'extend':
        return extended(command);
      case 'report':
        return reported(world, command.call);
      case 'reconcile': {
        const body = { status: command.as, note: 'looked it up' };
        return { result: await api.reconcile(ports, admin, idOf(command.call), body, nextId()) };
      }
      case 'grant':
        return given(await api.createGrant(ports, person(command.by), grantBody(command), nextId()));
      case 'confirm':
      case 'revoke':
        return onGrant(command);
      case 'erase':
        return erased(world, command);
      case 'wait':
        return waited(command.seconds);
      case 'stop':
        return waited(command.seconds, world.clock.jump);
      case 'restart':
        await world.restart();
        return { result: null };
      case 'drift':
        world.drift(command.seconds);
        return { result: null };
      case 'remove':
        tokens.removed.add(command.person);
        return { result: null };
      case 'renew':
        tokens.renewed.set(command.person, (tokens.renewed.get(command.person) ?? 0) + 1);
        return { result: null };
      case 'desk':
        changeDesk(world, command);
        return { result: null };
      case 'end-person':
        return { result: await endPerson(world, command) };
      case 'identify':
        identified(command);
        return changed();
      case 'policy':
        files.policy = command.policy;
        return changed();
    }
  };
}

function responseBody(
  { decision, instruction }: Respond,
  state: ToolCall | undefined,
  digests: Digests = {},
): RespondBody {
  return {
    decision: decisionBody(decision, maskOf(state)),
    ...(instruction !== null && { instruction }),
    ...digests,
  };
}

function maskOf(state: ToolCall | undefined): string | null {
  const approval = state && currentApproval(state);
  if (state === undefined || approval === undefined) return null;
  const { arguments: args, sensitive, salt, actionDigest } = askedAction(approval);
  const mask = actionDigest === state.request.actionDigest ? maskAt : maskEdited;
  const shown = mask(args, sensitive, salt) as JsonObject & { readonly password?: string };
  return shown.password ?? null;
}

function askedAction(approval: Approval): Action {
  return currentProposal(approval).action;
}

async function reported({ ports, stateOf, nextId }: World, call: number): Promise<Done> {
  const state = await stateOf(call);
  const attempt = state?.execution.status === 'claimed' ? state.execution.attempt : 1;
  const outcome = { attempt, status: 'succeeded', output: 'paid' } as const;
  return { result: await api.reportExecution(ports, worker, idOf(call), outcome, nextId()) };
}

/** Whether hidden values of a call are recorded, and whose they are. */
function isMeant({ request, approvals }: ToolCall, of: Agent | null): boolean {
  const hides = ({ arguments: args, sensitive }: Pick<Action, 'arguments' | 'sensitive'>): boolean =>
    hiddenValues(args, sensitive).length > 0;
  const proposals = approvals.flatMap((one) => one.proposals);
  const isHidden =
    [request, ...proposals.map(({ action }) => action)].some(hides) ||
    proposals.some(({ output }) => hiddenByName(output).length > 0);
  return (of === null || request.requestedBy === of) && isHidden;
}

/** Erases the hidden values of one principal, or of all, once no call that has them is open. */
async function erased(world: World, { of, force }: Of<'erase'>): Promise<Done> {
  const { ports, calls, stateOf, nextId } = world;
  const open = async (): Promise<readonly number[]> => {
    const found: number[] = [];
    for (const call of calls) {
      const state = await stateOf(call);
      if (state !== undefined && isMeant(state, of) && !isSettled(callState(state) ?? 'allowed')) found.push(call);
    }
    return found;
  };
  if (force) for (const call of await open()) await api.cancelToolCall(ports, admin, idOf(call), 'erased', nextId());
  const left = await open();
  if (left.length > 0) return { result: api.refused('calls-open', 'some calls are open') };
  world.erase((principal) => of === null || principal === of);
  return { result: null };
}

function withoutReceipt(result: Result<unknown>): Result<unknown> {
  if (result.status === 'refused') return result;
  const { receipt: _, ...cached } = result as typeof result & { readonly receipt?: unknown };
  return cached;
}
