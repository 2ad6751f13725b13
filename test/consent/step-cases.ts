import { approve, approveAll, ask1, claim, edit, grantOf, ofOther, request, respond, wait } from './acts.ts';
import type { Command, Request } from './words.ts';
import { leftOut, policies } from './world.ts';

const wholeSteps: Command = { type: 'policy', policy: policies[4] };
const oneByOne: Command = { type: 'policy', policy: policies[5] };
/** Calls 1, 2 and so on, with these amounts. */
const step = (...amounts: readonly number[]): Request => ({
  ...request(0),
  calls: amounts.flatMap((amount, at) => request(amount, null, at + 1).calls),
});
const restart: Command = { type: 'restart' };
const wanted = (asked: Request): Request => ({ ...asked, wants: true });
const giftOf = (asked: Request): Request => ({ ...asked, calls: asked.calls.map((one) => ({ ...one, tool: 'gift' })) });
const pay = (amount: number, call: number) => ({ call, amount, ...ask1 });
const inTurn = (asked: Request): Request => ({ ...asked, inTurn: true });
const denyBy = (by: string, call = 1): Command => ({ ...respond(by, { type: 'deny' }), call });
const cancel: Command = { type: 'cancel', call: 1, by: 'agent' };
const extend = (attempt: number): Command => ({ type: 'extend', call: 2, attempt });
const output = (call: number): Command => ({ type: 'output', call, by: 'agent' });

/** Attacks on the calls of one step, and on what runs in turn. */
export const stepCases: Readonly<Record<string, readonly Command[]>> = {
  'a free call of a step about which people are asked runs at once': [
    ...[wholeSteps, step(150, 5), claim('k1', 2), approve('amy'), claim('k1', 1)],
    ...[approve('ben', null, 2), claim('k1', 1), claim('k1', 2)],
  ],
  'the first rule of a step chooses who approves its free calls': [
    ...[wholeSteps, step(150, 1_500, 5), approve('ben', null, 3), output(3), approve('dan', null, 3)],
    ...[approveAll('cleo', [1, 2]), output(3), claim('k1', 2)],
  ],
  'one answer is for the step as it was shown': [
    wholeSteps,
    step(150, 5),
    { ...edit('amy', 1_500), call: 2 },
    ...[approveAll('cleo', [1, 2], 'first'), claim(), approveAll('cleo', [1, 2]), claim(), claim('k1', 2)],
  ],
  'a denial ends its step': [wholeSteps, step(150, 5), approve('amy', null, 2), denyBy('ben'), claim('k1', 2)],
  'a denial that ends the run ends its other calls, also those of the next request': [
    ...[wholeSteps, step(1_500, 5), request(150, null, 3), approve('amy', null, 3), denyBy('dan'), output(3)],
  ],
  'a denial that ends the run gives the next call its turn': [
    ...[oneByOne, step(1_500, 5, 150), claim('k1', 2), denyBy('dan'), claim('k1', 2), approve('amy', null, 3)],
  ],
  'a denial ends the calls of its principal alone': [
    ...[oneByOne, step(1_500), inTurn(ofOther(request(5, null, 2))), ofOther(request(150, null, 3)), denyBy('dan')],
    ...[claim('k1', 2), { type: 'report', call: 2 } as const, approve('amy', null, 3), approve('ben', null, 3)],
  ],
  'people are asked about one call after another': [
    ...[oneByOne, step(150, 300, 5), approve('amy', null, 2), approve('ben', null, 2), output(3)],
    ...[approve('amy'), approve('ben'), claim('k1', 2), claim(), { type: 'report', call: 1 } as const],
    ...[denyBy('cleo', 2), output(3)],
  ],
  'silence counts from the turn': [
    ...[oneByOne, step(1_500, 150), { type: 'wait', seconds: 19 } as const, denyBy('eve'), approve('dan'), claim()],
    ...([
      { type: 'wait', seconds: 12 },
      { type: 'report', call: 1 },
      { type: 'wait', seconds: 29 },
    ] as const),
    ...[claim('k1', 2), { type: 'wait', seconds: 1 } as const, claim('k1', 2)],
  ],
  'a policy that came in force forbids or asks about what waits': [
    ...[inTurn(step(5, 9_000)), inTurn(request(5, null, 3)), { type: 'policy', policy: policies[5] } as const],
    ...([approve('amy'), claim(), { type: 'report', call: 1 }, approve('dan', null, 2), claim('k1', 2)] as const),
  ],
  'permissions are stocked up behind a call': [
    ...[wholeSteps, inTurn(step(5, 5, 50)), { type: 'policy', policy: policies[0] } as const],
    ...([claim(), { type: 'report', call: 1 }, claim('k1', 2), { type: 'cancel', call: 2, by: 'agent' }] as const),
    output(3),
  ],
  'a laxer policy changes nothing for a call that waits': [
    ...[inTurn(step(5, 50)), wholeSteps, approve('amy'), claim(), { type: 'report', call: 1 } as const],
    ...[{ type: 'wait', seconds: 31 } as const, approve('eve', null, 2), claim('k1', 2)],
  ],
  'a call waits behind a grant that is revoked': [
    ...[grantOf('amy'), inTurn(step(5, 50)), { type: 'revoke', grant: 0, by: 'amy' } as const, claim()],
    ...([{ type: 'report', call: 1 }, claim('k1', 2)] as const),
  ],
  'a call that waits again is given the turn of its place before': [
    ...[inTurn(step(9_000, 9_000)), request(5), { type: 'wait', seconds: 21 } as const],
    { type: 'ask', call: 1, by: 'agent', expiresIn: null },
    ...[approve('dan'), claim('k1', 1)],
  ],
  'a run is cancelled whose calls wait': [
    ...[oneByOne, step(150, 5, 300), { type: 'cancel-run', run: 1, by: 'agent' } as const, claim('k1', 2)],
  ],
  'another try runs beside the call whose turn it is': [
    ...[oneByOne, step(5, 50, 5), claim(), { type: 'wait', seconds: 61 } as const, claim('k1', 2)],
    ...([{ type: 'reconcile', call: 1, as: 'retry' }, output(3), claim('k2', 1), output(3)] as const),
    ...([{ type: 'report', call: 2 }, output(3), { type: 'report', call: 1 }, output(3)] as const),
  ],
  'a grant for a run covers a call after the end of the run': [
    ...[grantOf('amy', { run: 1 }), grantOf('amy', { run: 1, of: 'other' }), request(50)],
    ...([{ type: 'cancel-run', run: 1, by: 'agent' }, request(5, null, 2), ofOther(request(5, null, 3))] as const),
  ],
  'an agent wants people asked about what was allowed, under a stricter policy': [
    ...[wholeSteps, request(5), { type: 'policy', policy: policies[1] } as const, wanted(request(5))],
    ...[claim(), approve('amy'), claim(), approve('ben'), claim()],
  ],
  'an agent wants people asked about what was allowed, and the policy blocks it now': [
    ...[grantOf('dan'), { type: 'confirm', grant: 0, by: 'cleo' } as const, request(9_000), oneByOne],
    ...[wanted(request(9_000)), claim()],
  ],
  'an edit that changes nothing, once no rule asks about what the agent wants asked about': [
    ...[{ type: 'policy', policy: policies[1] } as const, wanted(request(5)), wholeSteps, edit('amy', 5)],
    ...[approve('ben'), claim(), approve('cleo'), claim()],
  ],
  'an edit that changes nothing, under one of two rules that a call has at its turn': [
    ...[inTurn(step(5, 300)), oneByOne, { type: 'cancel', call: 1, by: 'agent' } as const],
    ...[{ ...edit('amy', 300), call: 2 }, { type: 'withdraw', call: 2, by: 'amy' } as const, approve('ben', null, 2)],
    ...[{ ...edit('cleo', 300), call: 2 }, claim('k1', 2)],
  ],
  'such an edit, once the rule of the request is in force again': [
    ...[oneByOne, inTurn(step(150, 300)), { type: 'policy', policy: policies[0] } as const, denyBy('ben'), oneByOne],
    ...[{ ...edit('amy', 300), call: 2 }, { ...edit('ben', 300), call: 2 }, claim('k1', 2)],
  ],
  'such an edit of a call whose agent shortened its time, once the policy changed in another place': [
    ...[{ type: 'policy', policy: policies[1] } as const, request(150, 5)],
    ...[{ type: 'policy', policy: policies[3] } as const, edit('ben', 150), approve('dan'), claim()],
  ],
  'an agent wants people asked about a call that waits for its turn': [
    ...[oneByOne, step(150, 5), wanted({ ...request(5, null, 2), inTurn: true }), denyBy('amy')],
    ...[claim('k1', 2), approve('eve', null, 2), claim('k1', 2)],
  ],
  'an agent wants people asked about a free call of a step': [
    ...[wholeSteps, wanted(step(150, 5)), approve('amy', null, 2), claim('k1', 2), approve('ben'), claim('k1', 2)],
  ],
  'an allowed call of another tool is asked about with its step, and an identical one waits': [
    { type: 'policy', policy: policies[6] },
    { ...request(0), calls: [pay(150, 4), { ...pay(5, 5), tool: 'gift' }] },
    { ...request(0), calls: [pay(300, 6), { ...pay(5, 7), tool: 'gift' }] },
    ...[giftOf(request(150, null, 8)), giftOf(request(5, null, 9))],
  ],
  'a grant for one tool covers a call of another': [grantOf('amy'), giftOf(request(5)), claim()],
  'what may not run twice is tried again by itself': [
    ...[request(5), approve('amy'), claim(), { type: 'wait', seconds: 61 } as const, claim('k2')],
  ],
  'a claim that was released is asked for again': [
    ...[request(5, null, 2), approve('amy', null, 2), claim('k1', 2), { type: 'wait', seconds: 61 } as const],
    ...[claim('k1', 2), claim('k2', 2), claim('k1', 2)],
  ],
  'a worker renews the lease of a claim that was released': [
    ...[request(5, null, 2), approve('amy', null, 2), claim('k1', 2), extend(1)],
    ...[wait(61), extend(1), claim('k2', 2), extend(1), extend(2)],
  ],
  'the amount by which a rule decides is left out': [
    ...[grantOf('amy', { match: { of: 'small' } }), request(leftOut), approve('dan'), claim(), approve('amy')],
    ...[claim(), approve('cleo'), claim()],
  ],
  'two workers claim a call, each with a key of its own': [request(5), approve('amy'), claim('k1'), claim('k2')],
  'a response is sent once more after it was withdrawn': [
    ...[request(150), approve('amy'), { type: 'withdraw', call: 1, by: 'amy' } as const],
    ...[approve('amy'), approve('ben'), claim()],
  ],
  'a call is cancelled before it is requested, and then once more': [
    cancel,
    request(5),
    cancel,
    approve('amy'),
    claim(),
  ],
  'silence approves by the clock of a machine that is ahead': [
    ...[request(150), { type: 'drift', seconds: 25 } as const, wait(8), claim(), approve('amy'), wait(23), claim()],
  ],
  'a vote that was cast before the words of another one': [
    ...[request(150), approve('amy', 'send the list'), respond('ben', { type: 'approve' }, null, 'early'), claim()],
    ...[respond('ben', { type: 'approve' }, null, 'whole'), claim()],
  ],
  'a process starts again between two votes, and before silence approves': [
    ...[request(150), approve('amy'), restart, approve('ben'), claim(), restart, claim(), claim('k2')],
    ...[request(300, null, 2), wait(12), restart, wait(19), claim('k1', 2)],
  ],
  'the words of a person who was removed': [
    ...[request(5), { ...edit('amy', 150), instruction: 'send the list' }, { type: 'remove', person: 'amy' } as const],
    ...[approve('ben'), approve('cleo'), claim()],
  ],
  'a vote with a low assurance fills a seat': [
    ...[
      { type: 'policy', policy: policies[1] } as const,
      request(150),
      approve('amy@corp.example'),
      approve('dan'),
      claim(),
    ],
    ...[approve('ben'), claim()],
  ],
  'a grant for one principal covers the call of another': [grantOf('amy', { of: 'other' }), request(5), claim()],
  'a client runs its call before people have approved it': [
    ...[request(5, null, 3), output(3), approve('amy', null, 3), claim('k1', 3), output(3), output(3)],
  ],
};
