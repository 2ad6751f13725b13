import type { ApprovalView, DecisionType, ResponseView } from '@countersign/contracts';
import {
  agoWords,
  decidedWords,
  doneWords,
  effectOf,
  nameWords,
  printable,
  refusalWords,
  responderWords,
} from '@countersign/text';
import type { Problem } from '../client/problem.js';

/** A person's action, by the type of the decision. */
export const saidWords = { ...decidedWords, edit: 'approved with other arguments' } as const;

/** One person's response in words: `bob approved this 3 s ago via Slack`. */
export function responseWords(response: ResponseView, nowMs: number): string {
  const { decision, respondedAt, via } = response;
  return `${responderWords(response)} ${saidWords[decision.type]} this ${agoWords(respondedAt, nowMs)} via ${channelWords(via)}`;
}

const channels: Readonly<Record<string, string>> = {
  api: 'the API',
  cli: 'the command line',
  inbox: 'the inbox',
  slack: 'Slack',
  telegram: 'Telegram',
  teams: 'Microsoft Teams',
  email: 'email',
};

/** A channel's usual name; an operator's own name is returned unchanged. */
export function channelWords(via: string): string {
  return Object.hasOwn(channels, via) ? (channels[via] ?? via) : printable(via);
}

const plurals = new Intl.PluralRules('en');

/** A number with its noun: `1 call`, `1,200 calls`. */
export function countWords(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString('en-US')} ${plurals.select(count) === 'one' ? one : many}`;
}

/** Describes the effect of a recorded response, or who is still needed. */
export function sentWords(type: DecisionType, approval: ApprovalView): string {
  const tool = nameWords(approval.toolName, 80);
  if (approval.state !== 'pending') return `${doneWords[effectOf(type, approval)]}: ${tool}`;
  return `Your answer to ${tool} is recorded (${approval.responses.length} so far). More people must answer.`;
}

const sentences = {
  'already-voted': 'You have already answered this. You can take your answer back while it is pending.',
  'reason-required': 'This decision needs a reason. Nothing was recorded.',
};

/** What follows in the words of a stop is for who runs the service: a command, or a file. */
const forOperators = '. Wait until ';

function stopWords(detail: string): string {
  const end = detail.lastIndexOf(forOperators);
  const stop = printable(end < 0 ? detail : detail.slice(0, end), 2000);
  return `${stop}. Nothing was recorded. You can deny it, or answer again when an admin has lifted the stop.`;
}

/** A refusal in words for people. */
export function problemWords(problem: Problem, nowMs: number): string {
  if (problem.code === 'stopped') return stopWords(problem.detail);
  return refusalWords(problem, nowMs, { channel: channelWords, sentences });
}
