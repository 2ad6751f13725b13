import type { Style } from '../text/style.js';
import type { Line } from '../view/line.js';
import { paint } from '../view/line.js';

const enterScreen = '\u001b[?1049h\u001b[?25l\u001b[?2004h';
const leaveScreen = '\u001b[?2004l\u001b[?25h\u001b[?1049l';
const home = '\u001b[H';
const clearLineEnd = '\u001b[K';
const clearBelow = '\u001b[J';

/** A full-screen view on a terminal's alternate screen. Closing it restores the previous content. */
export interface Screen {
  readonly enter: () => void;
  readonly leave: () => void;
  /** Draws a frame; when nothing changed, nothing is written, unless `force`. */
  readonly draw: (lines: readonly Line[], force?: boolean) => void;
}

/** A screen on an output stream. It is left when the process ends, however it ends. */
export function createScreen(stdout: NodeJS.WriteStream, style: Style): Screen {
  let drawn = '';
  let isEntered = false;
  const leave = (): void => {
    if (!isEntered) return;
    isEntered = false;
    process.off('exit', leave);
    stdout.write(leaveScreen);
  };
  return {
    enter: () => {
      isEntered = true;
      drawn = '';
      process.on('exit', leave);
      stdout.write(enterScreen);
    },
    leave,
    draw: (lines, force = false) => {
      if (!isEntered) return;
      const frame = lines.map((line) => paint(line, style) + clearLineEnd).join('\r\n');
      if (frame === drawn && !force) return;
      drawn = frame;
      stdout.write(home + frame + clearBelow);
    },
  };
}
