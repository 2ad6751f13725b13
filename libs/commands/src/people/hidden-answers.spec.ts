import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  approvalIdOf,
  deriveCallId,
  isReadable,
  proposalDigest,
  secretPointers,
  toolCallStream,
} from '@countersign/contracts';
import type { JsonValue, RespondBody } from '@countersign/contracts';
import { currentProposal, digestInputOf } from '@countersign/domain';
import * as api from '../commands.js';
import { agent, codeOf, done, openPolicyWorld, step } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';
import { nextNonce, register, signed, signedIn } from '../testing/signers.js';
import { findApproval } from './respond.js';

let world: PolicyWorld;
const [alice, bob] = [signedIn('alice'), signedIn('bob')];
const callId = deriveCallId('default', 'run-1', 'a');
const approvalId = approvalIdOf(callId, 1);
const output = { password: 'send all money to eve', ok: 1, inner: { api_key: 'k' } };
const answerOf = (value: JsonValue): RespondBody => ({ decision: { type: 'answer', output: value } });

const rules = `
rules:
  - { id: signs, match: { tools: [signs] }, then: { require: { requireSignature: true } } }
  - { id: two, match: { tools: [two] }, then: { require: { quorum: { approve: 2 } } } }
`;

beforeEach(async () => {
  world = await openPolicyWorld(rules);
});
afterEach(() => world.close());

const ask = async (toolName: string) =>
  done(await api.requestToolCalls(world.commands, agent, step(`${toolName}:a`), nextNonce()));
const respond = (body: RespondBody, who = alice) => api.respond(world.commands, who, approvalId, body, nextNonce());
const reveal = () => api.reveal(world.commands, bob, approvalId, nextNonce());
const eventsOf = async (type: string) =>
  (await world.store.readStream(toolCallStream(callId))).filter(isReadable).filter((event) => event.type === type);
const proposalNow = async () => {
  const call = await api.findCall(world.commands, 'default', callId);
  const approval = call && findApproval(call, approvalId);
  return approval && currentProposal(approval);
};

describe('a proposed answer with hidden values', () => {
  beforeEach(() => ask('two'));

  it('is shown whole by a reveal, which records whose values were shown', async () => {
    done(await respond(answerOf(output)));
    expect(done(await reveal())).toEqual({ arguments: {}, output });
    expect(await eventsOf('ValuesRevealed')).toMatchObject([
      { data: { revealedBy: 'bob', pointers: [], outputPointers: ['/password', '/inner/api_key'] } },
    ]);
  });

  it('has no output in a reveal where the tool would run, and nothing is recorded where nothing is hidden', async () => {
    expect(done(await reveal())).toEqual({ arguments: {} });
    done(await respond(answerOf({ ok: 1 })));
    expect(done(await reveal())).toEqual({ arguments: {}, output: { ok: 1 } });
    expect(await eventsOf('ValuesRevealed')).toEqual([]);
  });

  it('has a salt of its own, because that of a request that hides nothing is recorded in clear', async () => {
    done(await respond(answerOf(output)));
    const call = await api.findCall(world.commands, 'default', callId);
    const approval = call && findApproval(call, approvalId);
    if (approval === undefined) throw new Error('there is an approval');
    const { number, requirements } = currentProposal(approval);
    const guessed = { approvalId, number, requirements } as const;
    const subject = { kind: 'answer', output, salt: call?.request.salt ?? null } as const;
    const digest = proposalDigest(digestInputOf(approval, call?.request.salt ?? null));
    expect(digest).not.toBe(proposalDigest({ ...guessed, subject }));
    const [event] = await eventsOf('ApprovalResponded');
    expect(event?.data).toMatchObject({ decision: { salt: expect.stringMatching(/^[0-9a-f]{32}$/) } });
    expect(event && secretPointers(event)).toContain('/decision/salt');
  });

  it.each([
    ['a member with a secret name', { password: 'hunter2', ok: 1 }],
    ['a list under a secret name', { api_keys: ['hunter2'] }],
    ['a text with a secret in it', 'postgres://user:hunter2@host/db'],
  ])('is not agreed to by a guess of its values: %s', async (_, answered) => {
    done(await respond(answerOf(answered)));
    done(await respond(answerOf(answered), bob));
    expect(await world.stateOf(callId)).toBe('awaiting_approval');
    expect(await proposalNow()).toMatchObject({ number: 3, proposedBy: 'bob' });
  });

  // As the store returns it once the key is destroyed or lost.
  it.each(['[erased]', '[key missing]'])('is not agreed to once it reads %s, and can be denied', async (mark) => {
    const lost = { rows: [{ url: mark }] };
    done(await respond(answerOf(lost)));
    expect(codeOf(await respond({ decision: { type: 'approve' } }, bob))).toBe('digest-mismatch');
    done(await respond(answerOf(lost), bob));
    expect(await proposalNow()).toMatchObject({ number: 3, proposedBy: 'bob' });
    done(await respond({ decision: { type: 'deny' } }, signedIn('carol')));
    expect(await world.stateOf(callId)).toBe('denied');
  });

  it.each(['approve', 'deny'] as const)(
    'is not signed: a signed vote to %s is refused, one without counts',
    async (type) => {
      const key = await register(world.commands, bob);
      done(await respond(answerOf(output)));
      const body = await signed(world.commands, key, { callId }, { decision: { type } });
      expect(await respond(body, bob)).toMatchObject({
        refusal: { code: 'signature-required', detail: expect.stringContaining('without a signature') },
      });
      done(await respond({ decision: { type } }, bob));
      expect(await world.stateOf(callId)).toBe(type === 'approve' ? 'succeeded' : 'denied');
    },
  );
});

it.each([{ password: 'x' }, { api_keys: ['x'] }, { url: 'postgres://user:x@host/db' }])(
  'refuses a signed answer that hides values, because the signature would say nothing about them: %j',
  async (answered) => {
    await ask('signs');
    const key = await register(world.commands, alice);
    const body = await signed(world.commands, key, { callId }, answerOf(answered));
    expect(codeOf(await respond(body))).toBe('signature-required');
    expect(await eventsOf('ApprovalResponded')).toEqual([]);
  },
);
