import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { approvalIdOf, deriveCallId, isReadable, toolCallStream } from '@countersign/contracts';
import type { Decision } from '@countersign/contracts';
import * as api from './commands.js';
import { shownCardOf } from './people/shown-card.js';
import type { CommandPorts, People } from './ports.js';
import { actor, agent, alice, codeOf, done, openPolicyWorld } from './testing/policy-world.js';
import type { PolicyWorld } from './testing/policy-world.js';
import { register, signed, signedIn } from './testing/signers.js';
import type { WriteSidePorts } from './write-side.js';

let world: PolicyWorld;
let last = 0;
const id = (): string => `command-${String(++last)}`;
const bob = actor('bob', 'approver');
const worker = actor('worker', 'resolver');
const callId = deriveCallId('default', 'run-1', 'c');
const stream = toolCallStream(callId);
const approvalId = (round = 1): string => approvalIdOf(callId, round);

beforeEach(async () => {
  world = await openPolicyWorld(`
rules:
  - { id: two, match: { tools: [two] }, then: { require: { quorum: { approve: 2, deny: 2 } } } }
  - { id: signed, match: { tools: [signed] }, then: { require: { requireSignature: true } } }
  - { id: one, then: { require: { expiresIn: 1m } } }`);
});
afterEach(() => world.close());

const ask = async (toolName: string, args = {}): Promise<void> => {
  const calls = [{ toolCallId: 'c', toolName, arguments: args }];
  done(await api.requestToolCalls(world.commands, agent, { runId: 'run-1', calls }, id()));
};

/** Another process, which stands still between its decision and its append while something happens in the first one. */
function stopped(meanwhile: () => unknown, options: Partial<WriteSidePorts> = {}): CommandPorts {
  let isFirst = true;
  const append: PolicyWorld['store']['append'] = async (to, ...given) => {
    if (isFirst && to === stream) {
      isFirst = false;
      await meanwhile();
    }
    return world.store.append(to, ...given);
  };
  return world.another({ store: { ...world.store, append }, ...options });
}

const respond = (ports: CommandPorts, who: typeof alice, decision: Decision, more = {}) =>
  api.respond(ports, who, approvalId(), { decision, ...more }, id());
const approve: Decision = { type: 'approve' };
const first = (decision: Decision) => () => respond(world.commands, alice, decision).then(done);
const claim = (ports: CommandPorts) => api.claim(ports, worker, callId, { resolverId: 'w' }, id());
const cancel = () => api.cancelToolCall(world.commands, agent, callId, 'not wanted', id()).then(done);
const countOf = async (type: string): Promise<number> =>
  (await world.store.readStream(stream)).filter(isReadable).filter((event) => event.type === type).length;

describe('a process that stands still between its decision and its append', () => {
  it('gives a sequential call its turn once', async () => {
    const calls = [{ toolCallId: 'c', toolName: 'two', arguments: {} }];
    const body = { runId: 'run-1', batchMode: 'sequential' as const, calls };
    done(await api.requestToolCalls(world.commands, agent, body, id()));
    const turn = { tenant: 'default', callId, round: 1 };
    const ports = stopped(() => api.takeTurn(world.commands, turn));
    expect(await api.takeTurn(ports, turn)).not.toBeNull();
    expect(await countOf('ApprovalRequested')).toBe(1);
  });

  it('counts no vote for what another person edited meanwhile', async () => {
    await ask('two', { to: 'supplier' });
    const call = await api.findCall(world.commands, 'default', callId);
    const approval = call?.approvals.at(-1);
    if (call === undefined || approval === undefined) throw new Error('nobody is asked');
    const { proposalDigest } = shownCardOf(call, approval);
    const ports = stopped(first({ type: 'edit', arguments: { to: 'mallory' } }));
    expect(codeOf(await respond(ports, bob, approve, { proposalDigest }))).toBe('digest-mismatch');
    expect(await world.stateOf(callId)).toBe('awaiting_approval');
  });

  it('completes no quorum with a vote that was withdrawn meanwhile', async () => {
    await ask('two');
    await first(approve)();
    const ports = stopped(() => api.withdraw(world.commands, alice, approvalId(), id()).then(done));
    expect(codeOf(await respond(ports, bob, approve))).toBe('done');
    expect(await world.stateOf(callId)).toBe('awaiting_approval');
  });

  it('resolves nothing that was resolved meanwhile', async () => {
    await ask('one');
    expect(codeOf(await respond(stopped(first({ type: 'deny' })), bob, approve))).toBe('already-resolved');
    expect(await world.stateOf(callId)).toBe('denied');
  });

  it('approves nothing that was cancelled meanwhile', async () => {
    await ask('one');
    expect(codeOf(await respond(stopped(cancel), bob, approve))).toBe('already-resolved');
    expect(await world.stateOf(callId)).toBe('cancelled');
  });

  it('claims no call that was claimed meanwhile', async () => {
    await ask('one');
    await first(approve)();
    expect(codeOf(await claim(stopped(() => claim(world.commands).then(done))))).toBe('already-claimed');
    expect(await countOf('ExecutionClaimed')).toBe(1);
  });

  it('reveals the values of what was proposed meanwhile, and records that', async () => {
    await ask('two', { password: 'a' });
    const ports = stopped(first({ type: 'edit', arguments: { token: 'b' } }));
    const revealed = done(await api.reveal(ports, bob, approvalId(), id()));
    expect(revealed.arguments).toEqual({ token: 'b' });
    const looks = (await world.store.readStream(stream))
      .filter(isReadable)
      .filter(({ type }) => type === 'ValuesRevealed');
    expect(looks).toMatchObject([{ data: { revealedBy: 'bob', pointers: ['/token'] } }]);
  });

  it('ends an approval once, and asks once again', async () => {
    await ask('one');
    await world.clock.advanceAsync(60_000);
    await api.fireDue(
      stopped(() => api.fireDue(world.commands, 'default', callId)),
      'default',
      callId,
    );
    expect(await countOf('ApprovalExpired')).toBe(1);
    const again = (ports: CommandPorts) => api.requestApproval(ports, agent, callId, {}, id());
    expect(codeOf(await again(stopped(() => again(world.commands).then(done))))).toBe('already-pending');
    expect(await countOf('ApprovalRequested')).toBe(2);
  });
});

/** People of whom bob may lose the role. */
function peopleWithBob(): { readonly people: People; readonly remove: () => void } {
  let isBobGone = false;
  const approver: People['approver'] = (_, principal) =>
    isBobGone && principal === 'bob' ? undefined : { groups: [], isAway: false };
  return {
    people: { approver, approvers: () => undefined, names: () => [] },
    remove: () => {
      isBobGone = true;
    },
  };
}

/** A process in which something happens after it has read the passkeys for the first time. */
function readingPasskeys(ports: CommandPorts, meanwhile: () => unknown): CommandPorts {
  const { handler } = ports.passkeys;
  let isFirst = true;
  const load: typeof handler.load = async (of) => {
    const loaded = await handler.load(of);
    if (isFirst) {
      isFirst = false;
      await meanwhile();
    }
    return loaded;
  };
  return { ...ports, passkeys: { ...ports.passkeys, handler: { ...handler, load } } };
}

describe('a person who is removed while their answer is on the way', () => {
  const remove = (credentialId: string) => () =>
    api.removePasskey(world.commands, signedIn('bob'), credentialId, id()).then(done);
  const signature = async () => {
    const key = await register(world.commands, signedIn('bob'));
    await ask('signed');
    return { key, body: await signed(world.commands, key, { callId }, { decision: approve }) };
  };

  it('does not answer with a passkey that is removed while its signature is verified', async () => {
    const { key, body } = await signature();
    const ports = readingPasskeys(world.commands, remove(key.credentialId));
    expect(codeOf(await api.respond(ports, signedIn('bob'), approvalId(), body, id()))).toBe('signature-required');
    expect(await world.stateOf(callId)).toBe('awaiting_approval');
  });

  it('lets nothing run with a signature that is recorded after its passkey was removed', async () => {
    const { key, body } = await signature();
    done(await api.respond(stopped(remove(key.credentialId)), signedIn('bob'), approvalId(), body, id()));
    expect(codeOf(await claim(world.commands))).toBe('not-approved');
    const output = { status: 'succeeded', output: 1 } as const;
    expect(codeOf(await api.submitClientOutput(world.commands, agent, callId, output, id()))).not.toBe('done');
    expect(await countOf('ExecutionClaimed')).toBe(0);
  });

  it('lets run what was signed before its passkey was removed', async () => {
    const { key, body } = await signature();
    done(await api.respond(world.commands, signedIn('bob'), approvalId(), body, id()));
    await remove(key.credentialId)();
    done(await claim(world.commands));
  });

  it('does not answer when the role is gone at the second try to append', async () => {
    await ask('two');
    const { people, remove: removeBob } = peopleWithBob();
    const ports = stopped(() => first(approve)().then(removeBob), { people });
    expect(codeOf(await respond(ports, bob, approve))).toBe('forbidden');
    expect(await world.stateOf(callId)).toBe('awaiting_approval');
  });

  it('does not answer when the role is gone after their signature was verified', async () => {
    const { body } = await signature();
    const { people, remove: removeBob } = peopleWithBob();
    const ports = readingPasskeys(world.another({ people }), removeBob);
    expect(codeOf(await api.respond(ports, signedIn('bob'), approvalId(), body, id()))).toBe('forbidden');
    expect(await world.stateOf(callId)).toBe('awaiting_approval');
  });

  it('sees no values and takes nothing back', async () => {
    await ask('two', { password: 'a' });
    const { people, remove: removeBob } = peopleWithBob();
    const ports = world.another({ people });
    done(await respond(ports, bob, { type: 'deny' }));
    removeBob();
    expect(codeOf(await api.reveal(ports, bob, approvalId(), id()))).toBe('forbidden');
    expect(codeOf(await api.withdraw(ports, bob, approvalId(), id()))).toBe('forbidden');
  });
});
