import { expect } from '@jest/globals';
import { CountersignError } from '@countersign/worker-sdk';
import type { ApprovalView } from '@countersign/worker-sdk';
import { functionApprovalRequest, MappingError, responseToApproval } from '@countersign/worker-sdk/mappings';
import type { FunctionApprovalRequestContent, FunctionApprovalResponseContent } from '@countersign/worker-sdk/mappings';
import fc from 'fast-check';
import { sent } from './desk.js';
import type { Desk } from './desk.js';

const people = ['kim', 'mo'] as const;
type Person = (typeof people)[number];

type Act =
  | { readonly type: 'ask' | 'withdraw'; readonly who: Person }
  | { readonly type: 'answer'; readonly who: Person; readonly approved: boolean }
  /** All messages of the chat, in the name of one person. */
  | { readonly type: 'replay'; readonly who: Person; readonly spelled: string }
  /** Another approver, in the inbox. */
  | { readonly type: 'told' | 'edited' | 'untold' };

const who = fc.constantFrom(...people);
const act: fc.Arbitrary<Act> = fc.oneof(
  fc.record({ type: fc.constant('ask' as const), who }),
  { weight: 3, arbitrary: fc.record({ type: fc.constant('answer' as const), who, approved: fc.boolean() }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('withdraw' as const), who }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('replay' as const), who, spelled: fc.constantFrom('', 'K') }) },
  fc.record({ type: fc.constantFrom('told' as const, 'edited' as const, 'untold' as const) }),
);

/** A person changes their mind: the second answer is refused, and then the first one is withdrawn. */
const changeOfMind = fc.tuple(who, fc.boolean()).map(([person, approved]): readonly Act[] => [
  { type: 'answer', who: person, approved },
  { type: 'answer', who: person, approved: !approved },
  { type: 'withdraw', who: person },
]);

/** What people do in a chat that two of them share, in some order. */
export const acts = fc
  .array(fc.oneof({ weight: 4, arbitrary: fc.tuple(act) }, changeOfMind), { minLength: 3, maxLength: 9 })
  .map((parts): readonly Act[] => parts.flat());

interface Message {
  readonly content: FunctionApprovalResponseContent;
  readonly by: Person;
  /** How many withdrawals of this person came before its question. */
  readonly askedAfter: number;
  isPassed: boolean;
}

interface Chat {
  readonly desk: Desk;
  readonly approvalId: string;
  readonly history: Message[];
  readonly questions: Map<Person, { readonly request: FunctionApprovalRequestContent; readonly askedAfter: number }>;
  readonly withdrawals: Map<Person, number>;
  /** The number of the last recorded response. */
  last: number;
}

/** Plays the acts on a pending approval, and checks each response that is recorded. Returns how many there were. */
export async function play(desk: Desk, approvalId: string, all: readonly Act[]): Promise<number> {
  const chat: Chat = { desk, approvalId, history: [], questions: new Map(), withdrawals: new Map(), last: 0 };
  let recorded = 0;
  for (const one of all) recorded += await step(chat, one);
  return recorded;
}

async function step(chat: Chat, one: Act): Promise<number> {
  switch (one.type) {
    case 'ask':
      await ask(chat, one.who);
      return 0;
    case 'withdraw':
      await withdraw(chat, one.who);
      return 0;
    case 'answer':
      return answer(chat, one);
    case 'replay': {
      const id = one.spelled === '' ? one.who : one.who.toUpperCase();
      return passAll(chat, one.who, id);
    }
    case 'told':
    case 'edited':
    case 'untold':
      await inInbox(chat, one.type);
      return 0;
  }
}

const read = ({ desk, approvalId }: Chat, id: string): Promise<ApprovalView> => desk.person(id).getApproval(approvalId);

async function ask(chat: Chat, person: Person): Promise<void> {
  const request = sent(functionApprovalRequest(await read(chat, person), `desk#${person}`));
  chat.questions.set(person, { request, askedAfter: chat.withdrawals.get(person) ?? 0 });
}

/** To the question that is on the screen, which may be an old one. */
async function answer(chat: Chat, { who: by, approved }: Act & { readonly type: 'answer' }): Promise<number> {
  if (!chat.questions.has(by)) await ask(chat, by);
  const { request, askedAfter } = chat.questions.get(by) ?? {};
  if (request === undefined || askedAfter === undefined) throw new Error('nothing is asked');
  const { id, functionCall } = request;
  const content = { type: 'function_approval_response', id, functionCall, approved } as const;
  chat.history.push({ content, by, askedAfter, isPassed: false });
  return passAll(chat, by, by);
}

async function withdraw(chat: Chat, person: Person): Promise<void> {
  const { responses } = await read(chat, person);
  if (!responses.some(({ counted, respondedBy }) => counted && isOf(person, respondedBy))) return;
  await chat.desk.withdraw(chat.approvalId, person);
  chat.withdrawals.set(person, (chat.withdrawals.get(person) ?? 0) + 1);
}

const isOf = (person: Person, principal: string): boolean => principal.toLowerCase() === `desk#${person}`;

/** As an application does that passes the whole history each time. */
async function passAll(chat: Chat, person: Person, id: string): Promise<number> {
  let recorded = 0;
  for (const message of chat.history) {
    if (await isRecordedNow(chat, message, id)) {
      // A "yes" is of the person who gave this answer to a question made for them, when it comes first, and of no question
      // before a withdrawal. A "no" to the proposal that is pending restricts only: it may come again, and be of an older question.
      const isYes = message.content.approved;
      const asked = chat.withdrawals.get(person) ?? 0;
      expect({ person, isPassed: isYes && message.isPassed, askedAfter: isYes ? message.askedAfter : asked }).toEqual({
        ...{ person: message.by, isPassed: false, askedAfter: asked },
      });
      recorded += 1;
    }
    if (message.by === person) message.isPassed = true;
  }
  return recorded;
}

async function isRecordedNow(chat: Chat, { content, by }: Message, id: string): Promise<boolean> {
  const client = chat.desk.person(id);
  try {
    const { approvalId, body, idempotencyKey } = responseToApproval(content, await read(chat, id), {
      ...{ person: `desk#${id}`, signIn: 'first' },
      ...{ sentBy: `desk#${by}`, sentIn: 'first' },
    });
    const { responses } = await client.respond(approvalId, body, { idempotencyKey });
    const last = Math.max(0, ...responses.map(({ number }) => number));
    const isNew = last > chat.last;
    chat.last = Math.max(last, chat.last);
    return isNew;
  } catch (error) {
    if (error instanceof MappingError || error instanceof CountersignError) return false;
    throw error;
  }
}

/** Lee responds, with an instruction or with other arguments, or takes that back. */
async function inInbox(chat: Chat, type: 'told' | 'edited' | 'untold'): Promise<void> {
  const { responses, proposal, shownDigest } = await read(chat, 'lee');
  const stands = responses.some(({ counted, respondedBy }) => counted && respondedBy === 'desk#lee');
  if (stands !== (type === 'untold')) return;
  if (type === 'untold') return chat.desk.withdraw(chat.approvalId, 'lee');
  const seen = { proposalDigest: proposal.digest, shownDigest };
  const decision =
    type === 'told'
      ? ({ type: 'approve' } as const)
      : ({ type: 'edit', arguments: { table: 'four, edited' } } as const);
  const view = await chat.desk.person('lee').respond(chat.approvalId, { decision, ...seen, instruction: 'then call' });
  chat.last = Math.max(chat.last, ...view.responses.map(({ number }) => number));
}
