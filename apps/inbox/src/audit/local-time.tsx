import type { ReactNode } from 'react';
import { timeWords } from '@countersign/text';

const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** A moment in local time, with UTC in the title. */
export function LocalTime({ time }: { time: string }): ReactNode {
  const ms = Date.parse(time);
  return (
    <time dateTime={time} title={timeWords(time)}>
      {Number.isNaN(ms) ? 'an unknown time' : format.format(ms)}
    </time>
  );
}
