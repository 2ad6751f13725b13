import type { Invocation } from '../invocation.js';

/** Asks on the terminal. Only a yes is a yes. */
export async function isConfirmed({ terminal }: Invocation, question: string): Promise<boolean> {
  const { createInterface } = await import('node:readline/promises');
  const readline = createInterface({ input: terminal.stdin, output: terminal.stdout });
  try {
    const reply = await readline.question(`${question} [y/N] `, { signal: terminal.interrupted });
    return /^y(es)?$/i.test(reply.trim());
  } finally {
    readline.close();
  }
}
