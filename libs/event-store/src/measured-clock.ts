import type { Clock } from '@countersign/runtime';
import { startHeartbeat } from './heartbeat.js';
import { skewMsMax } from './store-clock.js';
import type { StoreClock } from './store-clock.js';

/** When something was sent to the store and answered, by the monotonic clock. */
export interface Asked {
  readonly sentAt: number;
  readonly answeredAt: number;
}

/** The store's time, as the store told it: not before `earliest` and not after `latest`, ms since the epoch. */
export interface ToldTime {
  readonly earliest: number;
  readonly latest: number;
}

/** A store's response about its time. */
export interface TimeAnswer {
  readonly time: ToldTime;
  readonly asked: Asked;
  /** When the store is to be asked again, unless its time is in doubt before. Default: as often as usual. */
  readonly againMs?: number;
}

/** A store clock that learns from the store. */
export interface MeasuredClock extends StoreClock {
  /** The store was asked for its time. Returns false when it is to be asked again soon. */
  readonly told: (answer: TimeAnswer) => boolean;
  /** The store has recorded a new event at `recordedAt`: more exact than what it tells, within the bounds of that. */
  readonly recorded: (recordedAt: number, asked: Asked) => void;
  /** The store did not respond. */
  readonly away: () => void;
  /** The store is to be asked now. */
  readonly mustAsk: () => boolean;
}

/** Bounds of the store's time minus this machine's monotonic time. */
interface Bounds {
  readonly low: number;
  readonly high: number;
}

/** A repeat of an append is answered with the time of the first one; so many in a row are no repeats. */
const surprisesMax = 5;

const notTold = 'the event store has not told its time yet';
const otherTime =
  'events are recorded at another time than the event store tells: a proxy in front of it may replace the Date header';
const contradicted = "the event store's time differs from what it was: it is asked again";

/**
 * Follows the store's time by the monotonic clock, so that a wrong or jumping wall clock of the machine changes no
 * decision. A told time that contradicts what is known counts once it is told twice: a server that was suspended may
 * answer with an old time. A wall clock that jumps, or a monotonic clock that stood still while the machine was
 * suspended, puts the time in doubt until the store has told it again.
 * @param closing until then a heartbeat notices that this process alone is suspended. Default: nothing does.
 */
export function createMeasuredClock(clock: Clock, closing?: AbortSignal): MeasuredClock {
  const ownOffset = (): number => clock.now() - clock.monotonic();
  let known: { readonly offset: number; readonly bounds: Bounds; readonly own: number } | undefined;
  let contradiction: Bounds | undefined;
  let isSurprised = false;
  let surprises = 0;
  /** When the store's time was last not known, by that time; infinite until it is told. */
  let missedUntil = Infinity;

  const now = (): number => Math.floor(clock.monotonic() + (known?.offset ?? ownOffset()));
  const settle = (bounds: Bounds, offset: number): boolean => {
    const isOther = known?.offset !== offset;
    known = { offset, bounds, own: ownOffset() };
    if (isOther) missedUntil = now();
    [contradiction, isSurprised] = [undefined, false];
    return true;
  };
  const jumpedMs = (): number => (known === undefined ? 0 : ownOffset() - known.own);
  const hasJumped = (): boolean => Math.abs(jumpedMs()) > skewMsMax;
  const aheadMs = (): number => (known === undefined ? 0 : ownOffset() - known.offset);
  const doubt = (): string | undefined => {
    if (contradiction !== undefined) return contradicted;
    if (known === undefined) return notTold;
    return hasJumped()
      ? `this machine's clock has jumped by ${seconds(jumpedMs())}: the event store is asked`
      : undefined;
  };
  const away = (): void => {
    if (known !== undefined) missedUntil = Math.max(missedUntil, now());
  };
  const heartbeat = closing && startHeartbeat(clock, closing, away);
  return {
    now,
    monotonic: clock.monotonic,
    setTimer: clock.setTimer,
    missedSince: (atMs) => {
      heartbeat?.look();
      return atMs < missedUntil;
    },
    aheadMs,
    doubt,
    problem: () => {
      const ahead = aheadMs();
      if (Math.abs(ahead) > skewMsMax) return doubt() ?? skewed(ahead);
      return doubt() ?? (surprises < surprisesMax ? undefined : otherTime);
    },
    told: ({ time: { earliest, latest }, asked: { sentAt, answeredAt } }) => {
      const told = { low: earliest - answeredAt, high: latest - sentAt };
      const expected = known?.offset ?? ownOffset();
      if (nearest(told, expected) === expected) return settle(told, expected);
      const both = contradiction && overlap(told, contradiction);
      if (both !== undefined) {
        surprises = 0;
        return settle(both, (both.low + both.high) / 2);
      }
      contradiction = told;
      return false;
    },
    recorded: (recordedAt, { sentAt, answeredAt }) => {
      if (known === undefined) return;
      // A recorded time is cut: by one of the vendor's clients to whole seconds.
      const cutMs = recordedAt % 1000 === 0 ? 1000 : 1;
      const both = overlap({ low: recordedAt - answeredAt, high: recordedAt + cutMs - sentAt }, known.bounds);
      if (both === undefined) {
        isSurprised = true;
        surprises += 1;
        return;
      }
      surprises = 0;
      known = { ...known, offset: nearest(both, known.offset) };
    },
    away,
    mustAsk: () => doubt() !== undefined || isSurprised,
  };
}

function nearest({ low, high }: Bounds, offset: number): number {
  return Math.min(high, Math.max(low, offset));
}

function overlap(one: Bounds, other: Bounds): Bounds | undefined {
  const both = { low: Math.max(one.low, other.low), high: Math.min(one.high, other.high) };
  return both.low <= both.high ? both : undefined;
}

function seconds(ms: number): string {
  return `${(ms / 1000).toFixed(1)} s`;
}

function skewed(aheadMs: number): string {
  const side = aheadMs > 0 ? 'ahead of' : 'behind';
  return `this machine's clock is ${seconds(Math.abs(aheadMs))} ${side} the event store's, and ${seconds(skewMsMax)} are allowed: synchronise it`;
}
