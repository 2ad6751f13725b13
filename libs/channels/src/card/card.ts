import type { ApprovalView, ResponseView } from '@countersign/contracts';
import {
  batchWords,
  chainWords,
  decidedWords,
  denialWords,
  endedProposalWords,
  hiddenIn,
  hiddenWords,
  isReordered,
  labelWords,
  moreCharacters,
  nameWords,
  orderWarning,
  ownWordsOf,
  printable,
  questionWords,
  quotedWords,
  requesterWords,
  requirementWords,
  schemaNoteWords,
  responderWords,
  timeWords,
} from '@countersign/text';
import type { Notice } from '../channel.js';
import { argumentLines } from './argument-lines.js';
import { changeLines } from './change-lines.js';
import type { ChangeLines } from './change-lines.js';
import { whyElsewhere } from './presses.js';
import type { PressLimits } from './presses.js';
import { withTogether } from './together-lines.js';
import { inboxLink } from './inbox-link.js';
import { countOf, look } from './visible.js';

/**
 * A message as plain text in which every character is visible; each channel escapes it for its own format. The recorded
 * facts come first. The agent's description comes last, with a label.
 */
export interface Card {
  readonly headline: string;
  /** The state or the outcome; empty before the first one. */
  readonly status: readonly string[];
  readonly facts: readonly (readonly [label: string, text: string])[];
  readonly argumentLines: readonly string[];
  /** What a person changed in the arguments; undefined: they are those of the agent. Nobody agrees to it: the arguments are whole. */
  readonly change: ChangeLines | undefined;
  /** False: a part of the tool's name, the labels or the arguments is not shown, so the call cannot be approved here. */
  readonly isWhole: boolean;
  /** A warning for the approver. */
  readonly warnings: readonly string[];
  readonly agentWords: readonly (readonly [label: string, text: string])[];
  /** The approval in the inbox, while it is pending; null without a public url. It decides nothing. */
  readonly link: string | null;
  /** True while the buttons are shown. */
  readonly isOpen: boolean;
}

/** Above the agent's words, in every channel. */
export const agentWordsLabel = "The agent's own words (untrusted: judge by the arguments above)";

const nameMax = 120;
const wordsMax = 700;
/** The labels have the folder and the server of a call, so a card that cuts them approves nothing. */
const labelsMax = 1200;

const cutWarning = 'Not everything is shown here: approve it in the inbox, where the whole is';

/** A card that does not fit into a message of its channel: it says so. */
export function asCut(card: Card): Card {
  return card.isWhole ? { ...card, isWhole: false, warnings: [...card.warnings, cutWarning] } : card;
}

/** The card of a notice; at most about `charactersMax` characters of arguments. */
export function cardOf(
  notice: Notice,
  charactersMax: number,
  publicUrl: string | null = null,
  limits: PressLimits = {},
): Card {
  const { call, approval } = notice;
  const hiddenValues = approval === null ? [] : hiddenIn(approval);
  const own = argumentLines(approval?.arguments ?? call.arguments, charactersMax, approval ?? {});
  const shown = withTogether(own, notice, charactersMax);
  const names = [call.toolName, call.agentId, call.runId].map((name) => look(name));
  const posing = shown.posing + names.reduce((sum, name) => sum + name.posing, 0);
  const hidden = shown.hidden + names.reduce((sum, name) => sum + name.hidden, 0);
  const isCut = shown.isCut || labelsOf(approval).length > labelsMax;
  const headline = headlineOf(notice);
  const facts = factsOf(notice);
  const isMoved = [headline, ...facts.map(([, text]) => text), ...shown.lines].some(isReordered);
  return {
    headline,
    status: statusOf(notice),
    facts,
    argumentLines: shown.lines,
    change: changeLines(notice),
    isWhole: !isCut,
    warnings: [
      ...elsewhereOf(notice, limits),
      ...warningsOf({ posing, hidden, isCut }, hiddenValues, schemaNoteWords((approval ?? call).schemaNotes)),
      ...(isMoved ? [orderWarning] : []),
    ],
    agentWords: wordsOf(approval),
    link: linkOf(approval, publicUrl),
    isOpen: isOpenFor(notice),
  };
}

/** What no button of the card can decide, and where people decide it. */
function elsewhereOf({ approval, together = [] }: Notice, limits: PressLimits): readonly string[] {
  if (approval?.state !== 'pending') return [];
  const all = [approval, ...together.map((one) => one.approval)];
  const why = [...all.map((one) => whyElsewhere(one, 'approve', limits)), whyElsewhere(approval, 'deny', limits)];
  return [...new Set(why.filter((one) => one !== undefined))];
}

function isOpenFor({ approval, kind }: Notice): boolean {
  return approval?.state === 'pending' && (kind === 'requested' || kind === 'reminder');
}

function linkOf(approval: ApprovalView | null, publicUrl: string | null): string | null {
  return approval?.state === 'pending' ? inboxLink(publicUrl, approval.approvalId) : null;
}

function warningsOf(
  { posing, hidden, isCut }: { readonly posing: number; readonly hidden: number; readonly isCut: boolean },
  hiddenValues: ReturnType<typeof hiddenIn>,
  unchecked: string,
): string[] {
  return [
    ...(unchecked === '' ? [] : [unchecked]),
    ...(hiddenValues.length > 0 ? [`${hiddenWords(hiddenValues)}. Look at them in the inbox`] : []),
    ...(posing > 0 ? [`${countOf(posing)} characters look like others and are marked: read them twice`] : []),
    ...(hidden > 0 ? [`${countOf(hidden)} characters would not have been visible and are marked`] : []),
    ...(isCut ? [cutWarning] : []),
  ];
}

function headlineOf({ call, approval, kind, nth }: Notice): string {
  const tool = nameWords(call.toolName, nameMax);
  if (kind === 'requested' || kind === 'reminder') {
    const again = kind === 'reminder' ? ` (reminder ${String(nth)})` : '';
    if (approval?.state !== 'pending') return `${tool}: ${approval?.state ?? call.state}`;
    return `${questionWords(call.toolName, approval.proposal, nameMax)}${again}`;
  }
  return `${tool}: ${kind === 'unknown' ? 'outcome unknown' : kind}`;
}

function statusOf({ call, approval }: Notice): string[] {
  const responses = approval?.responses.map(responseWords) ?? [];
  const ended = approval === null || approval.state === 'pending' ? [] : [`This question is ${approval.state}.`];
  const isCurrent = approval === null || approval.approvalId === call.approval?.approvalId;
  const outcome =
    isCurrent && ['succeeded', 'failed', 'unknown', 'blocked'].includes(call.state) ? [`The call: ${call.state}.`] : [];
  return [...responses, ...ended, ...(answerOf(approval) ?? outcome)];
}

/** People agreed to an answer: the call succeeds without a run. */
function answerOf(approval: ApprovalView | null): string[] | undefined {
  if (approval?.state !== 'approved' || approval.proposal.kind !== 'answer') return undefined;
  const by = nameWords(approval.proposal.proposedBy, nameMax);
  return [`The agent gets the answer of ${by} in place of the tool, which does not run.`];
}

/** In chats. Marks make a line longer than what was written. */
const statusMax = { lines: 8, characters: 1_000 };

/** The newest lines of a status, for a message without room for all. It says how many it leaves out. */
export function newestOf(status: readonly string[]): readonly string[] {
  const shown: string[] = [];
  let characters = 0;
  for (const line of status.toReversed()) {
    characters += line.length;
    if (shown.length === statusMax.lines || (shown.length > 0 && characters > statusMax.characters)) break;
    shown.unshift(line);
  }
  const left = status.length - shown.length;
  return left === 0 ? shown : [`⟦${countOf(left)} earlier lines⟧`, ...shown];
}

/** One person's response: `bob approved via ops-slack: "seen with ops"`. */
export function responseWords(response: ResponseView): string {
  const { decision, reason, via } = response;
  const why = reason === null || reason === '' ? '' : `: ${quotedWords(reason, 200)}`;
  return `${responderWords(response, nameMax)} ${decidedWords[decision.type]} via ${printable(via, nameMax)}${why}`;
}

function factsOf(notice: Notice): (readonly [string, string])[] {
  const { call, approval } = notice;
  const risk = approval?.risk ?? null;
  return [
    ['Tool', printable(call.toolName)],
    ['Agent', printable(call.agentId, nameMax)],
    ...askedFacts(approval),
    ['Run', printable(call.runId, nameMax)],
    ['Rule', printable(call.verdict.ruleId, nameMax)],
    ...(risk === null ? [] : [['Risk', risk] as const]),
    ...(approval === null ? [] : [['Needs', requirementWords(approval.requirement, nameMax)] as const]),
    ...endedFact(approval),
    ...untilFact(approval),
    ...denialFact(notice),
    ...batchFact(notice),
    ['Digest', (approval?.actionDigest ?? call.actionDigest).slice(0, 'sha256:'.length + 16)],
  ];
}

function askedFacts(approval: ApprovalView | null): (readonly [string, string])[] {
  if (approval === null) return [];
  const labels = labelsOf(approval);
  return [
    ['Asked by', requesterWords(approval, nameMax)],
    ...(approval.chain.length === 0
      ? []
      : [['Inside', chainWords(approval.chain, approval.requestedBy, nameMax)] as const]),
    ...(labels === '' ? [] : [['Labels', cutLabels(labels)] as const]),
  ];
}

function labelsOf(approval: ApprovalView | null): string {
  return approval === null ? '' : labelWords(approval.labels);
}

function cutLabels(labels: string): string {
  const left = labels.length - labelsMax;
  return left > 0 ? `${labels.slice(0, labelsMax).toWellFormed()}${moreCharacters(left)}` : labels;
}

/** The other calls of an all-or-nothing batch: a denial here cancels them, those that are not shown here as well. */
function batchFact({ call: { callId }, approval, together = [] }: Notice): (readonly [string, string])[] {
  const shown = new Set(together.map(({ call }) => call.callId));
  const batch = approval?.batch ?? null;
  const left = batch && { ...batch, callIds: batch.callIds.filter((one) => !shown.has(one)) };
  const words = batchWords(left, callId);
  const batchFacts = words === '' ? [] : [['Batch', words] as const];
  if (shown.size === 0) return batchFacts;
  const count = String(shown.size + 1);
  const step = (which: string): string => `one response decides about ${which} ${count} calls: all are shown below`;
  return words === ''
    ? [['Step', step('all')]]
    : [
        ['Step', step('these')],
        ['Batch', `${words}, not shown here`],
      ];
}

/** One response decides about all calls of the card. */
function denialFact({ approval, together = [] }: Notice): (readonly [string, string])[] {
  const all = approval === null ? [] : [approval, ...together.map((one) => one.approval)];
  const words = all.map(({ requirement }) => denialWords(requirement)).find((one) => one !== '');
  return words === undefined ? [] : [['A denial', words]];
}

/** Edits and answers of people that the question is no longer about. */
function endedFact(approval: ApprovalView | null): (readonly [string, string])[] {
  const words = endedProposalWords(approval?.endedProposals ?? [], nameMax);
  return words === '' ? [] : [['Not approved before', words]];
}

function untilFact(approval: ApprovalView | null): (readonly [string, string])[] {
  const until = approval?.expiresAt ?? null;
  return until === null ? [] : [['Until', timeWords(until)]];
}

function wordsOf(approval: ApprovalView | null): (readonly [string, string])[] {
  return (approval === null ? [] : ownWordsOf(approval)).map(([label, text]) => {
    // Each line has a bar in front, so that a foreign line cannot look like one of ours.
    const { text: shown } = look(text.slice(0, wordsMax).replaceAll('\r\n', '\n'), { partedBy: '\n', inLines: true });
    const lines = shown.split('\n').map((line) => `│ ${line}`);
    const left = text.length - wordsMax;
    if (left > 0) lines.push(`│ ${moreCharacters(left)}`);
    return [label, lines.join('\n')] as const;
  });
}
