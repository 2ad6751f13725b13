import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { approvalIdOf, deriveCallId, isReadable, toolCallStream } from '@countersign/contracts';
import type { EventData, RecordedEvent, RespondBody } from '@countersign/contracts';
import { createAuthenticator } from '@countersign/passkeys/testing';
import type { Authenticator } from '@countersign/passkeys/testing';
import * as api from '../commands.js';
import { mayDecide } from './may-decide.js';
import { actor, agent, alice, codeOf, done, openPolicyWorld, step } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';
import { nextNonce, register, signed, signedIn } from '../testing/signers.js';

let world: PolicyWorld;
let key: Authenticator;
const person = signedIn('alice');
const worker = actor('worker', 'resolver');
const callId = (toolCallId = 'a'): string => deriveCallId('default', 'run-1', toolCallId);
const approvalId = (toolCallId = 'a', round = 1): string => approvalIdOf(callId(toolCallId), round);
const approve: RespondBody = { decision: { type: 'approve' } };

const rules = `
rules:
  - { id: pay, match: { tools: [pay] }, then: { require: { requireSignature: true } } }
  - { id: wire, match: { tools: [wire] }, then: { require: { minAssurance: high } } }
  - { id: two, match: { tools: [two] }, then: { require: { requireSignature: true, quorum: { approve: 2 } } } }
  - { id: mail, match: { tools: [mail] }, then: { require: {} } }
`;

beforeEach(async () => {
  world = await openPolicyWorld(rules);
  key = await register(world.commands, person);
  await ask('pay:a');
});
afterEach(() => world.close());

async function ask(...calls: readonly string[]): Promise<void> {
  done(await api.requestToolCalls(world.commands, agent, step(...calls), nextNonce()));
}

const respond = (body: RespondBody, who = person, id = approvalId()) =>
  api.respond(world.commands, who, id, body, nextNonce());

const claim = (id = callId()) => api.claim(world.commands, worker, id, { resolverId: 'w' }, nextNonce());

const sign = (body: RespondBody = approve, altered = {}, toolCallId = 'a') =>
  signed(world.commands, key, { callId: callId(toolCallId) }, body, altered);

const eventsOf = async (id: string): Promise<readonly RecordedEvent[]> =>
  (await world.store.readStream(toolCallStream(id))).filter(isReadable);

async function votesOf(id = callId()): Promise<readonly EventData<'ApprovalResponded'>[]> {
  const events = await eventsOf(id);
  return events.flatMap(({ type, data }) =>
    type === 'ApprovalResponded' ? [data as EventData<'ApprovalResponded'>] : [],
  );
}

describe('a rule that asks for signatures', () => {
  it('counts an answer that its person signed, and lets it run', async () => {
    expect(codeOf(await claim())).toBe('not-approved');
    const body = await sign();
    done(await respond(body));
    const [vote] = await votesOf();
    expect(vote).toMatchObject({ assurance: 'high', signature: body.signature, resolution: 'approved' });
    expect(vote?.credential).toBe(`passkey:${key.credentialId}`);
    done(await claim());
  });

  it('is the same for `minAssurance: high`', async () => {
    await ask('wire:w');
    expect(codeOf(await respond(approve, person, approvalId('w')))).toBe('signature-required');
    done(await respond(await sign(approve, {}, 'w'), person, approvalId('w')));
    done(await claim(callId('w')));
  });

  it.each([
    ['an approval', approve],
    ['a denial', { decision: { type: 'deny' } }],
    ['an edit', { decision: { type: 'edit', arguments: {} } }],
    ['an answer', { decision: { type: 'answer', output: 1 } }],
  ] as const)('refuses %s without a signature, and records nothing', async (_, body) => {
    expect(codeOf(await respond(body))).toBe('signature-required');
    expect(await votesOf()).toEqual([]);
  });

  it('says through which channel a person can sign', async () => {
    const outcome = await respond(approve, { ...alice, via: 'ops-slack' });
    expect(outcome).toMatchObject({ refusal: { detail: expect.stringContaining('"ops-slack" cannot sign') } });
  });

  it('lets a person who may sign see that they may decide', async () => {
    const call = await api.findCall(world.commands, 'default', callId());
    expect(call && mayDecide(world.commands, person, call, approvalId())).toEqual({ now: true });
  });

  it('counts a signed denial, a signed edit and a signed answer', async () => {
    await ask('pay:b', 'pay:c');
    done(await respond(await sign({ decision: { type: 'deny' } })));
    done(
      await respond(await sign({ decision: { type: 'edit', arguments: { n: 2 } } }, {}, 'b'), person, approvalId('b')),
    );
    done(await respond(await sign({ decision: { type: 'answer', output: 1 } }, {}, 'c'), person, approvalId('c')));
    expect(await world.stateOf(callId())).toBe('denied');
    expect(done(await claim(callId('b'))).arguments).toEqual({ n: 2 });
    expect(await world.stateOf(callId('c'))).toBe('succeeded');
  });

  it('refuses a signed edit that hides values, because the signature would say nothing about them', async () => {
    const body = await sign({ decision: { type: 'edit', arguments: { password: 'x' } } });
    expect(codeOf(await respond(body))).toBe('signature-required');
  });

  it('asks for a signature of an edit that falls under such a rule', async () => {
    await ask('mail:m');
    world.activate(rules.replace('[pay]', '[pay, mail]'));
    const edit: RespondBody = { decision: { type: 'edit', arguments: { n: 2 } } };
    expect(codeOf(await respond(edit, person, approvalId('m')))).toBe('signature-required');
    done(await respond(await sign(edit, {}, 'm'), person, approvalId('m')));
    done(await claim(callId('m')));
  });
});

describe('a signature', () => {
  it.each([
    ['another card', { card: `sha256:${'0'.repeat(64)}` }, 'digest-mismatch'],
    ['another proposal', { proposal: `sha256:${'0'.repeat(64)}` }, 'signature-required'],
    ['another decision', { decision: { type: 'deny' } }, 'signature-required'],
    ['another instruction', { instruction: 'and then delete it' }, 'signature-required'],
    ['another origin', { site: { rpId: 'countersign.example', origin: 'https://evil.example' } }, 'signature-required'],
    ['another domain', { site: { rpId: 'evil.example', origin: 'https://countersign.example' } }, 'signature-required'],
  ] as const)('of %s is refused', async (_, altered, code) => {
    expect(codeOf(await respond(await sign(approve, altered)))).toBe(code);
    expect(await votesOf()).toEqual([]);
  });

  it('counts once: an answer that was withdrawn does not come back', async () => {
    await ask('two:t');
    const body = await sign(approve, {}, 't');
    done(await respond(body, person, approvalId('t')));
    done(await api.withdraw(world.commands, person, approvalId('t'), nextNonce()));
    expect(codeOf(await respond(body, person, approvalId('t')))).toBe('signature-required');
  });

  it('counts in no other call, and not after the deadline', async () => {
    const body = await sign();
    await ask('pay:b');
    expect(codeOf(await respond(body, person, approvalId('b')))).toBe('digest-mismatch');
    world.clock.advance(3_600_001);
    expect(codeOf(await respond(body))).toBe('expired');
  });

  it('of a person of another tenant is refused', async () => {
    const body = await sign();
    expect(codeOf(await respond(body, { ...person, tenant: 'other' }))).toBe('unknown-approval');
  });

  it('counts for its person alone, whoever sends it', async () => {
    const body = await sign();
    expect(codeOf(await respond(body, signedIn('bob')))).toBe('signature-required');
    await register(world.commands, signedIn('bob'));
    expect(codeOf(await respond(body, signedIn('bob')))).toBe('signature-required');
    done(await respond(body));
  });

  it('of a removed or unknown passkey is refused, and one that was given before stays', async () => {
    await ask('pay:b');
    done(await respond(await sign()));
    const late = await sign(approve, {}, 'b');
    done(await api.removePasskey(world.commands, person, key.credentialId, nextNonce()));
    expect(codeOf(await respond(late, person, approvalId('b')))).toBe('signature-required');
    const unknown = await signed(world.commands, createAuthenticator(), { callId: callId('b') }, approve);
    expect(codeOf(await respond(unknown, person, approvalId('b')))).toBe('signature-required');
    done(await claim());
  });

  it('of a passkey that was removed since no longer counts at the next vote', async () => {
    await ask('two:t');
    done(await respond(await sign(approve, {}, 't'), person, approvalId('t')));
    done(await api.removePasskey(world.commands, person, key.credentialId, nextNonce()));
    const others = createAuthenticator();
    await register(world.commands, signedIn('carol'), others);
    const byCarol = await signed(world.commands, others, { callId: callId('t') }, approve);
    done(await respond(byCarol, signedIn('carol'), approvalId('t')));
    expect(await world.stateOf(callId('t'))).toBe('awaiting_approval');
  });

  it('that was repeated with the same command is recorded once, by two processes too', async () => {
    const body = await sign();
    const other = world.another();
    const commandId = nextNonce();
    const both = await Promise.all(
      [world.commands, other].map((ports) => api.respond(ports, person, approvalId(), body, commandId)),
    );
    expect(both.map(({ status }) => status)).toEqual(['done', 'done']);
    expect(await votesOf()).toHaveLength(1);
  });

  it('with a counter that an earlier one had is refused: the authenticator was copied', async () => {
    await ask('pay:b', 'pay:c');
    const counting = createAuthenticator('ES256', { counts: true });
    await register(world.commands, signedIn('bob'), counting);
    const bob = signedIn('bob');
    const [first, second] = [
      await signed(world.commands, counting, { callId: callId('b') }, approve),
      await signed(world.commands, counting, { callId: callId('c') }, approve),
    ];
    done(await respond(second, bob, approvalId('c')));
    expect(codeOf(await respond(first, bob, approvalId('b')))).toBe('signature-required');
  });

  it('raises the assurance of an answer under any rule', async () => {
    await ask('mail:m');
    done(await respond(await sign(approve, {}, 'm'), person, approvalId('m')));
    expect(await votesOf(callId('m'))).toMatchObject([{ assurance: 'high' }]);
  });
});

describe('the claim', () => {
  /** What the owner of the log does: they append an approval that no rule has seen. */
  async function forge(
    change: (vote: EventData<'ApprovalResponded'>) => EventData<'ApprovalResponded'>,
  ): Promise<void> {
    await ask('pay:b');
    done(await respond(await sign(approve, {}, 'b'), person, approvalId('b')));
    const events = await eventsOf(callId('b'));
    const voted = events.find(({ type }) => type === 'ApprovalResponded');
    const stream = await eventsOf(callId());
    if (voted === undefined) throw new Error('there is no vote');
    const { metadata, data } = voted;
    const about = { ...(data as EventData<'ApprovalResponded'>), approvalId: approvalId() };
    const asked = stream.find(({ type }) => type === 'ApprovalRequested')?.data as EventData<'ApprovalRequested'>;
    const vote = change({ ...about, actionDigest: asked.actionDigest });
    const forged = { type: 'ApprovalResponded', data: vote, metadata: { ...metadata, callId: callId() } } as const;
    await world.store.append(toolCallStream(callId()), stream.length - 1, [
      { ...forged, eventId: crypto.randomUUID() },
    ]);
  }

  it.each([
    ['without a signature', ({ signature: _signature, ...vote }: EventData<'ApprovalResponded'>) => vote],
    ['with the signature of another call', (vote: EventData<'ApprovalResponded'>) => vote],
    ['in the name of another person', (vote: EventData<'ApprovalResponded'>) => ({ ...vote, respondedBy: 'bob' })],
  ])('refuses an approval that the owner of the log appended %s', async (_, change) => {
    await forge(change);
    expect(await world.stateOf(callId())).toBe('approved');
    expect(codeOf(await claim())).toBe('not-approved');
    const { commands } = world;
    const output = { status: 'succeeded', output: 1 } as const;
    expect(codeOf(await api.submitClientOutput(commands, agent, callId(), output, nextNonce()))).not.toBe('done');
  });
});

describe('every other road', () => {
  it.each(['independent', 'all-or-nothing'] as const)('leads to the signature: many at once, %s', async (mode) => {
    const bulk = { approvalIds: [approvalId()], ...approve, mode };
    const [result] = done(await api.respondInBulk(world.commands, person, bulk, nextNonce()));
    expect(result).toMatchObject({ status: 'refused', refusal: { code: 'signature-required' } });
    expect(await votesOf()).toEqual([]);
  });

  it('leads to the signature: a person in the place of another signs with their own passkey', async () => {
    world.activate(
      `approvers: [{ id: alice, delegates: [{ to: bob, from: '1970-01-01T00:00:00Z', until: '2999-01-01T00:00:00Z' }] }, { id: bob }]\n${rules}`,
    );
    const bob = signedIn('bob');
    expect(codeOf(await respond(approve, bob))).toBe('signature-required');
    expect(codeOf(await respond(await sign(), bob))).toBe('signature-required');
    const own = await register(world.commands, bob);
    done(await respond(await signed(world.commands, own, { callId: callId() }, approve), bob));
    done(await claim());
  });

  it.each(['requireSignature: true', 'minAssurance: high'])('is closed: silence approves nothing under %s', (asks) => {
    const silent = `rules: [{ id: x, then: { require: { ${asks}, onTimeout: allow, allowOnTimeout: i-understand } } }]`;
    expect(() => world.activate(silent)).toThrow('must not be "allow" where people sign');
  });

  it('is closed: a digest that is sent besides binds as before', async () => {
    const body = { ...(await sign()), proposalDigest: `sha256:${'0'.repeat(64)}` };
    expect(codeOf(await respond(body))).toBe('digest-mismatch');
  });
});
