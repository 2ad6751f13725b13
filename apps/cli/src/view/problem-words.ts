import type { Problem } from '../cli-error.js';
import { printable } from '../text/printable.js';
import { agoWords } from '../text/time-words.js';

const detailMax = 2000;

/**
 * A refusal in words for people. Being second is no fault of theirs, so it is told kindly: who was first, when and
 * through which channel.
 */
export function problemWords(problem: Problem, nowMs: number): string {
  switch (problem.code) {
    case 'already-resolved':
      return resolvedWords(problem, nowMs);
    case 'expired':
      return `The deadline was over${ago(problem['expiredAt'], nowMs)}: no answer in time counts as no.`;
    case 'own-request':
      return 'This was requested by you: it needs another pair of eyes.';
    case 'already-voted':
      return 'You have already answered this. `countersign withdraw` takes your answer back while it is pending.';
    case 'digest-mismatch':
      return 'The arguments have changed since: look again before you answer. Nothing was recorded.';
    default:
      return printable(problem.detail, { charactersMax: detailMax }) + errorsWords(problem['errors']);
  }
}

function resolvedWords(problem: Problem, nowMs: number): string {
  const { respondedBy, respondedAt, resolution, via, cancelledBy, cancelledAt } = problem;
  if (typeof cancelledBy === 'string')
    return `${printable(cancelledBy)} cancelled this call${ago(cancelledAt, nowMs)}. Nothing is left to answer.`;
  if (typeof respondedBy !== 'string') return printable(problem.detail, { charactersMax: detailMax });
  const channel = typeof via === 'string' ? ` via ${printable(via)}` : '';
  return `${printable(respondedBy)} ${printable(String(resolution))} this${ago(respondedAt, nowMs)}${channel}. Nothing is left to answer.`;
}

function ago(time: unknown, nowMs: number): string {
  return typeof time === 'string' ? ` ${agoWords(time, nowMs)}` : '';
}

function errorsWords(errors: unknown): string {
  if (!Array.isArray(errors)) return '';
  const words = (errors as unknown[]).slice(0, 10).map((error) => {
    const { path, message } = (error ?? {}) as { readonly path?: unknown; readonly message?: unknown };
    return `${printable(String(path), { charactersMax: 200 })}: ${printable(String(message), { charactersMax: 200 })}`;
  });
  return words.length === 0 ? '' : ` (${words.join('; ')})`;
}
