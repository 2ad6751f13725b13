import { useKept } from './use-kept.js';

/** How long a decision is held before it is sent, in seconds. */
export type UndoTime = '0' | '5' | '20';

const times = ['5', '20', '0'] as const;
const name = 'undo-seconds';

/** The time to undo a decision, as the person chose it. */
export function useUndoTime(): readonly [UndoTime, (time: UndoTime) => void] {
  return useKept<UndoTime>(name, times, '5');
}

/** The time to undo a decision in ms, as it is now. */
export function undoMs(): number {
  try {
    const kept = localStorage.getItem(`countersign-${name}`);
    return Number(times.find((time) => time === kept) ?? '5') * 1000;
  } catch {
    return 5000;
  }
}
