import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ApprovalView } from '@countersign/contracts';
import { approvalOf, nowMs } from '../testing/fixtures.js';
import { widthOf } from '../text/width.js';
import { reduceInbox } from './inbox-reducer.js';
import { renderInbox } from './inbox-screen.js';
import type { Effect, InboxState, Message } from './inbox-state.js';
import { initialInboxState } from './inbox-state.js';
import { createKeyReader } from './keys.js';

const one = approvalOf({ approvalId: 'apr_1', toolName: 'first', requestedAt: '2026-11-22T09:50:00.000Z' });
const two = approvalOf({ approvalId: 'apr_2', toolName: 'second', requestedAt: '2026-11-22T09:55:00.000Z' });
const three = approvalOf({ approvalId: 'apr_3', toolName: 'third', requestedAt: '2026-11-22T09:59:00.000Z' });
const size = { columns: 80, rows: 24, nowMs, url: 'http://127.0.0.1:7400' };

/** An inbox for tests: the input is terminal bytes and messages. */
function play(approvals: readonly ApprovalView[] = [one, two, three]) {
  let state: InboxState = initialInboxState;
  const effects: Effect[] = [];
  const tell = (message: Message): void => {
    const step = reduceInbox(state, message);
    state = step.state;
    if (step.effect !== undefined) effects.push(step.effect);
  };
  tell({ type: 'loaded', approvals, hasMore: false });
  const read = createKeyReader();
  return {
    tell,
    effects,
    state: () => state,
    press: (...texts: readonly string[]) => {
      for (const text of texts) {
        const { scrollMax, page, shown } = renderInbox(state, size);
        for (const key of read(text)) tell({ type: 'key', key, scrollMax, page, shown });
      }
    },
    screen: () => renderInbox(state, size).lines.map(({ text }) => text.trimEnd()),
    has: (text: string) => renderInbox(state, size).lines.some((line) => line.text.includes(text)),
  };
}

const up = '\u001b[A';
const down = '\u001b[B';
const pageDown = '\u001b[6~';
const escape = '\u001b';

it('begins no decision about an approval that cannot be read, and says why', () => {
  const detail = 'toolCall-x has an event that this version cannot read: upgrade Countersign';
  const inbox = play([{ ...one, mayDecide: { now: false, why: 'unreadable', detail } }]);
  inbox.press('a');
  expect(inbox.state().view.kind).toBe('list');
  expect(inbox.has('upgrade Countersign')).toBe(true);
  inbox.press('e', 'd', 'r');
  expect(inbox.effects).toEqual([]);
});

it('offers no decision to a person who may not decide now, says why, and does not count it as theirs', () => {
  const detail = 'Others are asked to answer this approval.';
  const inbox = play([{ ...one, mayDecide: { now: false, why: 'not-an-approver', detail } }, two]);
  expect(inbox.has('1 waiting, 1 for others')).toBe(true);
  inbox.press('k', '\r');
  expect(inbox.has(`You can look, not decide. ${detail}`)).toBe(true);
  expect(inbox.has('a approve')).toBe(false);
  inbox.press('a', 'e', 'd', 'r');
  expect([inbox.state().view.kind, inbox.effects]).toEqual(['card', []]);
  inbox.press('n');
  expect(inbox.has('a approve')).toBe(true);
});

describe('the list', () => {
  it('shows what waits, and a look at the chosen one', () => {
    const inbox = play();
    expect(inbox.screen().slice(0, 9)).toEqual([
      ' Countersign   3 waiting                                  http://127.0.0.1:7400',
      '  AGE       DEADLINE   TOOL                   AGENT            RUN',
      '▸ 10 min    57 min     first                  billing-agent    run-42',
      '  5 min     57 min     second                 billing-agent    run-42',
      '  1 min     57 min     third                  billing-agent    run-42',
      '',
      'first   pending',
      'agent    billing-agent in run run-42',
      'asked by billing-agent',
    ]);
    expect(inbox.screen().at(-1)).toBe('↑↓ choose  ⏎ look  a approve  e edit  d deny  r answer  q quit');
  });

  it.each([
    [[down], 'apr_2'],
    [['j', 'j'], 'apr_3'],
    [['j', 'j', 'j', 'j'], 'apr_3'],
    [['j', 'k'], 'apr_1'],
    [[up], 'apr_1'],
    [['G'], 'apr_3'],
    [['G', 'g'], 'apr_1'],
    [[pageDown], 'apr_3'],
  ])('%j chooses %s', (keys, id) => {
    const inbox = play();
    inbox.press(...keys);
    expect(inbox.state().selectedId).toBe(id);
  });

  it('is left with q and with Ctrl-C', () => {
    for (const key of ['q', '\u0003']) {
      const inbox = play();
      inbox.press(key);
      expect(inbox.effects).toEqual([{ type: 'quit' }]);
    }
  });

  it('says so when it is empty, and no key then does harm', () => {
    const inbox = play([]);
    expect(inbox.has('Nothing waits for an answer.')).toBe(true);
    inbox.press('a', 'd', 'e', 'r', '\r', up, down, 'n', 'p', escape);
    expect(inbox.effects).toEqual([]);
  });

  it('keeps the chosen one when others come and go', () => {
    const inbox = play([one, three]);
    inbox.press('j');
    inbox.tell({ type: 'changed', approval: two, nowMs });
    expect(inbox.state().approvals.map(({ approvalId }) => approvalId)).toEqual(['apr_1', 'apr_3', 'apr_2']);
    inbox.tell({ type: 'changed', approval: { ...one, state: 'denied' }, nowMs });
    expect(inbox.state()).toMatchObject({ selectedId: 'apr_3', notice: undefined });
  });

  it('puts the next one in the place of one that is gone', () => {
    const inbox = play();
    inbox.press('j');
    inbox.tell({ type: 'changed', approval: { ...two, state: 'expired' }, nowMs });
    expect(inbox.state().selectedId).toBe('apr_3');
    inbox.tell({ type: 'changed', approval: { ...three, state: 'expired' }, nowMs });
    expect(inbox.state().selectedId).toBe('apr_1');
  });

  it('takes no key for the next one before Enter, when the chosen one is gone', () => {
    for (const gone of [
      { type: 'changed', approval: { ...one, state: 'denied' }, nowMs },
      { type: 'loaded', approvals: [two, three], hasMore: false },
    ] as const) {
      const inbox = play();
      inbox.tell(gone);
      inbox.press('d');
      expect(inbox.state()).toMatchObject({ selectedId: 'apr_2', view: { kind: 'list' } });
      inbox.press('\r', 'd');
      expect(inbox.state()).toMatchObject({ selectedId: 'apr_2', view: { kind: 'form' } });
    }
  });

  it('says that the connection is lost', () => {
    const inbox = play();
    inbox.tell({ type: 'connection', connection: 'lost' });
    expect(inbox.has('connection lost, trying again')).toBe(true);
  });

  it('with more waiting than loaded, leaves a new one for later', () => {
    const inbox = play();
    inbox.tell({ type: 'loaded', approvals: [one], hasMore: true });
    inbox.tell({ type: 'changed', approval: three, nowMs });
    expect(inbox.state().approvals).toEqual([one]);
    expect(inbox.has('1+ waiting')).toBe(true);
  });

  it('has the highest risk first, the calls of one step together, and a new one in its place', () => {
    const batch: ApprovalView['batch'] = { batchId: 'step', mode: 'independent', callIds: [] };
    const risky = approvalOf({ approvalId: 'apr_4', risk: 'high', batch });
    const inbox = play([one, three, { ...two, batch }]);
    const ids = () => inbox.state().approvals.map(({ approvalId }) => approvalId);
    expect(ids()).toEqual(['apr_1', 'apr_3', 'apr_2']);
    inbox.tell({ type: 'changed', approval: risky, nowMs });
    expect(ids()).toEqual(['apr_4', 'apr_2', 'apr_1', 'apr_3']);
    expect(inbox.state().selectedId).toBe('apr_1');
    inbox.tell({ type: 'loaded', approvals: [one], hasMore: true });
    inbox.tell({ type: 'changed', approval: risky, nowMs });
    expect(ids()).toEqual(['apr_4', 'apr_1']);
  });
});

describe('the card', () => {
  const long = approvalOf({
    approvalId: 'apr_9',
    arguments: { lines: Array.from({ length: 60 }, (_, index) => index) },
  });

  it('shows the whole approval, and says what is not on the screen', () => {
    const inbox = play([long]);
    inbox.press('\r');
    expect(inbox.has('── lines 1–21 of')).toBe(true);
    inbox.press('G');
    expect(inbox.has('Delete /etc/hosts')).toBe(true);
    expect(inbox.has('more below')).toBe(false);
    inbox.press(up, 'k', 'g', pageDown, ' ');
    expect(inbox.has('── lines 41–61 of')).toBe(true);
  });

  it('goes to its neighbours and back to the list', () => {
    const inbox = play();
    inbox.press('\r', 'n');
    expect(inbox.has('second   pending')).toBe(true);
    inbox.press('p', 'p');
    expect(inbox.has('first   pending')).toBe(true);
    inbox.press('q');
    expect(inbox.state().view.kind).toBe('list');
  });

  it('that is answered elsewhere is taken away with a kind word', () => {
    const inbox = play();
    inbox.press('\r');
    const response = {
      respondedBy: 'bob',
      onBehalfOf: null,
      decision: { type: 'approve' },
      reason: null,
      respondedAt: '2026-11-22T09:59:57.000Z',
      via: 'slack',
      counted: true,
      number: 1,
    } as const;
    inbox.tell({
      type: 'changed',
      approval: { ...one, state: 'approved', responses: [response], resolvedAt: response.respondedAt },
      nowMs,
    });
    expect(inbox.has('bob approved this 3 s ago via slack. Nothing of yours was sent.')).toBe(true);
    expect(inbox.state()).toMatchObject({ view: { kind: 'list' }, selectedId: 'apr_2' });
  });
});

describe('an answer', () => {
  it('to approve is sent with what was seen, reason and instruction', () => {
    const inbox = play();
    inbox.press('a', 's', 'u', 'r', 'x', '\u007f', 'e', '\t', '\u001b[200~then verify\nthe backup\n\u001b[201~');
    expect(inbox.screen().slice(-4)).toEqual([
      'Approve: it runs exactly as shown.',
      '  Reason            sure',
      '▸ Instruction       then verify the backup▏',
      '⏎ send  tab next field  PgUp/PgDn scroll  esc back',
    ]);
    expect(inbox.effects).toEqual([]);
    inbox.press('\r');
    expect(inbox.effects).toEqual([
      {
        type: 'respond',
        approval: one,
        decision: { type: 'approve' },
        remarks: {
          reason: 'sure',
          instruction: 'then verify the backup',
          proposalDigest: one.proposal.digest,
          shownDigest: one.shownDigest,
        },
      },
    ]);
    expect(inbox.has('Sending …')).toBe(true);
    inbox.press('\r', 'a');
    expect(inbox.effects).toHaveLength(1);
    inbox.tell({ type: 'sent', approval: { ...one, state: 'approved' }, words: 'Approved: first.' });
    expect(inbox.has('Approved: first.')).toBe(true);
    expect(inbox.state()).toMatchObject({ selectedId: 'apr_2', view: { kind: 'list' }, sendingId: undefined });
  });

  it('is not given by a pasted text', () => {
    const inbox = play();
    inbox.press('a\r', '\u001b[200~d\r\u001b[201~');
    expect(inbox.state().view.kind).toBe('list');
    inbox.press('a', 'yes\r');
    expect(inbox.effects).toEqual([]);
  });

  it('can be thought over', () => {
    const inbox = play();
    inbox.press('d', 'n', 'o', '\u0017', '\u0015', escape, 'q', 'q');
    expect(inbox.effects).toEqual([{ type: 'quit' }]);
  });

  it('without a reason is not sent where one is required', () => {
    const needs = approvalOf({ requirement: { ...one.requirement, requireReason: ['deny'] } });
    const inbox = play([needs]);
    inbox.press('d', '\u001b[Z', '\r');
    expect(inbox.has('A reason is required here.')).toBe(true);
    expect(inbox.effects).toEqual([]);
    inbox.press('n', 'o', '\r');
    expect(inbox.effects).toMatchObject([{ decision: { type: 'deny' }, remarks: { reason: 'no' } }]);
  });

  it('that is not allowed is not begun', () => {
    const inbox = play([approvalOf({ allowedDecisions: ['approve', 'deny'] })]);
    inbox.press('e');
    expect(inbox.has('"edit" is not allowed here; allowed: approve, deny.')).toBe(true);
  });

  it.each([
    ['{"rows":3}', 'JSON', '{"rows":3}'],
    ['42', 'JSON', '42'],
    ['done by hand', 'plain text', '"done by hand"'],
  ])('in place of the tool: %s is sent as %s', (text, kind, outputJson) => {
    const inbox = play();
    inbox.press('r', '\r');
    expect(inbox.has('The result is empty.')).toBe(true);
    inbox.press(`\u001b[200~${text}\u001b[201~`);
    expect(inbox.has(`sent as ${kind}`)).toBe(true);
    inbox.press('\r');
    expect(inbox.effects).toMatchObject([{ decision: { type: 'answer', outputJson } }]);
  });

  it('that is refused can be given again', () => {
    const inbox = play();
    inbox.press('a', 'x', '\r');
    inbox.tell({ type: 'refused', approvalId: 'apr_1', words: 'This was requested by you.' });
    expect(inbox.has('This was requested by you.')).toBe(true);
    inbox.press('\r');
    expect(inbox.effects).toHaveLength(2);
  });

  it("is not called a loss when one's own answer is what changed it", () => {
    const inbox = play();
    inbox.press('a', '\r');
    inbox.tell({ type: 'changed', approval: { ...one, state: 'approved' }, nowMs });
    expect(inbox.state().notice).toBeUndefined();
    inbox.tell({ type: 'sent', approval: { ...one, state: 'approved' }, words: 'Approved: first.' });
    expect(inbox.has('Approved: first.')).toBe(true);
  });

  it('is taken back to the card when the arguments change under it', () => {
    const inbox = play();
    inbox.press('a');
    inbox.tell({
      type: 'changed',
      approval: {
        ...one,
        proposal: { ...one.proposal, digest: `sha256:${'ef'.repeat(32)}` },
        shownDigest: `sha256:${'ef'.repeat(32)}`,
        arguments: { path: '/' },
      },
      nowMs,
    });
    expect(inbox.has('Another approver has just changed it')).toBe(true);
    expect(inbox.state().view.kind).toBe('card');
    inbox.press('\r', 'a', '\r');
    expect(inbox.effects).toMatchObject([{ remarks: { proposalDigest: `sha256:${'ef'.repeat(32)}` } }]);
  });

  const changedOne = { ...one, shownDigest: `sha256:${'ef'.repeat(32)}`, arguments: { path: '/' } };

  it.each([
    ['changed', changedOne, 'card'],
    ['answered', { ...one, state: 'approved' }, 'list'],
  ] as const)('takes no letter of a reason for a key, once its approval was %s under it', (_, approval, view) => {
    const inbox = play();
    inbox.press('a', 't', 'o');
    inbox.tell({ type: 'changed', approval, nowMs });
    const { selectedId } = inbox.state();
    inbox.press('l', 'd', ' ', 'n', 'e', 'a', 'r', 'j', 'q', '\r');
    expect(inbox.effects).toEqual([]);
    expect(inbox.state()).toMatchObject({ view: { kind: view }, selectedId });
    inbox.press('a', '\r');
    expect(inbox.effects).toMatchObject([{ type: 'respond', approval: { approvalId: selectedId } }]);
  });

  it('takes no letter of a reason for a key, once the list was read again without its approval', () => {
    const inbox = play();
    inbox.press('a', 't', 'o');
    inbox.tell({ type: 'loaded', approvals: [two, three], hasMore: false });
    inbox.press('l', 'a', 'r', '\r');
    expect(inbox.effects).toEqual([]);
    expect(inbox.state()).toMatchObject({ view: { kind: 'list' }, selectedId: 'apr_2' });
  });

  it('is not begun on a card that has changed since, before Enter', () => {
    const inbox = play();
    inbox.press('\r');
    inbox.tell({ type: 'changed', approval: changedOne, nowMs });
    inbox.press('a', 'd', 'e');
    expect(inbox.effects).toEqual([]);
    expect(inbox.state().view.kind).toBe('card');
    expect(inbox.has('Another approver has just changed it')).toBe(true);
    inbox.press('\r', 'd');
    expect(inbox.state().view.kind).toBe('form');
  });

  it.each([
    ['\r', 'card'],
    ['a', 'card'],
    ['G', 'list'],
  ])('is not begun before Enter where the list was read again with a change: %j', (key, view) => {
    const inbox = play([one]);
    inbox.press(key);
    inbox.tell({ type: 'loaded', approvals: [changedOne], hasMore: false });
    expect(inbox.has('Another approver has just changed it')).toBe(true);
    inbox.press('a', 'd', 'e', 'a');
    expect(inbox.effects).toEqual([]);
    expect(inbox.state().view.kind).toBe(view);
    inbox.press('\r', 'a', '\r');
    expect(inbox.effects).toMatchObject([{ remarks: { shownDigest: changedOne.shownDigest } }]);
  });

  it('is not begun before Enter where another call of its step has changed: an approval releases both', () => {
    const others = (digest: string) => ({ ...one, shownOthersDigest: `sha256:${digest.repeat(32)}` });
    const inbox = play([others('ab')]);
    inbox.press('a', 'x');
    expect(inbox.has('To approve this one may release the other calls of its step too')).toBe(true);
    inbox.tell({ type: 'loaded', approvals: [others('ab')], hasMore: false });
    expect(inbox.state().view.kind).toBe('form');
    inbox.tell({ type: 'loaded', approvals: [others('cd')], hasMore: false });
    inbox.press('a');
    expect(inbox.has('Another call of its step has just changed')).toBe(true);
    expect(inbox.state().view.kind).toBe('card');
    inbox.press('\r', 'a', '\r');
    expect(inbox.effects).toMatchObject([{ remarks: { shownOthersDigest: others('cd').shownOthersDigest } }]);
  });

  it('goes on when the list was read again without a change of what is on the screen', () => {
    const inbox = play();
    inbox.press('a', 'x');
    inbox.tell({ type: 'loaded', approvals: [{ ...one, round: 1 }, three], hasMore: false });
    inbox.press('y', '\r');
    expect(inbox.effects).toMatchObject([{ remarks: { reason: 'xy' } }]);
  });

  it.each(['changed', 'loaded'] as const)('is not begun on the next one after the only one was gone: %s', (type) => {
    const inbox = play([one]);
    if (type === 'loaded') inbox.tell({ type, approvals: [], hasMore: false });
    else inbox.tell({ type, approval: { ...one, state: 'denied' }, nowMs });
    inbox.tell({ type: 'changed', approval: two, nowMs });
    inbox.press('a', 'd');
    expect(inbox.state().view.kind).toBe('list');
    expect(inbox.screen().at(-1)).toBe('⏎ goes on');
  });

  it('that is refused because it is gone gives no key to the next one before Enter', () => {
    const inbox = play();
    inbox.press('a', '\r');
    inbox.tell({ type: 'loaded', approvals: [two, three], hasMore: false });
    inbox.tell({ type: 'refused', approvalId: 'apr_1', words: 'bob approved this.' });
    inbox.press('a', 'd');
    expect(inbox.state()).toMatchObject({ selectedId: 'apr_2', view: { kind: 'list' } });
    expect(inbox.has('bob approved this.')).toBe(true);
  });

  it('is taken back to the card when another approver tells the agent something', () => {
    const inbox = play();
    inbox.press('a');
    const told = {
      instructions: [{ respondedBy: 'ann', instruction: 'and repeat it' }],
      shownDigest: `sha256:${'ef'.repeat(32)}`,
    };
    inbox.tell({ type: 'changed', approval: { ...one, ...told }, nowMs });
    expect(inbox.state().view.kind).toBe('card');
    expect(inbox.has('ann: and repeat it')).toBe(true);
  });

  it('stays open when only another vote came in', () => {
    const inbox = play();
    inbox.press('a', 'x');
    inbox.tell({ type: 'changed', approval: { ...one, round: 1 }, nowMs });
    expect(inbox.state().view.kind).toBe('form');
  });
});

describe('what does not fit on the screen', () => {
  const long = approvalOf({ approvalId: 'apr_9', arguments: { command: 'echo\n'.repeat(60) } });
  const unseen = 'were not on the screen yet: PgUp and PgDn show them.';
  const pages = (count: number) => Array.from({ length: count }, () => pageDown);

  it('is approved only after all of it was on the screen', () => {
    const inbox = play([long]);
    inbox.press('a', '\r');
    expect(inbox.has(unseen)).toBe(true);
    expect(inbox.effects).toEqual([]);
    inbox.press(...pages(20), '\r');
    expect(inbox.effects).toMatchObject([{ type: 'respond', decision: { type: 'approve' } }]);
  });

  it('may be read on the card before', () => {
    const inbox = play([long]);
    inbox.press('\r', ...pages(9), 'a', '\r');
    expect(inbox.effects).toMatchObject([{ type: 'respond', decision: { type: 'approve' } }]);
  });

  it('is not seen by a jump to its end, and the foot names what is missing', () => {
    const inbox = play([long]);
    inbox.press('\r', 'G', 'a', '\r');
    expect(inbox.effects).toEqual([]);
    expect(inbox.screen().find((line) => line.includes(unseen))).toBe(`Lines 22–60 ${unseen}`);
    inbox.press(...pages(2), '\r');
    expect(inbox.effects).toEqual([]);
    inbox.press(...pages(4), '\r');
    expect(inbox.effects).toMatchObject([{ type: 'respond', decision: { type: 'approve' } }]);
  });

  it('may be read from its end', () => {
    const inbox = play([long]);
    inbox.press('\r', 'G', ...Array.from({ length: 9 }, () => '\u001b[5~'), 'a', '\r');
    expect(inbox.effects).toMatchObject([{ type: 'respond', decision: { type: 'approve' } }]);
  });

  it('may be read before Enter, when it has changed', () => {
    const inbox = play([long]);
    inbox.press('\r');
    inbox.tell({ type: 'changed', approval: { ...long, shownDigest: `sha256:${'ef'.repeat(32)}` }, nowMs });
    inbox.press(...pages(9), '\r', 'a', '\r');
    expect(inbox.effects).toMatchObject([{ type: 'respond', decision: { type: 'approve' } }]);
  });

  it('has to be seen again when it has changed', () => {
    const inbox = play([long]);
    inbox.press('\r', ...pages(9), 'g');
    inbox.tell({ type: 'changed', approval: { ...long, shownDigest: `sha256:${'ef'.repeat(32)}` }, nowMs });
    inbox.press('\r', 'a', '\r');
    expect(inbox.has(unseen)).toBe(true);
    expect(inbox.effects).toEqual([]);
  });

  it('may be denied unseen', () => {
    const inbox = play([long]);
    inbox.press('d', '\r');
    expect(inbox.effects).toMatchObject([{ decision: { type: 'deny' } }]);
  });

  it('of an edit is the change, which has to be seen too', () => {
    const inbox = play([long]);
    inbox.press('e');
    const value = { command: 'other\n'.repeat(60) };
    inbox.tell({ type: 'edited', approval: long, value, text: JSON.stringify(value) });
    inbox.press('\r');
    expect(inbox.effects.filter(({ type }) => type === 'respond')).toEqual([]);
    inbox.press(...pages(30), '\r');
    expect(inbox.effects.at(-1)).toMatchObject({ type: 'respond', decision: { type: 'edit' } });
  });
});

describe('an edit', () => {
  const value = { path: '/tmp/hosts' };
  const text = '{"path": "/tmp/hosts"}';

  it('opens the editor, then shows the change, then sends the very text', () => {
    const inbox = play();
    inbox.press('e');
    expect(inbox.effects).toEqual([{ type: 'edit', approval: one, text: undefined }]);
    inbox.tell({ type: 'edited', approval: one, value, text });
    inbox.press(pageDown);
    expect(inbox.has('-   "path": "/etc/hosts"')).toBe(true);
    expect(inbox.has('+   "path": "/tmp/hosts"')).toBe(true);
    inbox.press('\r');
    expect(inbox.effects.at(-1)).toMatchObject({
      decision: { type: 'edit', argumentsJson: text },
      remarks: { proposalDigest: one.proposal.digest },
    });
  });

  it('is sent only after the card above the change was on the screen too', () => {
    const items = Array.from({ length: 30 }, (_, n) => `item ${String(n)}`);
    const labels = { cwd: '/srv/production' };
    const whole = approvalOf({ approvalId: 'apr_9', arguments: { items, danger: 'rm -rf /' }, labels });
    const inbox = play([whole]);
    const edited = { items: items.with(2, 'other'), danger: 'rm -rf /' };
    inbox.tell({ type: 'edited', approval: whole, value: edited, text: JSON.stringify(edited) });
    const seen = new Set(inbox.screen());
    inbox.press('\r');
    expect(inbox.effects).toEqual([]);
    for (let pages = 0; pages < 9; pages += 1) {
      inbox.press(pageDown);
      for (const line of inbox.screen()) seen.add(line);
    }
    inbox.press('\r');
    expect(inbox.effects).toMatchObject([{ decision: { type: 'edit' } }]);
    for (const words of ['cwd: /srv/production', '"danger": "rm -rf /"', '"item 29"', '+     "other"'])
      expect([...seen].join('\n')).toContain(words);
  });

  it('that is no JSON can be gone on with', () => {
    const inbox = play();
    inbox.press('e');
    inbox.tell({ type: 'edit-failed', approvalId: 'apr_1', text: '{', words: 'The saved text is not JSON.' });
    expect(inbox.has('The saved text is not JSON. Press e to go on editing.')).toBe(true);
    inbox.press('e');
    expect(inbox.effects.at(-1)).toMatchObject({ type: 'edit', text: '{' });
  });

  it('whose editor could not be run says so', () => {
    const inbox = play();
    inbox.tell({ type: 'edit-failed', approvalId: 'apr_1', text: undefined, words: 'No editor.' });
    expect(inbox.state()).toMatchObject({ draft: undefined, notice: { text: 'No editor.' } });
  });

  it('goes back to the card, and keeps the text, when another person changed it meanwhile', () => {
    const inbox = play();
    inbox.press('e');
    const other = { ...one, shownDigest: `sha256:${'ef'.repeat(32)}`, arguments: { path: '/' } };
    inbox.tell({ type: 'loaded', approvals: [other, two], hasMore: false });
    inbox.tell({ type: 'edited', approval: one, value, text });
    expect(inbox.state().view.kind).toBe('card');
    expect(inbox.has('Another approver has just changed it')).toBe(true);
    inbox.press('\r', 'e');
    expect(inbox.effects.at(-1)).toEqual({ type: 'edit', approval: other, text });
  });

  it('that changed nothing sends nothing', () => {
    const inbox = play();
    inbox.tell({ type: 'edited', approval: one, value: { path: '/etc/hosts' }, text: '{}' });
    expect(inbox.has('nothing to send')).toBe(true);
  });

  it('sends nothing when the approval was answered meanwhile', () => {
    const inbox = play([two]);
    inbox.tell({ type: 'edited', approval: one, value, text });
    expect(inbox.has('While you were editing, this was answered.')).toBe(true);
  });
});

describe('the screen', () => {
  it('fits the terminal and never throws, for any keys and any events', () => {
    const hostile = approvalOf({
      approvalId: 'apr_8',
      toolName: '\u202eevil\u001b[2J'.repeat(20),
      agentId: '数'.repeat(100),
      arguments: { text: 'a\nb\u001b'.repeat(50) },
    });
    const keys = fc.constantFrom(
      'a',
      'e',
      'd',
      'r',
      'j',
      'k',
      'n',
      'p',
      'q',
      'g',
      'G',
      ' ',
      '\r',
      '\t',
      up,
      down,
      escape,
      pageDown,
      '\u007f',
      'x',
    );
    const message = fc.constantFrom<Message>(
      { type: 'changed', approval: { ...one, state: 'approved' }, nowMs },
      { type: 'changed', approval: two, nowMs },
      { type: 'loaded', approvals: [two, hostile], hasMore: true },
      { type: 'refused', approvalId: 'apr_1', words: 'no' },
      { type: 'edited', approval: two, value: { a: 'x\ny' }, text: '{}' },
      { type: 'connection', connection: 'lost' },
    );
    const steps = fc.array(fc.oneof(keys, message), { maxLength: 25 });
    const columns = fc.integer({ min: 40, max: 200 });
    const rows = fc.integer({ min: 6, max: 60 });
    fc.assert(
      fc.property(steps, columns, rows, (all, width, height) => {
        const inbox = play([one, hostile, three]);
        for (const step of all) {
          if (typeof step === 'string') inbox.press(step);
          else inbox.tell(step);
          const { lines } = renderInbox(inbox.state(), { ...size, columns: width, rows: height });
          expect(lines.length).toBeLessThanOrEqual(height);
          for (const line of lines) {
            expect(widthOf(line.text)).toBeLessThanOrEqual(width);
            expect(line.text).not.toMatch(/\p{Cc}|\u202e/u);
          }
        }
      }),
    );
  });
});
