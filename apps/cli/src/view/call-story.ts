import type { EventView, ToolCallView } from '@countersign/contracts';
import { durationWords, nameWords, printable, timeWords } from '@countersign/text';
import { printableLines } from '../text/printable.js';
import type { CardOptions } from './approval-card.js';
import { approvalCard, fact } from './approval-card.js';
import { argumentLines, changeLines } from './argument-lines.js';
import { eventWords } from './event-words.js';
import { jsonLines } from './json-lines.js';
import type { Line } from './line.js';
import { wrapped } from './line.js';

/** The history of a call: its state, its arguments, its result, its events. */
export function storyLines(call: ToolCallView, events: readonly EventView[], options: CardOptions): Line[] {
  const { columns } = options;
  return [
    ...headLines(call, columns),
    ...(call.approval?.state === 'pending' ? [] : [...heading('Arguments'), ...argumentLines(call.arguments, columns)]),
    ...changeOf(call, columns),
    ...resultLines(call, columns),
    ...instructionLines(call, columns),
    ...heading('What happened'),
    ...timeline(events, columns),
    // The card ends with the agent's own words, and so does the story.
    ...(call.approval?.state === 'pending'
      ? [...heading('Waiting for an answer'), ...approvalCard(call.approval, options)]
      : []),
  ];
}

function heading(text: string): Line[] {
  return [{ text: '' }, { text, tone: 'bold' }];
}

function headLines(call: ToolCallView, columns: number): Line[] {
  const { verdict } = call;
  const why = verdict.why.length === 0 ? '' : ` (${printable(verdict.why.join('; '), 500)})`;
  const facts: [string, string][] = [
    ['call', printable(call.callId)],
    ['agent', printable(call.agentId)],
    ['run', printable(call.runId)],
    ['verdict', `${verdict.outcome} by rule ${printable(verdict.ruleId)}${why}`],
    ['digest', printable(call.actionDigest)],
  ];
  return [
    ...wrapped(`${nameWords(call.toolName)}   ${printable(stateOf(call))}`, columns, 'bold'),
    ...facts.flatMap(([label, text]) => fact(label, text, columns)),
    ...unreadableLines(call, columns),
    ...heldLines(call, columns),
  ];
}

/** The state of a call in words of a line. */
export function stateOf({ state, waitsForTurn }: Pick<ToolCallView, 'state' | 'waitsForTurn'>): string {
  return waitsForTurn === true ? 'waits_for_turn' : state;
}

/** The state above is that before this event, and nothing is decided or run. */
function unreadableLines({ unreadable }: ToolCallView, columns: number): Line[] {
  if (unreadable === undefined) return [];
  const { revision, position, type, why } = unreadable;
  const event = `${printable(type)}, revision ${String(revision)} at position ${String(position)}`;
  return wrapped(`set aside: ${event} cannot be read: ${printable(why)}`, columns, 'red');
}

/** A name that a shell takes as it stands. */
const isPlain = /^[\w.:/-]+$/;

/** For whom the call waits, and what a person can do. */
function heldLines({ heldBy, runId }: ToolCallView, columns: number): Line[] {
  if (heldBy === undefined) return [];
  const held = printable(heldBy);
  const texts = [
    `waits for call ${held}, which cannot be read and may be running`,
    `why: countersign show ${held}, or countersign log unreadable. A version that reads it goes on.`,
    `or end what waits, so that later calls pass: countersign cancel --run ${isPlain.test(runId) ? runId : '<run>'}`,
  ];
  return texts.flatMap((text) => wrapped(text, columns, 'red'));
}

function changeOf(call: ToolCallView, columns: number): Line[] {
  if (call.originalArguments === undefined) return [];
  const change = changeLines(call.originalArguments, call.arguments, columns);
  return change.length === 0 ? [] : [...heading('What the approver changed'), ...change];
}

function resultLines(call: ToolCallView, columns: number): Line[] {
  const results = [
    ['Output', call.output],
    ['Error', call.error],
  ] as const;
  return results.flatMap(([label, value]) =>
    value === null ? [] : [...heading(label), ...jsonLines(value, columns).map((text) => ({ text }))],
  );
}

function instructionLines({ instruction }: ToolCallView, columns: number): Line[] {
  if (instruction === null) return [];
  const lines = printableLines(instruction).flatMap((line) => wrapped(`│ ${line}`, columns, undefined, 2));
  return [...heading("The approver's instruction to the agent"), ...lines];
}

function timeline(events: readonly EventView[], columns: number): Line[] {
  let before = Number.NaN;
  return events.flatMap((event) => {
    const at = Date.parse(event.recordedAt);
    const step = at - before >= 1000 ? `  (${durationWords(at - before)} later)` : '';
    before = at;
    return [
      ...wrapped(`${timeWords(event.recordedAt)}  ${printable(event.type)}${step}`, columns, 'cyan'),
      ...wrapped(`  ${eventWords(event)}`, columns, undefined, 2),
    ];
  });
}
