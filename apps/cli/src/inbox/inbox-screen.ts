import type { ApprovalView } from '@countersign/contracts';
import { ageWords, deadlineWords, nameWords, printable } from '@countersign/text';
import { codePointsOf } from '../text/printable.js';
import { cut, fit, widthOf } from '../text/width.js';
import { agreedEndOf, approvalCard, excludedWords } from '../view/approval-card.js';
import { changeLines } from '../view/argument-lines.js';
import type { Line } from '../view/line.js';
import { wrapped } from '../view/line.js';
import type { Form } from './form.js';
import { resultOf } from './form.js';
import type { InboxState } from './inbox-state.js';
import { selectedOf } from './inbox-state.js';
import type { ShownLines } from './seen-lines.js';

/** The room there is, and the time. */
export interface ScreenSize {
  readonly columns: number;
  readonly rows: number;
  readonly nowMs: number;
  readonly url: string;
}

/** A whole screen: at most `rows` lines, none wider than `columns`; how far it scrolls, and by how much at a time. */
export interface Frame {
  readonly lines: readonly Line[];
  readonly scrollMax: number;
  readonly page: number;
  /** The lines of the card that are on the screen. A preview of the list is none. */
  readonly shown: ShownLines | undefined;
}

/** Renders the inbox. Pure. */
export function renderInbox(state: InboxState, size: ScreenSize): Frame {
  const head = [headLine(state, size)];
  const foot = footLines(state, size);
  const rows = Math.max(1, size.rows - head.length - foot.length);
  const body = bodyOf(state, size, rows);
  const filler = Array.from({ length: Math.max(0, rows - body.lines.length) }, (): Line => ({ text: '' }));
  const lines = [...head, ...body.lines.slice(0, rows), ...filler, ...foot];
  return { ...body, lines: lines.slice(0, size.rows).map((line) => ({ ...line, text: cut(line.text, size.columns) })) };
}

function headLine(state: InboxState, { columns, url }: ScreenSize): Line {
  const mine = state.approvals.filter((approval) => excludedWords(approval) === undefined).length;
  const others = state.approvals.length - mine;
  const forOthers = others === 0 ? '' : `, ${String(others)} for others`;
  const left = ` Countersign   ${String(mine)}${state.hasMore ? '+' : ''} waiting${forOthers}`;
  const right = `${state.connection === 'live' ? printable(url) : 'connection lost, trying again …'} `;
  const text = left + ' '.repeat(Math.max(1, columns - widthOf(left) - widthOf(right))) + right;
  return { text: fit(text, columns), tone: 'inverse' };
}

function bodyOf(state: InboxState, size: ScreenSize, rows: number): Frame {
  const selected = selectedOf(state);
  switch (state.view.kind) {
    case 'list':
      return listBody(state, selected, size, rows);
    case 'card':
      return selected === undefined
        ? { lines: [], scrollMax: 0, page: rows, shown: undefined }
        : scrolling(approvalCard(selected, size), state.view.scroll, rows, {
            needed: agreedEndOf(selected, size),
            columns: size.columns,
          });
    case 'form':
      return formBody(state.view.form, state.view.scroll, size, rows);
  }
}

/** A window over lines. It shows how many lines are above and below, so that a part is not mistaken for the whole. */
function scrolling(
  lines: readonly Line[],
  scroll: number,
  rows: number,
  whole: Pick<ShownLines, 'needed' | 'columns'>,
): Frame {
  if (lines.length <= rows) return { lines, scrollMax: 0, page: rows, shown: { ...whole, from: 0, to: lines.length } };
  const page = Math.max(1, rows - 1);
  const scrollMax = lines.length - page;
  const top = Math.max(0, Math.min(scroll, scrollMax));
  const below = lines.length - top - page;
  const where = `── lines ${String(top + 1)}–${String(top + page)} of ${String(lines.length)}${below > 0 ? `, ${String(below)} more below (PgDn)` : ''} ──`;
  return {
    lines: [...lines.slice(top, top + page), { text: where, tone: 'yellow' }],
    scrollMax,
    page,
    shown: { ...whole, from: top, to: top + page },
  };
}

function listBody(state: InboxState, selected: ApprovalView | undefined, size: ScreenSize, rows: number): Frame {
  if (selected === undefined)
    return {
      lines: [{ text: '' }, { text: '  Nothing waits for an answer. New requests appear here.', tone: 'dim' }],
      ...{ scrollMax: 0, page: rows, shown: undefined },
    };
  const place = state.approvals.indexOf(selected);
  const listRows = Math.max(1, Math.min(state.approvals.length, Math.max(3, Math.floor((rows - 2) / 2)), rows - 2));
  const top = Math.max(0, Math.min(place - Math.floor(listRows / 2), state.approvals.length - listRows));
  const entries = state.approvals.slice(top, top + listRows).map((approval): Line => {
    const text = row(approval, approval === selected, size);
    return approval === selected ? { text, tone: 'inverse' } : { text };
  });
  const titles: Line = { text: columnsText(['  AGE', 'DEADLINE', 'TOOL', 'AGENT', 'RUN'], size.columns), tone: 'dim' };
  const left = rows - entries.length - 2;
  return {
    lines: [titles, ...entries, { text: '' }, ...preview(selected, size, left)],
    scrollMax: 0,
    page: listRows,
    shown: undefined,
  };
}

function preview(approval: ApprovalView, size: ScreenSize, rows: number): Line[] {
  const lines = approvalCard(approval, size);
  if (lines.length <= rows) return lines;
  const shown = Math.max(0, rows - 1);
  return [
    ...lines.slice(0, shown),
    { text: `── ${String(lines.length - shown)} more lines (enter) ──`, tone: 'yellow' },
  ];
}

/** Without colours a mark shows the selected row. */
function row(approval: ApprovalView, isSelected: boolean, { columns, nowMs }: ScreenSize): string {
  const mark = `${isSelected ? '▸' : ' '}${approval.risk === 'high' ? '!' : ' '}`;
  const cells = [`${mark}${ageWords(approval.requestedAt, nowMs)}`, deadlineWords(approval.expiresAt, nowMs)];
  const names = [approval.toolName, approval.agentId, approval.runId].map((name) => nameWords(name, 200));
  return columnsText([...cells, ...names], columns);
}

const narrow = [12, 11];

function columnsText(cells: readonly string[], columns: number): string {
  const rest = Math.max(9, columns - 23);
  const widths = [...narrow, Math.floor(rest * 0.42), Math.floor(rest * 0.3)];
  const parts = cells.map((cell, index) => {
    const width = widths[index];
    return width === undefined ? cell : `${fit(cell, width - 1)} `;
  });
  return fit(parts.join(''), columns);
}

const titles = {
  approve: 'Approve: it runs exactly as shown.',
  edit: 'Approve with your arguments: the change is below the card.',
  deny: 'Deny: it will not run.',
  answer: 'Answer: your result in place of running the tool.',
} as const;

function formBody(form: Form, scroll: number, size: ScreenSize, rows: number): Frame {
  const { approval, edited, type } = form;
  const fields = form.fields.map((field, index) => fieldLine(field, index === form.active, size.columns));
  const bottom: Line[] = [
    { text: '' },
    { text: titles[type], tone: type === 'deny' ? 'red' : 'green' },
    ...fields,
    ...resultHint(form),
  ];
  const subject = edited === undefined ? approvalCard(approval, size) : editLines(approval, edited.value, size);
  const needed = edited === undefined ? agreedEndOf(approval, size) : subject.length;
  const above = scrolling(subject, scroll, Math.max(2, rows - bottom.length), { needed, columns: size.columns });
  return { ...above, lines: [...above.lines, ...bottom] };
}

/** The lines of the change are a part of what runs, so the rest is above them. */
function editLines(approval: ApprovalView, value: NonNullable<Form['edited']>['value'], size: ScreenSize): Line[] {
  const change = changeLines(approval.arguments, value, size.columns);
  return [...approvalCard(approval, size), { text: '' }, { text: 'The edit', tone: 'bold' }, ...change];
}

function fieldLine(field: Form['fields'][number], isActive: boolean, columns: number): Line {
  const label = `${isActive ? '▸' : ' '} ${fit(field.label, 18)}`;
  const room = Math.max(10, columns - widthOf(label) - 2);
  const shown = codePointsOf(printable(field.text));
  while (widthOf(shown.join('')) > room) shown.shift();
  const text = `${label}${shown.join('')}${isActive ? '▏' : ''}`;
  return isActive ? { text, tone: 'bold' } : { text };
}

function resultHint(form: Form): Line[] {
  const output = form.fields.find(({ name }) => name === 'output')?.text ?? '';
  if (form.type !== 'answer' || output.trim() === '') return [];
  return [{ text: `  sent as ${resultOf(output).kind === 'json' ? 'JSON' : 'plain text'}`, tone: 'dim' }];
}

/** A person who may not decide is offered no key that decides. */
function hintOf(state: InboxState): string {
  if (state.isInterrupted) return state.view.kind === 'card' ? '⏎ goes on  PgUp/PgDn scroll' : '⏎ goes on';
  const selected = selectedOf(state);
  const mayDecide = selected === undefined || excludedWords(selected) === undefined;
  const decisions = mayDecide ? 'a approve  e edit  d deny  r answer  ' : '';
  switch (state.view.kind) {
    case 'list':
      return `↑↓ choose  ⏎ look  ${decisions}q quit`;
    case 'card':
      return `↑↓ scroll  n/p next/previous  ${decisions}q back`;
    case 'form':
      return '⏎ send  tab next field  PgUp/PgDn scroll  esc back';
  }
}

function footLines(state: InboxState, { columns }: ScreenSize): Line[] {
  const sending: Line[] = state.sendingId === undefined ? [] : [{ text: 'Sending …', tone: 'cyan' }];
  const notice =
    state.notice === undefined ? [] : wrapped(printable(state.notice.text, 600), columns, state.notice.tone);
  return [...sending, ...notice.slice(0, 4), { text: hintOf(state), tone: 'dim' }];
}
