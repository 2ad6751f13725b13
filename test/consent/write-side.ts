import { celEngine } from '@countersign/cel';
import * as api from '@countersign/commands';
import type { Actor, CommandPorts, Result, Role } from '@countersign/commands';
import { approvalIdOf, deriveCallId, proposalDigest, toolCallStream } from '@countersign/contracts';
import { callState, currentApproval, currentProposal, digestInputOf, dueAt } from '@countersign/domain';
import type { Approval, ToolCall } from '@countersign/domain';
import { createSimulatedEventStore } from '@countersign/event-store/testing';
import { createLivePolicies, loadPolicy } from '@countersign/policy';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import type { Answer, Command, Content, Policy, Shown } from './words.ts';
import { alterRule } from './defences.ts';
import type { Defence } from './defences.ts';
import { people, policyFile } from './world.ts';

/** What the model is compared with. */
export interface Subject {
  readonly run: (command: Command) => Promise<Answer>;
  readonly close: () => Promise<void>;
}

const actor = (principal: string, role: Role): Actor => ({
  ...{ tenant: 'default', principal, roles: new Set([role]), groups: [] },
  ...{ agentIds: ['*'], via: 'api', assurance: 'medium' },
});

const loaded = new Map<string, ReturnType<typeof loadPolicy>>();

function policyOf(policy: Policy, identities: ReadonlyMap<string, string>): ReturnType<typeof loadPolicy> {
  const file = policyFile(policy, identities);
  const known = loaded.get(file) ?? loadPolicy('policy.json', file, celEngine);
  loaded.set(file, known);
  return known;
}

/** The rules of the domain, the policy and the commands, over a store in memory and with a clock that stands still. */
export function openWriteSide(first: Policy, without: Defence | null = null): Subject {
  const identities = new Map<string, string>();
  let policy = first;
  const clock = createVirtualClock();
  const store = createSimulatedEventStore({ clock });
  const policies = createLivePolicies(policyOf(first, identities));
  const removed = new Set<string>();
  const written: CommandPorts = api.createWriteSide({
    ...{ store, policies, ids: createSystemIds(), log: createSilentLog() },
    tools: { find: () => undefined },
    people: {
      approver: (_, principal) =>
        removed.has(principal) || people[principal] === undefined
          ? undefined
          : { groups: people[principal], isAway: false },
      approvers: () => Object.keys(people).filter((one) => !removed.has(one)),
      names: () => [],
    },
  });
  const ports: CommandPorts = { ...written, alterRule: alterRule(without) };
  const cached = new Map<string, Result<unknown>>();
  const calls = new Set<number>();
  const digests = new Map<string, string>();
  let commands = 0;
  const nextId = (): string => `command-${String(++commands)}`;
  const idOf = (call: number): string => deriveCallId('default', 'run-1', `call-${String(call)}`);
  const stateOf = async (call: number): Promise<ToolCall | undefined> => {
    const { state } = await ports.handler.load(toolCallStream(idOf(call)));
    return state.status === 'recorded' ? state : undefined;
  };
  const approvalOf = async (call: number): Promise<string> => {
    const state = await stateOf(call);
    return (state && currentApproval(state)?.approvalId) ?? approvalIdOf(idOf(call), 1);
  };
  const shown = async (): Promise<ReadonlyMap<number, Shown>> => {
    const entries = await Promise.all([...calls].map(async (call) => [call, await stateOf(call)] as const));
    return new Map(
      entries.flatMap(([call, state]) => (state === undefined ? [] : [[call, toShown(state, without)] as const])),
    );
  };

  const remember = (state: ToolCall | undefined): void => {
    const digest = state && digestOf(state);
    const approval = state && currentApproval(state);
    if (approval?.proposals.length === 1 && digest !== undefined) digests.set(approval.approvalId, digest);
  };

  const execute = async (command: Command): Promise<{ result: Result<unknown> | null; claimed?: number }> => {
    switch (command.type) {
      case 'request': {
        calls.add(command.call);
        const body = {
          runId: 'run-1',
          ...(command.onBehalfOf !== null && { onBehalfOf: command.onBehalfOf }),
          calls: [
            {
              toolCallId: `call-${String(command.call)}`,
              toolName: 'pay',
              arguments: { amount: command.amount },
              idempotent: command.call > 1,
              ...(command.expiresIn !== null && { expiresInMs: command.expiresIn * 1_000 }),
            },
          ],
        };
        const result = await api.requestToolCalls(ports, actor('agent', 'agent'), body, nextId());
        const state = await stateOf(command.call);
        remember(state);
        return { result };
      }
      case 'ask': {
        const body = command.expiresIn === null ? {} : { expiresInMs: command.expiresIn * 1_000 };
        const result = await api.requestApproval(ports, actor('agent', 'agent'), idOf(command.call), body, nextId());
        const state = await stateOf(command.call);
        remember(state);
        return { result };
      }
      case 'respond': {
        if (removed.has(command.by)) return { result: api.refused('not-an-approver', 'removed') };
        const approvalId = await approvalOf(command.call);
        const state = await stateOf(command.call);
        const { decision } = command;
        const current = state && digestOf(state);
        const digest =
          command.seen === 'first' ? digests.get(approvalId) : command.seen === 'current' ? current : undefined;
        const body = {
          decision:
            decision.type === 'edit'
              ? { type: 'edit' as const, arguments: { amount: decision.amount } }
              : decision.type === 'answer'
                ? { type: 'answer' as const, output: decision.text }
                : { type: decision.type },
          ...(command.instruction !== null && { instruction: command.instruction }),
          ...(digest !== undefined && without !== 'shown-digest' && { proposalDigest: digest }),
        };
        return { result: await api.respond(ports, actor(command.by, 'approver'), approvalId, body, nextId()) };
      }
      case 'withdraw':
        return {
          result: await api.withdraw(ports, actor(command.by, 'approver'), await approvalOf(command.call), nextId()),
        };
      case 'cancel':
        return { result: await api.cancelToolCall(ports, actor('agent', 'agent'), idOf(command.call), 'no', nextId()) };
      case 'claim': {
        const key = `${String(command.call)} ${command.key}`;
        const body = { resolverId: 'r', leaseMs: 60_000 };
        const result =
          (without === 'fresh-claims' ? cached.get(key) : undefined) ??
          (await api.claim(ports, actor('worker', 'resolver'), idOf(command.call), body, command.key));
        cached.set(key, structuredClone(result));
        return { result, claimed: command.call };
      }
      case 'report': {
        const state = await stateOf(command.call);
        const attempt = state?.execution.status === 'claimed' ? state.execution.attempt : 1;
        const outcome = { attempt, status: 'succeeded', output: 'paid' } as const;
        return {
          result: await api.reportExecution(ports, actor('worker', 'resolver'), idOf(command.call), outcome, nextId()),
        };
      }
      case 'reconcile': {
        const body = { status: command.as, note: 'looked it up' };
        return { result: await api.reconcile(ports, actor('admin', 'admin'), idOf(command.call), body, nextId()) };
      }
      case 'wait':
        clock.advance(command.seconds * 1_000);
        for (const call of calls) await fireAll(call);
        return { result: null };
      case 'remove':
        removed.add(command.person);
        return { result: null };
      case 'identify':
        if (without !== 'one-person') identities.set(command.as, command.person);
        policies.activate(policyOf(policy, identities));
        return { result: null };
      case 'policy':
        policy = command.policy;
        policies.activate(policyOf(policy, identities));
        return { result: null };
    }
  };
  const fireAll = async (call: number): Promise<void> => {
    for (;;) {
      const state = await stateOf(call);
      const due = state && dueAt(state);
      if (due === undefined || due === null || due.atMs > clock.now()) return;
      if ((await api.fireDue(ports, 'default', idOf(call))) === null) return;
    }
  };
  return {
    run: async (command) => {
      const { result, claimed } = await execute(command);
      const refused = result?.status === 'refused' ? result.refusal.code : null;
      const after = await shown();
      const claim =
        claimed !== undefined && result?.status === 'done'
          ? toClaim(result.value, after.get(claimed), without)
          : undefined;
      return { refused, calls: after, ...(claim !== undefined && { claim }) };
    },
    close: () => store.close(),
  };
}

/** A tool gets a copy, as from the resolver, and writes into it, as many do. */
function toClaim(value: unknown, shown: Shown | undefined, without: Defence | null): Answer['claim'] {
  const given = value as { attempt: number; arguments: { amount: number } };
  const { attempt, arguments: args } = without === 'copies' ? given : structuredClone(given);
  const { amount } = args;
  args.amount = -1;
  return { amount, attempt, instruction: shown?.instruction ?? null };
}

function digestOf(state: ToolCall): string | undefined {
  const approval = currentApproval(state);
  return approval && proposalDigest(digestInputOf(approval, state.request.salt));
}

function toShown(state: ToolCall, without: Defence | null): Shown {
  const approval = currentApproval(state);
  const action = without === 'request-shown' && approval ? currentProposal(approval).action : state.action;
  const { amount } = action.arguments as { amount: number };
  return {
    state: callState(state) ?? '',
    amount,
    instruction:
      without === 'counted-instructions'
        ? (approval?.votes.find(({ instruction }) => instruction !== null)?.instruction ?? null)
        : state.instruction,
    approval:
      approval === undefined
        ? null
        : {
            ...{ state: approval.resolution.status, round: approval.round, content: contentOf(approval) },
            digest: digestOf(state) ?? '',
          },
  };
}

function contentOf(approval: Approval): Content {
  const { kind, action, output } = currentProposal(approval);
  return kind === 'answer'
    ? { kind, text: output as string }
    : { kind, amount: (action.arguments as { amount: number }).amount };
}
