import type { UnreadableStream } from '@countersign/contracts';
import type { HeldTurn } from '@countersign/read-model';
import type { ReadinessCheck } from '../http/health.js';

/** Says how many streams are set aside. The process is ready: it serves all other calls. */
export function createUnreadableCheck(
  streams: () => readonly UnreadableStream[],
  turnsHeld: () => readonly HeldTurn[] = () => [],
): ReadinessCheck {
  return {
    name: 'unreadable-events',
    check: () => {
      const found = streams();
      const [first] = found;
      if (first === undefined) return { status: 'ok' };
      const count = found.length === 1 ? '1 stream is' : `${String(found.length)} streams are`;
      const where = `revision ${String(first.revision)} of ${first.stream} at position ${String(first.position)}`;
      const note = `${count} set aside, with an event that cannot be read, first ${where}: ${first.why}`;
      return { status: 'ok', note: `${note}. \`countersign log unreadable\` lists them${noteOnTurns(turnsHeld())}` };
    },
  };
}

function noteOnTurns([first, ...others]: readonly HeldTurn[]): string {
  if (first === undefined) return '';
  const more = others.length === 0 ? '' : `, and of ${String(others.length)} more`;
  return (
    `. Sequential calls of the run "${first.runId}"${more} wait for the call ${first.callId}, which may be running: ` +
    'cancel the run to end that'
  );
}
