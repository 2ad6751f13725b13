import type { ApprovalView, ResponseView } from '@countersign/contracts';
import {
  agoWords,
  answeredMaskNote,
  batchWords,
  chainWords,
  deadlineWords,
  decidedWords,
  denialWords,
  endedProposalWords,
  hiddenIn,
  hiddenInAnswer,
  hiddenWords,
  isReordered,
  labelWords,
  moreCharacters,
  needsSignature,
  nameWords,
  orderWarning,
  ordinal,
  ownWordsOf,
  progressLines,
  printable,
  quotedWords,
  releaseWords,
  requesterWords,
  requirementWords,
  schemaNoteWords,
  timeWords,
  upcomingWords,
  responderWords,
} from '@countersign/text';
import { printableLines } from '../text/printable.js';
import { fit, goesOn } from '../text/width.js';
import { argumentLines } from './argument-lines.js';
import type { Line } from './line.js';
import { wrapped } from './line.js';

/** For whom a card is drawn. */
export interface CardOptions {
  readonly columns: number;
  readonly nowMs: number;
}

/** The agent's own text is shown up to here: it is no reason to scroll past the facts. */
const ownWordsMax = 1000;
const ownLinesMax = 20;

/**
 * One approval as an approver reads it. The recorded facts come first. The agent's description comes last, with a
 * label, because it can be false.
 */
export function approvalCard(approval: ApprovalView, options: CardOptions): Line[] {
  const { columns } = options;
  return [
    ...upperLines(approval, options),
    { text: '' },
    ...fact('approval', printable(approval.approvalId), columns),
    ...fact('call', printable(approval.callId), columns),
    ...fact('digest', printable(approval.actionDigest), columns),
    ...ownWords(approval, columns),
  ];
}

/** The approval has an event that the server cannot read, or is covered by one. Nothing is decided. */
export function isUnreadable(may: ApprovalView['mayDecide']): may is Extract<typeof may, { now: false }> {
  return may?.now === false && may.why === 'unreadable';
}

/** Why the person at the terminal cannot decide a pending approval; undefined: they can, as far as the server has said. */
export function excludedWords({ state, mayDecide }: ApprovalView): string | undefined {
  if (mayDecide?.now !== false || (state !== 'pending' && !isUnreadable(mayDecide))) return undefined;
  const { why, detail } = mayDecide;
  return isPlain.has(why) ? detail : `You can look, not decide. ${detail}`;
}

/** Their own words say all. */
const isPlain: ReadonlySet<string> = new Set(['unreadable', 'already-voted', 'expired']);

/** How many lines of the card a person must see before they approve: all but the ids and the agent's own words. */
export function agreedEndOf(approval: ApprovalView, options: CardOptions): number {
  return upperLines(approval, options).length;
}

const signWords =
  'Only answers that are signed with a passkey count: give yours in the inbox. The command line cannot sign.';

function upperLines(approval: ApprovalView, options: CardOptions): Line[] {
  const { columns } = options;
  const name = nameWords(approval.toolName);
  const risk = approval.risk === null ? '' : `   risk ${approval.risk}`;
  const { mayDecide, noApproverLeft } = approval;
  const released = releaseWords(approval);
  const excluded = excludedWords(approval);
  return [
    ...wrapped(`${name}${risk}   ${approval.state}`, columns, approval.risk === 'high' ? 'red' : 'bold', goesOn),
    ...(excluded === undefined
      ? []
      : wrapped(printable(excluded), columns, isUnreadable(mayDecide) ? 'red' : 'yellow')),
    ...(approval.state === 'pending' && needsSignature(approval.requirement)
      ? wrapped(signWords, columns, 'yellow')
      : []),
    ...(noApproverLeft === undefined ? [] : wrapped(printable(noApproverLeft.detail), columns, 'yellow')),
    ...whoAndWhen(approval, options),
    ...(released === '' ? [] : wrapped(`${released}.`, columns, 'yellow')),
    { text: '' },
    { text: 'Arguments', tone: 'bold' },
    ...agreedLines(approval, columns),
  ];
}

/** Few lines: on a small terminal the arguments should be seen without scrolling. */
function whoAndWhen(approval: ApprovalView, { columns, nowMs }: CardOptions): Line[] {
  const round = approval.round > 1 ? `, for the ${ordinal(approval.round)} time` : '';
  const facts: [string, string][] = [
    ['agent', `${nameWords(approval.agentId)} in run ${nameWords(approval.runId)}`],
    ['asked by', requesterWords(approval)],
    ...(approval.chain.length === 0 ? [] : [chainFact(approval)]),
    ...(Object.keys(approval.labels).length === 0 ? [] : [labelFact(approval)]),
    ['asked', `${agoWords(approval.requestedAt, nowMs)}${round}, ${deadline(approval, nowMs)}`],
    ...peopleFacts(approval, nowMs),
    ['allowed', approval.allowedDecisions.join(' · ')],
    ...denialFact(approval),
    ...batchFact(approval),
    ...endedFact(approval),
    ...approval.responses.map((response): [string, string] => ['response', responseWords(response, nowMs)]),
  ];
  return facts.flatMap(([label, text]) => fact(label, text, columns));
}

function chainFact({ chain, requestedBy }: ApprovalView): [string, string] {
  return ['inside', chainWords(chain, requestedBy)];
}

/** The stages with the missing people, and the result without an answer. */
function peopleFacts(approval: ApprovalView, nowMs: number): [string, string][] {
  const lines = progressLines(approval).filter(({ status }) => status !== 'done');
  const fourEyes = approval.requirement.fourEyes ? '; not the requester' : '';
  const needs = approval.state === 'pending' ? lines.map(({ words }) => words).join(', then ') : '';
  return [
    ['needs', needs === '' ? requirementWords(approval.requirement) : `${needs}${fourEyes}`],
    // The deadline alone is said already.
    ...(approval.upcoming.length > 1 ? approval.upcoming : []).map((one): [string, string] => {
      const when = deadlineWords(one.at, nowMs);
      return ['', `${when === 'over' ? 'now' : `in ${when}`}: ${upcomingWords(one)}`];
    }),
  ];
}

/** The other calls of an all-or-nothing batch: a denial here cancels them. */
function batchFact({ batch, callId }: ApprovalView): [string, string][] {
  const words = batchWords(batch, callId);
  return words === '' ? [] : [['batch', printable(words)]];
}

function denialFact({ requirement }: ApprovalView): [string, string][] {
  const words = denialWords(requirement);
  return words === '' ? [] : [['denial', words]];
}

/** Edits and answers of people that the question is no longer about. */
function endedFact({ endedProposals }: ApprovalView): [string, string][] {
  const words = endedProposalWords(endedProposals);
  return words === '' ? [] : [['before', `${words}: not approved`]];
}

function labelFact({ labels }: ApprovalView): [string, string] {
  return ['labels', labelWords(labels)];
}

/** The rest of what a person agrees to: an answer in place of the run, and the instructions to the agent. */
function toldLines({ proposal, instructions }: ApprovalView, columns: number): Line[] {
  const answer = proposal.kind === 'run' ? [] : [{ text: '' }, ...answerLines(proposal, columns)];
  if (instructions.length === 0) return answer;
  const lines = instructions.flatMap(({ respondedBy, instruction, ifDenied }) => {
    const by = `${nameWords(respondedBy)}${ifDenied === true ? ' (if denied)' : ''}: `;
    return printableLines(instruction).flatMap((line, index) =>
      wrapped(`  ${index === 0 ? by : '│ '}${line}`, columns, undefined, 4),
    );
  });
  return [...answer, { text: '' }, { text: 'The agent is told', tone: 'bold' }, ...lines];
}

/** All that a person agrees to: the arguments, and what the agent gets besides. Nothing is cut. */
export function agreedLines(approval: ApprovalView, columns: number): Line[] {
  const args = argumentLines(approval.arguments, columns, approval.hiddenValues);
  const told = toldLines(approval, columns);
  return [
    ...args,
    ...hiddenLines(approval, columns),
    ...uncheckedLines(approval, columns),
    ...told,
    ...orderLines([...args, ...told, { text: labelWords(approval.labels) }], columns),
  ];
}

function orderLines(lines: readonly Line[], columns: number): Line[] {
  return lines.some(({ text }) => isReordered(text)) ? wrapped(`${orderWarning}.`, columns, 'yellow', goesOn) : [];
}

const eitherNote = 'a hidden value, or a text of the answer that reads like one';

function answerLines({ proposedBy, output, hiddenValues }: ApprovalView['proposal'], columns: number): Line[] {
  const title = `It would not run: ${nameWords(proposedBy)} proposes this answer in its place`;
  const hidden = hiddenInAnswer(hiddenValues);
  // An older server does not say which ones are hidden.
  const note = hidden === undefined ? eitherNote : answeredMaskNote;
  return [...wrapped(title, columns, 'bold', goesOn), ...argumentLines({ answer: output }, columns, hidden, note)];
}

function hiddenLines(approval: ApprovalView, columns: number): Line[] {
  const words = hiddenWords(hiddenIn(approval));
  if (words === '') return [];
  const { approvalId, state } = approval;
  const how = state === 'pending' ? ` Show them: countersign reveal ${printable(approvalId)}` : '';
  return wrapped(`${words}.${how}`, columns, 'yellow');
}

function uncheckedLines({ schemaNotes }: ApprovalView, columns: number): Line[] {
  const words = schemaNoteWords(schemaNotes);
  return words === '' ? [] : wrapped(`${words}.`, columns, 'yellow');
}

/** Wide enough for the labels; narrow enough for a digest on one line of 80 columns. */
const labelColumns = 9;

/** A labelled fact, its later lines under the first. */
export function fact(label: string, text: string, columns: number): Line[] {
  return wrapped(`${fit(label, labelColumns)}${text}`, columns, undefined, labelColumns);
}

function deadline({ state, expiresAt, resolvedAt }: ApprovalView, nowMs: number): string {
  if (state !== 'pending') return `${state}${resolvedAt === null ? '' : ` ${agoWords(resolvedAt, nowMs)}`}`;
  if (expiresAt === null) return 'no deadline';
  const left = deadlineWords(expiresAt, nowMs);
  return `deadline ${left === 'over' ? 'over' : `in ${left}`} (${timeWords(expiresAt)})`;
}

/** One person's response in words: `bob approved 3 s ago via slack: "seen with ops"`. */
export function responseWords(response: ResponseView, nowMs: number): string {
  const who = `${responderWords(response)} ${decidedWords[response.decision.type]}`;
  const why = response.reason === null || response.reason === '' ? '' : `: ${quotedWords(response.reason, 200)}`;
  return `${who} ${agoWords(response.respondedAt, nowMs)} via ${printable(response.via)}${why}`;
}

function ownWords(approval: ApprovalView, columns: number): Line[] {
  const given = ownWordsOf(approval).map(([label, text]) => [label.toLowerCase(), text] as const);
  if (given.length === 0) return [];
  return [
    { text: '' },
    ...wrapped("The agent's own words (untrusted: judge by the arguments above)", columns, 'yellow'),
    ...given.flatMap(([label, text]) => quoted(label, text, columns)),
  ];
}

function quoted(label: string, text: string, columns: number): Line[] {
  const capped = text.slice(0, ownWordsMax).split('\n').slice(0, ownLinesMax).join('\n');
  const left = text.length - capped.length;
  const note = left > 0 ? [moreCharacters(left)] : [];
  const lines = [...printableLines(capped), ...note];
  return lines.flatMap((line, index) => wrapped(`${fit(index === 0 ? label : '', 12)}│ ${line}`, columns, 'dim', 14));
}
