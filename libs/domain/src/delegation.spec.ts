import { describe, expect, it } from '@jest/globals';
import {
  callId,
  delegateOf,
  deny,
  digestOf,
  edit,
  editBy,
  request,
  respond,
  responded,
  responder,
  revealTo,
  stage,
  withdraw,
} from './testing/fixtures.js';
import { given, history, stateAfter } from './testing/given.js';
import { toolCallDecider } from './tool-call.decider.js';
import { callState, currentApproval } from './tool-call.state.js';

const ops = { stages: [stage({ groups: ['ops'] })] };
const twoOfOps = { stages: [stage({ approve: 2, deny: 2, groups: ['ops'] })] };
/** Bob responds for Alice. */
const bob = delegateOf('bob', 'alice');
const aliceUnderAnotherName = { principal: 'alice-2', groups: ['ops'], aliases: ['alice'] };

describe('a delegate', () => {
  it("responds in the delegator's place, with the delegator's groups", () => {
    given(history(request(ops)))
      .when(respond(bob))
      .then([responded('bob', { onBehalfOf: 'alice', groups: ['ops'] })]);
  });

  it('responds in their own right where they have it', () => {
    given(history(request(ops)))
      .when(respond({ ...bob, groups: ['ops', 'security'] }))
      .then([responded('bob', { groups: ['ops', 'security'] })]);
    given(history(request()))
      .when(respond(bob))
      .then([responded('bob', { groups: ['none'] })]);
  });

  it('uses the first delegation that may respond', () => {
    const delegators = ['agent', 'alice', 'carol'].map((principal) => ({ principal, groups: ['ops'] }));
    given(history(request(twoOfOps), respond('alice')))
      .when(respond({ ...bob, delegators: [{ principal: 'dan', groups: ['security'] }, ...delegators] }))
      .then([responded('bob', { onBehalfOf: 'carol' })]);
  });

  it('is told which assurance the voice of the delegator needs', () => {
    given(history(request({ ...ops, minAssurance: 'medium' })))
      .when(respond({ ...bob, assurance: 'low' }))
      .thenRefused('not-an-approver', { minAssurance: 'medium' });
  });

  it('is refused where neither person is asked', () => {
    given(history(request({ stages: [stage({ groups: ['security'] })] })))
      .when(respond(bob))
      .thenRefused('not-an-approver', { groups: ['security'] });
  });

  it.each([
    ['the requester is the delegate', delegateOf('agent', 'alice')],
    ['the requester is the delegator', delegateOf('bob', ' Agent ')],
  ])('is refused when %s', (_, person) => {
    given(history(request(ops)))
      .when(respond(person))
      .thenRefused('own-request');
  });

  it.each([
    ['the delegate has responded', respond(responder('bob', { groups: ['ops'] })), respond(bob)],
    ['the delegator has responded', respond('alice'), respond(bob)],
    ['another delegate has responded', respond(delegateOf('carol', 'alice')), respond(bob)],
    ['the delegator comes back', respond(bob), respond(' ALICE ')],
    ['the delegate then has the right', respond(bob), respond(responder('bob', { groups: ['ops'] }))],
    ['the delegate has another delegator', respond(bob), respond(delegateOf('bob', 'dan'))],
  ])('counts once when %s', (_, first, second) => {
    given(history(request(twoOfOps), first))
      .when(second)
      .thenRefused('already-voted');
  });

  it('may look at what is hidden, as they may respond', () => {
    const seen = toolCallDecider.decide(revealTo(bob), stateAfter(history(request(ops))));
    expect(seen).toMatchObject({ status: 'accepted', events: [{ data: { revealedBy: 'bob' } }] });
    given(history(request(ops)))
      .when(revealTo(delegateOf('bob', 'agent')))
      .thenRefused('own-request');
  });

  it('edits with the rights of the delegator alone', () => {
    const edited = stateAfter(history(request(ops), editBy(bob)));
    expect(callState(edited)).toBe('approved');
    expect(currentApproval(edited)?.votes[0]).toMatchObject({ respondedBy: 'bob', onBehalfOf: 'alice' });
  });

  it('replaces every earlier vote of both people when the subject changes', () => {
    const own = respond(responder('bob', { groups: ['ops'] }));
    const three = { stages: [stage({ approve: 3, groups: ['ops'] })] };
    const events = history(request(three), own, respond('alice'), editBy(bob, edit('b')));
    expect(currentApproval(stateAfter(events))?.votes.filter(({ status }) => status === 'counted')).toHaveLength(1);
    given(events)
      .when(respond('alice', { actionDigest: digestOf('b') }))
      .thenRefused('already-voted');
  });
});

describe('the refusal of a delegator', () => {
  const dan = responder('dan');
  const edited = { actionDigest: digestOf('b') };

  it.each([
    ['themselves', deny('alice')],
    ['another delegate', deny(delegateOf('carol', 'alice'))],
  ])('is not undone by an edit of the delegate, given by %s', (_, refusal) => {
    given(history(request(twoOfOps), refusal))
      .when(editBy(bob))
      .thenRefused('already-voted');
  });

  it('is not undone when the delegate agrees to the edit of another person', () => {
    const events = history(request(twoOfOps), deny('alice'), editBy(dan));
    given(events).when(respond(bob, edited)).thenRefused('already-voted');
    given(events)
      .when(respond(delegateOf('bob', 'alice-2', { delegators: [aliceUnderAnotherName] }), edited))
      .thenRefused('already-voted');
  });

  it('may be changed by the delegator, also where the delegate gave it', () => {
    given(history(request(twoOfOps), deny('alice'), editBy(dan)))
      .when(respond('alice', edited))
      .thenAccepted({ resolution: 'approved' });
    given(history(request(twoOfOps), deny(bob), editBy(dan)))
      .when(respond('alice', edited))
      .thenAccepted({ resolution: 'approved' });
  });

  it('may be changed by the delegate who gave it', () => {
    given(history(request(twoOfOps), deny(bob), editBy(dan)))
      .when(respond(bob, edited))
      .thenAccepted({ resolution: 'approved' });
  });
});

describe('a vote by a delegate', () => {
  it.each(['bob', 'alice', 'Alice '])('can be withdrawn by both people, here by %s', (principal) => {
    const events = history(request(twoOfOps), respond(bob), withdraw(principal));
    expect(currentApproval(stateAfter(events))?.votes[0]?.status).toBe('withdrawn');
    given(events).when(withdraw(principal)).thenNothing();
  });

  it('leaves both voices free once it is withdrawn', () => {
    const events = history(request(twoOfOps), respond(bob), withdraw('alice'), respond('alice'));
    expect(callState(stateAfter(events))).toBe('awaiting_approval');
    given(events)
      .when(respond(responder('bob', { groups: ['ops'] })))
      .then([responded('bob', { resolution: 'approved' })]);
  });

  it('in their own right cannot be withdrawn by the people who delegated to them', () => {
    const events = history(request(twoOfOps), deny({ ...bob, groups: ['ops'] }));
    given(events).when(withdraw('alice')).thenRefused('unknown-approval');
  });
});

describe('four eyes', () => {
  const outer = { callId: `${callId}x`, agentId: 'planner', toolName: 'delegate', runId: 'run-0', requestedBy: 'team' };
  const nested = {
    ...{ requestedBy: 'agent', owner: 'carol', onBehalfOf: 'Dave' },
    chain: [{ ...outer, owner: 'erin', onBehalfOf: 'frank' }],
  };

  it.each(['agent', 'carol', ' dave', 'team', 'ERIN', 'frank'])('exclude everybody in the chain, here %s', (name) => {
    const events = history(request(ops, nested));
    given(events).when(respond(name)).thenRefused('own-request');
    given(events)
      .when(respond(delegateOf(name, 'alice')))
      .thenRefused('own-request');
    given(events)
      .when(respond(delegateOf('bob', name)))
      .thenRefused('own-request');
  });

  it.each(['carol', 'dave'])('exclude a person who is named by another of their names, here %s', (person) => {
    const events = history(request(ops, { owner: 'Carol@example.com', onBehalfOf: 't01:U7' }));
    const aliases = person === 'carol' ? ['carol@example.com'] : ['T01:U07', 'T01:U7'];
    const delegators = [{ principal: person, groups: ['ops'], aliases }];
    for (const who of [
      responder(person, { aliases }),
      responder(person, { groups: ['none'], aliases, delegators: [{ principal: 'alice', groups: ['ops'] }] }),
      responder('bob', { groups: ['none'], delegators }),
    ]) {
      given(events).when(respond(who)).thenRefused('own-request');
      expect(toolCallDecider.decide(revealTo(who), stateAfter(events))).toMatchObject({ status: 'refused' });
    }
    given(events)
      .when(respond(responder('bob', { delegators })))
      .then([responded('bob')]);
  });

  it('exclude no other person', () => {
    given(history(request(ops, nested)))
      .when(respond('alice'))
      .then([responded('alice')]);
  });

  it('exclude no person where the policy does not ask for them', () => {
    given(history(request({ ...ops, fourEyes: false }, nested)))
      .when(respond('carol'))
      .then([responded('carol')]);
  });
});

describe('a nested call', () => {
  const parent = { callId, agentId: 'planner', toolName: 'delegate', runId: 'run-0', requestedBy: 'agent' };
  const chain = [parent];

  it.each([
    ['inside another call', { chain: [{ ...parent, callId: `${callId}y` }] }],
    ['inside no call', {}],
    ['for another person', { chain, onBehalfOf: 'dave' }],
  ])('is not the same request %s', (_, change) => {
    given(history(request({}, { chain })))
      .when(request({}, change))
      .thenRefused('tool-call-mismatch');
  });

  it('is the same request when only the owner of the agent has changed', () => {
    given(history(request({}, { chain })))
      .when(request({}, { chain, owner: 'carol' }))
      .thenNothing();
  });
});
