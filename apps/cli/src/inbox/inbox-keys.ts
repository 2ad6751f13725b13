import type { DecisionType } from '@countersign/contracts';
import { createForm, submission, typeInto } from './form.js';
import type { Form } from './form.js';
import { excludedWords } from '../view/approval-card.js';
import type { InboxState, Message, Step } from './inbox-state.js';
import { selectedOf } from './inbox-state.js';
import type { Key } from './keys.js';
import { firstUnseen, withShown } from './seen-lines.js';
import type { ShownLines } from './seen-lines.js';

type KeyMessage = Extract<Message, { type: 'key' }>;

/** The inbox after a key. */
export function pressKey(state: InboxState, message: KeyMessage): Step {
  const { key } = message;
  if (key.name === 'interrupt') return { state, effect: { type: 'quit' } };
  if (key.name === 'redraw') return { state, effect: { type: 'redraw' } };
  if (state.sendingId !== undefined) return { state };
  const looked = { ...state, seen: seenIn(state, message) };
  if (state.isInterrupted) return { state: afterInterruption(looked, message) };
  const calm = { ...looked, notice: undefined };
  switch (state.view.kind) {
    case 'list':
      return inList(calm, key, message.page);
    case 'card':
      return inCard(calm, state.view.scroll, message);
    case 'form':
      return inForm(calm, state.view.form, state.view.scroll, message);
  }
}

/** Enter goes on, and the card can be scrolled before. Every other key may be meant for what was on the screen before. */
function afterInterruption(state: InboxState, { key, scrollMax, page }: KeyMessage): InboxState {
  if (key.name === 'enter') return { ...state, isInterrupted: false, notice: undefined };
  const { view } = state;
  if (view.kind !== 'card' || (key.name !== 'pageup' && key.name !== 'pagedown')) return state;
  return { ...state, view: { kind: 'card', scroll: scrolled(key.name, view.scroll, scrollMax, page) } };
}

/** Remembers the lines of the card or the form that were on the screen in the last frame. */
function seenIn(state: InboxState, { shown }: KeyMessage): InboxState['seen'] {
  const { view, seen } = state;
  const subject = view.kind === 'form' ? shownIn(view.form) : selectedOf(state)?.shownDigest;
  if (view.kind === 'list' || shown === undefined || subject === undefined) return seen;
  return withShown(seen, subject, shown);
}

/** Names what a form shows: the card, and the new arguments of an edit. */
function shownIn({ approval, edited }: Form): string {
  return edited === undefined ? approval.shownDigest : `${approval.shownDigest} ${edited.text}`;
}

const decisionKeys: Readonly<Record<string, DecisionType>> = { a: 'approve', e: 'edit', d: 'deny', r: 'answer' };
const movements: Readonly<Record<string, number>> = { up: -1, down: 1, k: -1, j: 1 };
const ends: Readonly<Record<string, 'first' | 'last'>> = { home: 'first', g: 'first', end: 'last', G: 'last' };

/** The key as one word: its name, or the letter. Pasted text is not a command. */
function wordOf(key: Key): string {
  if (key.name === 'paste') return '';
  return key.name === 'character' ? key.text : key.name;
}

function inList(state: InboxState, key: Key, page: number): Step {
  const word = wordOf(key);
  const decision = decisionKeys[word];
  if (decision !== undefined) return begin(state, decision);
  if (word === 'q') return { state, effect: { type: 'quit' } };
  if (word === 'enter' || word === 'right' || word === 'l') return { state: openCard(state) };
  const end = ends[word];
  if (end !== undefined) return { state: choose(state, end === 'first' ? 0 : Number.MAX_SAFE_INTEGER) };
  const step = movements[word] ?? pagesOf(word) * page;
  return { state: step === 0 ? state : choose(state, placeOf(state) + step) };
}

function pagesOf(word: string): number {
  if (word === 'pageup') return -1;
  return word === 'pagedown' || word === ' ' ? 1 : 0;
}

function placeOf(state: InboxState): number {
  return Math.max(
    0,
    state.approvals.findIndex(({ approvalId }) => approvalId === state.selectedId),
  );
}

function choose(state: InboxState, place: number): InboxState {
  const bounded = Math.max(0, Math.min(place, state.approvals.length - 1));
  return { ...state, selectedId: state.approvals[bounded]?.approvalId };
}

function openCard(state: InboxState): InboxState {
  return selectedOf(state) === undefined ? state : { ...state, view: { kind: 'card', scroll: 0 } };
}

function inCard(state: InboxState, scroll: number, { key, scrollMax, page }: KeyMessage): Step {
  const word = wordOf(key);
  const decision = decisionKeys[word];
  if (decision !== undefined) return begin(state, decision);
  if (word === 'q' || word === 'escape' || word === 'left' || word === 'h')
    return { state: { ...state, view: { kind: 'list' } } };
  if (word === 'n' || word === 'p') return { state: openCard(choose(state, placeOf(state) + (word === 'n' ? 1 : -1))) };
  return { state: { ...state, view: { kind: 'card', scroll: scrolled(word, scroll, scrollMax, page) } } };
}

function scrolled(word: string, scroll: number, scrollMax: number, page: number): number {
  const end = ends[word];
  if (end !== undefined) return end === 'first' ? 0 : scrollMax;
  const step = movements[word] ?? pagesOf(word) * Math.max(1, page - 1);
  return Math.max(0, Math.min(scrollMax, scroll + step));
}

function begin(state: InboxState, type: DecisionType): Step {
  const approval = selectedOf(state);
  if (approval === undefined) return { state };
  const excluded = excludedWords(approval);
  if (excluded !== undefined) return { state: { ...state, notice: { text: excluded, tone: 'red' } } };
  if (!approval.allowedDecisions.includes(type)) {
    const text = `"${type}" is not allowed here; allowed: ${approval.allowedDecisions.join(', ')}.`;
    return { state: { ...state, notice: { text, tone: 'yellow' } } };
  }
  if (type === 'edit') {
    const text = state.draft?.approvalId === approval.approvalId ? state.draft.text : undefined;
    return { state, effect: { type: 'edit', approval, text } };
  }
  return { state: { ...state, view: { kind: 'form', scroll: 0, form: createForm(type, approval) } } };
}

function inForm(state: InboxState, form: Form, scroll: number, message: KeyMessage): Step {
  const { key, scrollMax, page } = message;
  switch (key.name) {
    case 'escape':
      return { state: { ...state, view: { kind: 'card', scroll: 0 } } };
    case 'enter':
      return submit(state, form, scroll, message);
    case 'pageup':
    case 'pagedown':
      return { state: { ...state, view: { kind: 'form', form, scroll: scrolled(key.name, scroll, scrollMax, page) } } };
    default:
      return { state: { ...state, view: { kind: 'form', scroll, form: typeInto(form, key) } } };
  }
}

function submit(state: InboxState, form: Form, scroll: number, { shown }: KeyMessage): Step {
  const filled = submission(form);
  if ('missing' in filled) {
    const active = Math.max(
      0,
      form.fields.findIndex(({ name }) => name === filled.field),
    );
    const view = { kind: 'form', scroll, form: { ...form, active } } as const;
    return { state: { ...state, view, notice: { text: filled.missing, tone: 'red' } } };
  }
  const { approval, type } = form;
  // A person approves only what was on the screen as a whole.
  const isAgreed = type === 'approve' || type === 'edit';
  const unseen = isAgreed && shown !== undefined ? firstUnseen(state.seen, shownIn(form), shown) : undefined;
  if (unseen !== undefined) return { state: { ...state, notice: { text: unseenWords(unseen), tone: 'yellow' } } };
  return { state: { ...state, sendingId: approval.approvalId }, effect: { type: 'respond', approval, ...filled } };
}

function unseenWords({ from, to }: Pick<ShownLines, 'from' | 'to'>): string {
  return `Lines ${String(from + 1)}–${String(to)} were not on the screen yet: PgUp and PgDn show them.`;
}
