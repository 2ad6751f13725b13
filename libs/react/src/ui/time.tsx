import type { ReactNode } from 'react';
import type { ApprovalView } from '@countersign/contracts';
import { ageWords, agoWords, deadlineWords } from '@countersign/text';
import { useNow } from '../live/use-now.js';
import { localTimeWords } from '../text/local-time.js';

/** How long ago a time was, updated every second. */
export function Ago({ time }: { time: string }): ReactNode {
  return (
    <time dateTime={time} title={localTimeWords(time)}>
      {agoWords(time, useNow())}
    </time>
  );
}

/** How soon a time comes, updated every second: `in 4 min`. */
export function In({ time }: { time: string }): ReactNode {
  const words = deadlineWords(time, useNow());
  return (
    <time dateTime={time} title={localTimeWords(time)}>
      {words === 'over' ? 'now' : `in ${words}`}
    </time>
  );
}

/** The age of something, updated every second. */
export function Age({ time }: { time: string }): ReactNode {
  return (
    <time dateTime={time} title={localTimeWords(time)}>
      {ageWords(time, useNow())}
    </time>
  );
}

const soonMs = 5 * 60_000;

/** The remaining time of an approval, updated every second. It ends by no deadline while it cannot be read. */
export function Countdown({ approval: { expiresAt, mayDecide } }: { approval: ApprovalView }): ReactNode {
  const nowMs = useNow();
  if (mayDecide?.now === false && mayDecide.why === 'unreadable') return <b className="cs-countdown">cannot be read</b>;
  if (expiresAt === null) return <span className="cs-countdown">no deadline</span>;
  const isSoon = Date.parse(expiresAt) - nowMs < soonMs;
  const words = deadlineWords(expiresAt, nowMs);
  return (
    <time className="cs-countdown" dateTime={expiresAt} title={localTimeWords(expiresAt)} data-soon={isSoon}>
      {words === 'over' ? 'deadline over' : `${words} left`}
    </time>
  );
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' });

/** The time of day; the date and time on hovering. */
export function ClockTime({ time }: { time: string }): ReactNode {
  const date = new Date(time);
  return (
    <time dateTime={time} title={localTimeWords(time)} className="cs-muted">
      {Number.isNaN(date.getTime()) ? '' : clock.format(date)}
    </time>
  );
}
