import type { ReactNode } from 'react';
import { localTimeWords } from '@countersign/react/parts';

const format = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeStyle: 'medium' });

/** A moment in local time, with its zone and UTC in the title. */
export function LocalTime({ time }: { time: string }): ReactNode {
  const ms = Date.parse(time);
  return (
    <time dateTime={time} title={localTimeWords(time)}>
      {Number.isNaN(ms) ? 'an unknown time' : format.format(ms)}
    </time>
  );
}
