import { isWaiting, must } from './book.ts';
import type { Book, Call } from './book.ts';
import type { Agent, Arguments } from './words.ts';
import { runOf } from './world.ts';

/** A call about which people would be asked. */
export interface Question extends Arguments {
  readonly id: number;
  readonly by: Agent;
  readonly as: Agent;
  readonly tool: 'pay' | 'gift';
}

/** Why people may not be asked. */
type Over = 'too-many-requests' | 'already-pending';

/** How much each principal asks of people. */
export class QuotaCheck {
  readonly #book: Book;

  constructor(book: Book) {
    this.#book = book;
  }

  /** People were asked, so the quotas allowed it. */
  asked(questions: readonly Question[]): void {
    must(this.over(questions).length === 0, 14, `people were asked beyond the quota: ${this.over(questions).join()}`);
  }

  /** People were not asked, so a quota of this principal forbade it. */
  refused(code: Over, questions: readonly Question[]): void {
    must(this.over(questions).includes(code), 14, `refused with ${code} for what another principal asked`);
  }

  /** The quotas that these questions of one request are beyond. They count what the principal asked, and nothing else. */
  over(questions: readonly Question[]): readonly Over[] {
    const { quotas } = this.#book.policy;
    const [first] = questions;
    if (quotas === null || first === undefined) return [];
    const { by, as } = first;
    const own = [...this.#book.calls.values()].filter((call) => call.by === by);
    // A principal that takes the name of another agent is counted under every name together as well.
    const counted = [own.filter((call) => call.as === as), ...(by === as ? [] : [own])];
    // A call that waits for its turn and will be asked about counts, and is compared with none.
    const pending = counted.map((calls) =>
      calls.filter(
        ({ state, turn }) => state === 'awaiting_approval' && !(turn?.isWaiting === true && turn.question === null),
      ),
    );
    const isFull = pending.some((calls) => calls.length + questions.length > quotas.pending);
    const isCooling = counted.some((calls) => this.#isCooling(calls));
    const isAskedAlready = pending
      .flat()
      .some((call) => !isWaiting(call) && questions.some((one) => one.id !== call.id && isEqual(one, call)));
    const isAskedTwice = questions.some((one, at) => questions.slice(0, at).some((other) => isEqual(one, other)));
    return [
      ...(isFull || isCooling ? (['too-many-requests'] as const) : []),
      ...(isAskedAlready || isAskedTwice ? (['already-pending'] as const) : []),
    ];
  }

  /** Whether so many questions in a row were denied that people are left alone for a while. */
  #isCooling(calls: readonly Call[]): boolean {
    const {
      now,
      policy: { quotas },
    } = this.#book;
    if (quotas === null) return false;
    const ended = calls.flatMap(({ rounds }) => rounds).filter(({ end }) => end !== null);
    const since = Math.max(-1, ...ended.filter(({ end }) => end?.as === 'person').map(({ nth }) => nth));
    const denied = ended
      .filter(({ nth, end }) => end?.as === 'denied' && nth > since)
      .toSorted((one, other) => other.nth - one.nth)
      .slice(0, quotas.denials)
      .map(({ end }) => end?.at ?? 0);
    const last = Math.max(...denied);
    const inTime = denied.filter((at) => last - at <= quotas.coolDown);
    return inTime.length >= quotas.denials && last + quotas.coolDown > now;
  }
}

function isEqual(one: Question, other: Question): boolean {
  const isSame = one.amount === other.amount && one.secret === other.secret && one.tool === other.tool;
  return isSame && runOf(one.id) === runOf(other.id);
}
