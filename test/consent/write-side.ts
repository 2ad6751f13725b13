import { celEngine } from '@countersign/cel';
import * as api from '@countersign/commands';
import type { CommandPorts } from '@countersign/commands';
import { grantStream, toolCallStream } from '@countersign/contracts';
import { currentApproval } from '@countersign/domain';
import type { Grant } from '@countersign/domain';
import { createSealedStore } from '@countersign/event-store';
import { createSimulatedEventStore } from '@countersign/event-store/testing';
import { createConditions, createLivePolicies } from '@countersign/policy';
import { createSystemIds } from '@countersign/runtime';
import { createSilentLog, createVirtualClock } from '@countersign/runtime/testing';
import { alterRule, alterStreams } from './defences.ts';
import type { Defence } from './defences.ts';
import { createMemoryKeys } from './memory-keys.ts';
import { grantIndexOf, historyOf } from './recorded.ts';
import type { Recorded } from './recorded.ts';
import { idOf } from './requests.ts';
import { digestOf, fromArguments, toShown, wholeOf } from './shown.ts';
import type { Deciders, Subject } from './subject.ts';
import type { Answer, Command, Policy, Shown } from './words.ts';
import { createBackground } from './write-side-background.ts';
import { createDoing } from './write-side-commands.ts';
import { everybody, peopleOf, personOf, worker } from './write-side-people.ts';
import { policyOf } from './write-side-world.ts';
import type { Done, Loaded, Tokens, World } from './write-side-world.ts';
import { startAt } from './world.ts';

/** The rules of the domain, the policy and the commands, over a store in memory and with a clock that stands still. */
export function openWriteSide(first: Policy, without: Defence | null = null): Subject {
  const clock = createVirtualClock(startAt);
  const simulated = createSimulatedEventStore({ clock });
  const keys = createMemoryKeys();
  const log = createSilentLog();
  const store = createSealedStore(simulated, { keys, log });
  const policies = createLivePolicies(policyOf(first, new Map(), without));
  const tokens: Tokens = { removed: new Set(), renewed: new Map(), desk: null };
  const recorded: Recorded = { calls: [], grants: [] };
  const written: CommandPorts = api.createWriteSide({
    ...{ store, policies, ids: createSystemIds(), log },
    tools: { find: () => undefined },
    grants: { index: grantIndexOf(recorded, without), conditions: () => Promise.resolve(createConditions(celEngine)) },
    history: historyOf(recorded, without),
    people: peopleOf(tokens, without),
  });
  /** As a store that was opened again: what was recorded before it was asked when people could not respond all the time. */
  let missedUntil = -Infinity;
  const missedSince = (at: number): boolean =>
    written.clock.missedSince?.(at) === true || (without !== 'time-before-start' && at <= missedUntil);
  let aheadMs = 0;
  const now = (): number => written.clock.now() + (without === 'store-time' ? aheadMs : 0);
  const ports: CommandPorts = {
    ...{ ...written, clock: { ...written.clock, missedSince, now } },
    ...{ alterRule: alterRule(without), ...alterStreams(without) },
  };
  const calls = new Set<number>();
  const load = async (call: number): Promise<Loaded | undefined> => {
    const { state, position } = await ports.handler.load(toolCallStream(idOf(call)));
    return state.status === 'recorded' ? { state, position } : undefined;
  };
  let commands = 0;
  const world: World = {
    ...{
      ports,
      store,
      clock,
      policies,
      tokens,
      without,
      calls,
      grants: [],
      recorded,
      firstDigests: new Map(),
      firstWhole: new Map(),
    },
    stateOf: async (call) => (await load(call))?.state,
    loadAll: async () => (await Promise.all([...calls].map(load))).flatMap((one) => one ?? []),
    erase: (isMeant) => {
      // A grant that names no call has a key of its own.
      keys.erase((subject) => !subject.startsWith('grant:') && isMeant((JSON.parse(subject) as readonly [string])[0]));
      api.forgetStreams(ports);
    },
    drift: (seconds) => {
      aheadMs = seconds * 1_000;
    },
    restart: async () => {
      const [newest] = await simulated.readAll(Math.max(0, (await simulated.head()) - 1), 1);
      missedUntil = Math.max(missedUntil, newest === undefined ? startAt : Date.parse(newest.recordedAt));
      api.forgetStreams(ports);
    },
    nextId: () => `command-${String(++commands)}`,
  };
  const execute = createDoing(world, first);
  const background = createBackground(world, worker);
  return {
    run: async (command) => {
      const done = await execute(command);
      recorded.calls = (await background.settle()).map(({ state }) => state);
      recorded.grants = await grantsOf(world);
      rememberDigests(world);
      return answerOf(world, recorded, command, done);
    },
    deciders: () => Promise.resolve(decidersOf(world, recorded)),
    close: () => simulated.close(),
  };
}

/** A person may have looked at each first proposal, whatever comes later. */
function rememberDigests({ recorded, firstDigests, firstWhole }: World): void {
  for (const state of recorded.calls) {
    const approval = currentApproval(state);
    if (approval?.proposals.length !== 1 || firstDigests.has(approval.approvalId)) continue;
    firstDigests.set(approval.approvalId, digestOf(state) ?? '');
    firstWhole.set(approval.approvalId, wholeOf(state, approval));
  }
}

async function grantsOf({ ports, grants }: World): Promise<readonly Grant[]> {
  if (grants.length === 0) return [];
  const loaded = await Promise.all(grants.map(async (id) => ports.grants?.handler.load(grantStream(id))));
  return loaded.flatMap((one) => (one === undefined || one.state.status === 'unknown' ? [] : [one.state]));
}

function decidersOf({ ports, tokens, calls }: World, recorded: Recorded): Deciders {
  const all = new Map<number, string[]>();
  for (const call of calls) {
    const state = recorded.calls.find(({ request }) => request.callId === idOf(call));
    const approval = state && currentApproval(state);
    if (state === undefined || approval?.resolution.status !== 'pending') continue;
    const mayNow = (one: string): boolean =>
      api.mayDecide(ports, personOf(tokens, one), state, approval.approvalId).now;
    const found = everybody(tokens).filter(mayNow);
    if (found.length > 0) all.set(call, found);
  }
  return all;
}

function answerOf(
  { ports, calls, grants, clock, without }: World,
  recorded: Recorded,
  command: Command,
  { result, mayDecide }: Done,
): Answer {
  const byId = new Map(recorded.calls.map((state) => [state.request.callId, state]));
  const shown = new Map<number, Shown>();
  for (const call of calls) {
    const state = byId.get(idOf(call));
    if (state !== undefined) shown.set(call, toShown(api.withVotesNow(ports, state), grants, without));
  }
  const claim =
    command.type === 'claim' && result?.status === 'done'
      ? toClaim(result.value, shown.get(command.call), without)
      : undefined;
  return {
    refused: result?.status === 'refused' ? result.refusal.code : null,
    calls: shown,
    grants: recorded.grants.map((grant) => ({ isActive: isActive(grant, clock.now()), uses: grant.uses })),
    leaked: null,
    ...(claim !== undefined && { claim }),
    ...(mayDecide !== undefined && { mayDecide }),
  };
}

function isActive({ status, uses, terms }: Grant, now: number): boolean {
  return status === 'active' && Date.parse(terms.expiresAt) > now && uses < (terms.maxUses ?? Infinity);
}

/** A tool gets a copy, as from the resolver, and writes into it, as many do. */
function toClaim(value: unknown, shown: Shown | undefined, without: Defence | null): Answer['claim'] {
  const given = value as { attempt: number; arguments: { amount: number } };
  const { attempt } = given;
  const args = without === 'copies' ? given.arguments : structuredClone(given.arguments);
  const claimed = fromArguments(args);
  args.amount = -1;
  return { ...claimed, attempt, instruction: shown?.instruction ?? null };
}
