import type { ReactNode } from 'react';
import { useUndoTime } from '../live/undo-time.js';
import type { UndoTime } from '../live/undo-time.js';
import { Dialog } from '@countersign/react/parts';

const keys: readonly (readonly [string, string])[] = [
  ['j / k', 'next, previous approval'],
  ['a', 'approve: it runs exactly as shown (Enter confirms)'],
  ['d', 'deny: it will not run (Enter confirms)'],
  ['e', 'edit the arguments, then approve those'],
  ['r', 'answer in place of the tool'],
  ['u', 'undo: take back what is not sent yet'],
  ['x', 'select for an answer to many'],
  ['/', 'filter the list'],
  ['Esc', 'leave a field, clear the selection'],
  ['?', 'this help'],
];

const times: readonly (readonly [UndoTime, string])[] = [
  ['5', '5 seconds'],
  ['20', '20 seconds'],
  ['0', 'none: send at once'],
];

/** The keys, and what the marks mean. */
export function HelpDialog({ onClose }: { onClose: () => void }): ReactNode {
  const [time, setTime] = useUndoTime();
  return (
    <Dialog title="Help" onClose={onClose}>
      <h3>Keys</h3>
      <dl className="keys">
        {keys.map(([key, words]) => (
          <div key={key}>
            <dt>
              <kbd>{key}</kbd>
            </dt>
            <dd>{words}</dd>
          </div>
        ))}
      </dl>
      <h3>Time to undo</h3>
      <label className="cs-field">
        <span className="cs-hint">
          An approval or a denial is sent after this time, or when you leave the page. Until then nothing is recorded.
        </span>
        <select
          aria-label="Time to undo"
          value={time}
          onChange={(event) => setTime(times.find(([one]) => one === event.target.value)?.[0] ?? '5')}
        >
          {times.map(([one, words]) => (
            <option key={one} value={one}>
              {words}
            </option>
          ))}
        </select>
      </label>
      <h3>What you see</h3>
      <p>
        The arguments are the recorded ones: what you approve is what runs, or nothing does. A character that would be
        invisible, or that only looks like another, is shown as a mark such as <mark className="cs-mark">⟦U+202E⟧</mark>
        . What the agent says about its call comes last: it may be wrong.
      </p>
    </Dialog>
  );
}
