import type { Command, Decision } from './words.ts';

const request = (amount: number, expiresIn: number | null = null, call = 1): Command => ({
  ...{ type: 'request', call, amount, expiresIn, onBehalfOf: null },
});
const respond = (
  by: string,
  decision: Decision,
  instruction: string | null = null,
  seen: 'current' | 'first' = 'current',
): Command => ({ type: 'respond', call: 1, by, decision, seen, instruction });
const approve = (by: string, instruction: string | null = null): Command =>
  respond(by, { type: 'approve' }, instruction);
const deny = (by: string): Command => respond(by, { type: 'deny' });
const edit = (by: string, amount: number): Command => respond(by, { type: 'edit', amount });
const withdraw = (by: string): Command => ({ type: 'withdraw', call: 1, by });
const wait = (seconds: number): Command => ({ type: 'wait', seconds });
const ask: Command = { type: 'ask', call: 1, expiresIn: null };
const claim = (key = 'k1', call = 1): Command => ({ type: 'claim', call, key });
const identify: Command = { type: 'identify', person: 'amy@corp.example', as: 'amy' };

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
  'silence after an objection that was taken back': [request(150), deny('ben'), withdraw('ben'), wait(31), claim()],
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
  'the vote of a person who was removed': [
    ...([request(150), approve('amy'), { type: 'remove', person: 'amy' }, approve('ben'), claim()] as const),
  ],
  'one person with two names': [request(150), identify, approve('amy'), approve('amy@corp.example'), claim()],
  'two people who turn out to be one': [
    ...[request(150), approve('amy'), approve('amy@corp.example'), identify, approve('ben'), claim()],
  ],
  'a person with two names withdraws both votes': [
    ...[
      request(150),
      deny('amy'),
      respond('amy@corp.example', { type: 'answer', text: 'yes' }),
      identify,
      withdraw('amy'),
    ],
    ...[approve('ben'), approve('cleo'), claim()],
  ],
  'the only approver that is left is named by the agent, and silence approves': [
    ...([identify, { type: 'remove', person: 'cleo' }, { type: 'remove', person: 'ben' }] as const),
    ...[{ ...request(300), onBehalfOf: 'amy' } as Command, wait(31), claim()],
  ],
  'people are asked again when only the person whom the agent names is left': [
    ...[
      { ...request(1_500), onBehalfOf: 'dan' } as Command,
      wait(21),
      { type: 'remove', person: 'cleo' } as const,
      ask,
    ],
  ],
  'a tool that writes into its arguments': [request(5), approve('amy'), claim(), wait(1), claim('k2')],
  'an old claim is asked for again': [
    ...[request(5, null, 2), { ...approve('amy'), call: 2 } as Command],
    ...[claim('k1', 2), wait(61), claim('k2', 2), claim('k1', 2)],
  ],
};
