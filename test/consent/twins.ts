import { isDeepStrictEqual } from 'node:util';
import { must } from './book.ts';
import type { Answer, Command } from './words.ts';

const [secret, other] = ['hunter-blue', 'hunter-red'];

/** Whether one principal hides a value at which another person or principal guesses. */
export function hasGuess(commands: readonly Command[]): boolean {
  const isHidden = commands.some((one) => one.type === 'request' && one.by === 'agent' && uses(one));
  return isHidden && commands.some((one) => (one.type !== 'request' || one.by !== 'agent') && uses(one));
}

function uses(command: Command): boolean {
  switch (command.type) {
    case 'request':
      return command.calls.some((one) => one.secret === secret);
    case 'respond':
      return 'secret' in command.decision && command.decision.secret === secret;
    case 'grant':
      return 'is' in command.match && command.match.is.secret === secret;
    default:
      return false;
  }
}

/** The same step in a world in which the first principal hides another value. */
export function twinOf(command: Command): Command {
  if (command.type !== 'request' || command.by !== 'agent') return command;
  const calls = command.calls.map((one) => (one.secret === secret ? { ...one, secret: other } : one));
  return { ...command, calls };
}

/** Law 12: people and principals learn nothing of a hidden value, so they are shown the same in both worlds. */
export function mustBeAlike(one: Answer, twin: Answer): void {
  const [seen, seenByTwin] = [one, twin].map((answer) => JSON.stringify(visibleOf(answer)));
  must(seen === seenByTwin, 12, `a hidden value can be told: ${String(seen)} and ${String(seenByTwin)}`);
}

/** The rules and the running server say the same. */
export function mustBeSame(rules: object, server: object): void {
  if (isDeepStrictEqual(rules, server)) return;
  const [ruled, served] = [rules, server].map((one) => JSON.stringify(one instanceof Map ? [...one] : one));
  throw new Error(`the rules say ${String(ruled)}, and the server says ${String(served)}`);
}

/** What people and agents see of an answer: neither salted digests nor what a worker gets. */
export function visibleOf({ refused, mayDecide, calls, grants, claim }: Answer): object {
  const shown = [...calls]
    .toSorted(([one], [other]) => one - other)
    .map(([id, { approval, ...call }]) => {
      const { digest: _, ...seen } = approval ?? { digest: '' };
      return [id, call, seen] as const;
    });
  return { refused, mayDecide: mayDecide ?? null, shown, grants, attempt: claim?.attempt ?? null };
}
