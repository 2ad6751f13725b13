import {
  request,
  respond,
  approve,
  deny,
  edit,
  withdraw,
  wait,
  ask,
  claim,
  identify,
  withSecret,
  ofOther,
  grantOf,
} from './acts.ts';
import { deskCases } from './desk-cases.ts';
import { stepCases } from './step-cases.ts';
import type { Command } from './words.ts';
import { policies, signedPolicy } from './world.ts';

/** Attacks that once succeeded, and what each defence is for. Every check begins with them. */
export const cases: Readonly<Record<string, readonly Command[]>> = {
  'an approver of small amounts edits one into a large one': [request(5), edit('amy', 1_500), claim()],
  'an edit outlives its round, and silence approves it': [
    ...[request(150), edit('amy', 300), wait(31), ask, wait(31), claim()],
  ],
  'the escalation of a small rule fills the seats of a strict one': [
    ...[request(5), wait(31), edit('amy', 1_500), approve('eve'), claim()],
  ],
  'an escalated manager edits, and another one agrees': [
    ...[request(5), wait(31), edit('eve', 1_500), approve('fay'), claim()],
  ],
  'a strict rule without an answer ends by itself': [request(5), edit('amy', 1_500), wait(31), approve('dan')],
  'an agent jumps the escalation': [request(5, 1), wait(1), approve('eve'), claim()],
  'silence after an objection in the round before': [request(150), deny('ben'), wait(31), ask, wait(31), claim()],
  'silence after an edit that leaves the arguments as they are': [request(150), edit('ben', 150), wait(31), claim()],
  'silence after such an edit that was taken back': [
    request(150),
    edit('ben', 150),
    withdraw('ben'),
    wait(31),
    claim(),
  ],
  'a person whose vote was lost takes back the edit that they proposed': [
    ...([request(150), edit('amy', 300), { type: 'renew', person: 'amy' }, approve('ben'), withdraw('amy')] as const),
    ...[approve('ben'), approve('cleo'), claim()],
  ],
  'silence after an objection that was taken back': [request(150), deny('ben'), withdraw('ben'), wait(31), claim()],
  'silence after an objection of a person who was removed': [
    ...([request(150), deny('ben'), { type: 'remove', person: 'ben' }, wait(31), claim()] as const),
  ],
  'silence while the service was stopped for a part of the time': [
    ...([request(150), wait(12), { type: 'stop', seconds: 12 }, wait(12), claim()] as const),
  ],
  'silence while the service was stopped at the deadline': [
    ...([request(150), wait(28), { type: 'stop', seconds: 3 }, claim()] as const),
  ],
  'silence where too few people are left': [
    ...(['ben', 'cleo', 'amy'] as const).flatMap((person): Command[] => [{ type: 'remove', person }]),
    ...[request(150), wait(31), claim()],
  ],
  'an edit into a rule whose approvers the agent named': [
    ...([{ ...request(5), onBehalfOf: 'dan' }, { type: 'remove', person: 'cleo' }, edit('amy', 1_500)] as const),
  ],
  'silence passes on the words of one of two people': [
    request(150),
    approve('amy', 'send the list'),
    wait(31),
    claim(),
  ],
  'the instruction of a vote that was withdrawn': [
    ...[request(150), approve('amy', 'send the list'), withdraw('amy'), approve('ben'), approve('cleo'), claim()],
  ],
  'a press on an old card': [
    request(150),
    edit('amy', 300),
    respond('ben', { type: 'approve' }, null, 'first'),
    claim(),
  ],
  'the proposal of a person who withdrew': [
    ...[request(150), edit('amy', 300), withdraw('amy'), approve('ben'), approve('cleo'), claim()],
  ],
  'the proposal of a person who voted again, after their token was replaced, and withdrew': [
    ...([request(150), edit('amy', 300), { type: 'renew', person: 'amy' }, approve('amy'), withdraw('amy')] as const),
    ...[approve('ben'), approve('cleo'), claim()],
  ],
  'the vote of a person who was removed': [
    ...([request(150), approve('amy'), { type: 'remove', person: 'amy' }, approve('ben'), claim()] as const),
  ],
  'the vote of a stolen token that was replaced, and of its person afterwards': [
    ...([request(150), approve('amy'), { type: 'renew', person: 'amy' }, approve('ben'), claim()] as const),
    ...[approve('amy'), claim()],
  ],
  'answers without the signature that the rule asks for': [
    ...([{ type: 'policy', policy: signedPolicy }, request(5), approve('amy'), edit('cleo', 50), deny('ben')] as const),
    claim(),
  ],
  'one person with two names': [request(150), identify, approve('amy'), approve('amy@corp.example'), claim()],
  'two people who turn out to be one': [
    ...[request(150), approve('amy'), approve('amy@corp.example'), identify, approve('ben'), claim()],
  ],
  'a person with two names withdraws both votes': [
    ...[
      request(150),
      deny('amy'),
      respond('amy@corp.example', { type: 'answer', text: 'yes', secret: null }),
      identify,
      withdraw('amy'),
    ],
    ...[approve('ben'), approve('cleo'), claim()],
  ],
  'the only approver that is left is named by the agent, and silence approves': [
    ...([identify, { type: 'remove', person: 'cleo' }, { type: 'remove', person: 'ben' }] as const),
    ...[{ ...request(300), onBehalfOf: 'amy' }, wait(31), claim()],
  ],
  'people are asked again when only the person whom the agent names is left': [
    ...[{ ...request(1_500), onBehalfOf: 'dan' }, wait(21), { type: 'remove', person: 'cleo' } as const, ask],
  ],
  'a tool that writes into its arguments': [request(5), approve('amy'), claim(), wait(1), claim('k2')],
  'an old claim is asked for again': [
    ...[request(5, null, 2), approve('amy', null, 2)],
    ...[claim('k1', 2), wait(61), claim('k2', 2), claim('k1', 2)],
  ],
  'a grant for a guess at a hidden value': [
    grantOf('amy', { match: { of: 'exact', is: { amount: 5, secret: 'hunter-blue' } } }),
    withSecret(request(5), 'hunter-blue'),
    claim(),
  ],
  'a guess at the hidden value of an answer': [
    request(150),
    ...['amy', 'ben'].map((by) => respond(by, { type: 'answer', text: 'yes', secret: 'hunter-blue' })),
  ],
  'a guess, in an answer, at the hidden value of a request': [
    withSecret(request(150), 'hunter-blue'),
    ...['hunter-blue', 'hunter-green'].map((secret) => respond('amy', { type: 'answer', text: 'yes', secret })),
    ...[approve('ben'), claim()],
  ],
  'one principal uses up the quota of another': [
    ...([
      { type: 'policy', policy: policies[2] },
      ofOther(request(5, null, 2)),
      ofOther(request(50, null, 3)),
    ] as const),
    request(5),
  ],
  'one principal takes the name of the batch of another': [
    { ...ofOther(request(5, null, 2)), batch: 'pair' },
    { ...request(50), batch: 'pair' },
  ],
  'a call of a batch runs before the others may': [
    { ...request(5), calls: [...request(5).calls, ...request(1_500, null, 2).calls], batch: 'pair' },
    ...[approve('amy'), claim(), approve('dan', null, 2), claim(), claim('k1', 2)],
  ],
  'a call of a batch is denied after another one ran': [
    { ...request(5), calls: [...request(5).calls, ...request(50, null, 2).calls], batch: 'pair' },
    ...([approve('amy'), approve('ben', null, 2), claim(), { type: 'cancel', call: 2, by: 'agent' }] as const),
  ],
  'a person confirms the grant that they gave': [
    ...([grantOf('dan'), { type: 'confirm', grant: 0, by: 'dan' }, request(1_500), claim()] as const),
  ],
  'a person grants calls of high risk by a digest, in which the second person sees nothing': [
    grantOf('dan', { match: { of: 'exact', is: { amount: 1_500, secret: null } } }),
    ...([{ type: 'confirm', grant: 0, by: 'cleo' }, request(1_500), claim()] as const),
  ],
  'a grant was confirmed by a person whom no rule of high risk asks any more': [
    ...([grantOf('dan'), { type: 'policy', policy: policies[1] }, { type: 'confirm', grant: 0, by: 'fay' }] as const),
    ...([{ type: 'policy', policy: policies[0] }, request(9_000), claim()] as const),
  ],
  'a grant is used twice, and after it was revoked': [
    ...([grantOf('amy', { maxUses: 1 }), request(5), request(50, null, 2), grantOf('ben')] as const),
    ...([request(5, null, 3), { type: 'revoke', grant: 1, by: 'amy' }, request(5, null, 4)] as const),
  ],
  'a delegate votes for two, and after the delegation': [
    ...([request(1_500), { type: 'policy', policy: policies[1] }, request(150, null, 2)] as const),
    ...[approve('ben'), approve('ben', null, 2), approve('dan', null, 2)],
    ...[wait(46), request(150, null, 3), approve('ben', null, 3), claim('k1', 2)],
  ],
  'a person acts for whom a call around it was requested': [
    { ...request(1_500), onBehalfOf: 'dan' },
    { ...request(9_000), calls: [{ call: 4, amount: 9_000, secret: null, inside: 1 }] },
    ...([approve('dan', null, 4), approve('cleo', null, 4), claim('k1', 4)] as const),
  ],
  'a run is cancelled, and a call inside it that another principal requested': [
    request(5),
    { ...request(50), by: 'other', as: 'other', calls: [{ call: 4, amount: 50, secret: null, inside: 1 }] },
    ...([
      { type: 'cancel-run', run: 1, by: 'other' },
      { type: 'cancel-run', run: 1, by: 'agent' },
    ] as const),
  ],
  'a call is cancelled, with what its principal runs inside it, and what another one does': [
    request(50),
    { ...request(50), calls: [{ call: 4, amount: 50, secret: null, inside: 1 }] },
    { ...request(50), calls: [{ call: 5, amount: 60, secret: null, inside: 4 }] },
    { ...request(50), by: 'other', as: 'other', calls: [{ call: 6, amount: 70, secret: null, inside: 1 }] },
    ...([{ type: 'cancel', call: 1, by: 'agent' }, approve('amy', null, 4), approve('amy', null, 6)] as const),
  ],
  'people are asked again about a call inside one that was cancelled after it expired': [
    request(5),
    { ...request(9_000, 1), calls: [{ call: 4, amount: 9_000, secret: null, inside: 1 }] },
    ...([wait(1), { type: 'cancel', call: 1, by: 'agent' }, { ...ask, call: 4 }, approve('dan', null, 4)] as const),
    claim('k1', 4),
  ],
  'a call is asked about, and one requested, inside an expired call of one that was cancelled': [
    request(5),
    { ...request(9_000, 1), calls: [{ call: 4, amount: 9_000, secret: null, inside: 1 }] },
    { ...request(9_000, 1), calls: [{ call: 5, amount: 9_000, secret: null, inside: 4 }] },
    ...([wait(1), { type: 'cancel', call: 1, by: 'agent' }, { ...ask, call: 5 }, approve('dan', null, 5)] as const),
    { ...request(9_000), calls: [{ call: 6, amount: 9_000, secret: null, inside: 4 }] },
    ...[approve('dan', null, 6), claim('k1', 6)],
  ],
  'a call is requested inside a running call of one that was cancelled': [
    request(5),
    { ...request(9_000), calls: [{ call: 4, amount: 9_000, secret: null, inside: 1 }] },
    ...([approve('dan', null, 4), claim('k1', 4), { type: 'cancel', call: 1, by: 'agent' }] as const),
    { ...request(9_000), calls: [{ call: 5, amount: 9_000, secret: null, inside: 4 }] },
    ...[approve('dan', null, 5), claim('k2', 5)],
  ],
  'people are asked about erased values': [
    ...([withSecret(request(1_500), 'hunter-blue'), wait(21), { type: 'erase', of: null, force: false }, ask] as const),
    withSecret(request(1_500), 'hunter-blue'),
  ],
  'a request is asked about again after the hidden value of an edit that ended was erased': [
    ...[
      request(9_000),
      respond('cleo', { type: 'edit', amount: 5, secret: 'hunter-blue' }),
      withdraw('cleo'),
      wait(31),
    ],
    ...([{ type: 'erase', of: null, force: false }, ask] as const),
    ...[approve('dan'), claim()],
  ],
  'erased values run': [
    ...[withSecret(request(5), 'hunter-blue'), approve('amy'), claim(), wait(61)],
    ...([
      { type: 'erase', of: 'other', force: true },
      { type: 'erase', of: 'agent', force: true },
    ] as const),
    ...([{ type: 'reconcile', call: 1, as: 'retry' }, claim('k2')] as const),
  ],
  'the same id stands for another action': [request(5), request(50), withSecret(request(5), 'hunter-blue'), request(5)],
  ...stepCases,
  ...deskCases,
  // The limits take long, so what is noticed is noticed before.
  'a person votes and takes the vote back without end': [
    request(150),
    ...Array.from({ length: 257 }, () => [approve('amy'), withdraw('amy')]).flat(),
  ],
  'two people edit without end': [
    request(150),
    ...Array.from({ length: 65 }, (_, at) => edit(at % 2 === 0 ? 'amy' : 'ben', 200 + at)),
  ],
  'a person sends long words without end': [
    request(150),
    ...Array.from({ length: 129 }, () => [approve('amy', 'x'.repeat(8_192)), withdraw('amy')]).flat(),
  ],
  'people are asked again without end': [request(1_500), ...Array.from({ length: 16 }, () => [wait(21), ask]).flat()],
};
