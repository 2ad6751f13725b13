import { setTimeout as sleep } from 'node:timers/promises';
import { printable } from '@countersign/text';
import type { Invocation } from '../invocation.js';
import { wrap } from '../text/width.js';
import type { Terminal } from '../terminal.js';

/** What a terminal has kept comes at once. Longer, for keys that are pressed twice or held. */
const forgottenMs = 300;
const ctrlC = '\u0003';

/**
 * Asks on the terminal. Only a yes is a yes.
 * @param typed has to be typed in place of a yes, such as the name of the tool
 */
export async function isConfirmed(
  { terminal, columns }: Invocation,
  question: string,
  typed?: string,
): Promise<boolean> {
  if (!(await forgetTyped(terminal))) return false;
  const { createInterface } = await import('node:readline/promises');
  const readline = createInterface({ input: terminal.stdin, output: terminal.stdout });
  const shown = typed === undefined ? '[y/N]' : `To confirm, type ${printable(typed)}:`;
  const words = wrap(`${question} ${shown}`, columns - 1, 0, '').join('\n');
  try {
    const reply = (await readline.question(`${words} `, { signal: terminal.interrupted })).trim();
    return typed === undefined ? /^y(es)?$/i.test(reply) : [typed, printable(typed)].includes(reply);
  } finally {
    readline.close();
  }
}

/**
 * Throws away what was typed before the question: it was meant for something else. Returns false when that was Ctrl-C.
 * The attack: a card of two hundred lines, and a person who presses `y` and Enter while it is still loaded.
 */
async function forgetTyped({ stdin, interrupted }: Terminal): Promise<boolean> {
  let isStopped = false;
  const forget = (keys: Buffer): void => {
    isStopped ||= keys.includes(ctrlC);
  };
  // Also what has no line end yet.
  stdin.setRawMode(true);
  stdin.on('data', forget);
  await sleep(forgottenMs, undefined, { signal: interrupted }).catch(() => {
    isStopped = true;
  });
  stdin.off('data', forget);
  stdin.pause();
  stdin.setRawMode(false);
  return !isStopped;
}
