/** The outside world of a command: where it reads, writes, and learns the time. Tests bring their own. */
export interface Terminal {
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly stdin: NodeJS.ReadStream;
  readonly stdout: NodeJS.WriteStream;
  readonly stderr: NodeJS.WriteStream;
  /** Wall time in ms since the epoch. */
  readonly now: () => number;
  /** Aborted by Ctrl-C, an orderly kill and the end of the terminal: a command that waits ends. */
  readonly interrupted: AbortSignal;
  /** Runs a child that owns the terminal: a Ctrl-C meanwhile is for it, not for us. */
  readonly holdingInterrupts: <T>(work: () => Promise<T>) => Promise<T>;
}

const columnsDefault = 80;
/** The signals that stop a command. `bin/pinned-node.js` passes the same ones on to its child. */
const stopSignals = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;

/** The width to write for: that of the terminal, 80 into a pipe or where it is unknown. */
export function columnsOf(stream: NodeJS.WriteStream): number {
  const columns = stream.isTTY ? stream.columns : columnsDefault;
  return columns > 0 ? Math.max(40, columns) : columnsDefault;
}

/** The terminal of this process. */
export function processTerminal(): Terminal {
  const { env, stdin, stdout, stderr } = process;
  endQuietlyWithoutReader(stdout);
  let interrupts: Interrupts | undefined;
  return {
    env,
    stdin,
    stdout,
    stderr,
    now: () => Date.now(),
    // Listened to from the first use on: `start` has its own way to stop.
    get interrupted() {
      interrupts ??= listenToInterrupts();
      return interrupts.signal;
    },
    holdingInterrupts: async (work) => {
      interrupts ??= listenToInterrupts();
      return interrupts.holding(work);
    },
  };
}

interface Interrupts {
  readonly signal: AbortSignal;
  readonly holding: Terminal['holdingInterrupts'];
}

function listenToInterrupts(): Interrupts {
  const abort = new AbortController();
  let isHeld = false;
  const stop = (signal: NodeJS.Signals): void => {
    if (isHeld && signal === 'SIGINT') return;
    // The second Ctrl-C ends the process in the usual way, should something hang.
    for (const name of stopSignals) process.off(name, stop);
    abort.abort();
  };
  for (const name of stopSignals) process.on(name, stop);
  return {
    signal: abort.signal,
    holding: async (work) => {
      isHeld = true;
      try {
        return await work();
      } finally {
        isHeld = false;
      }
    },
  };
}

/** `countersign tail | head -1`: the reader has what it wanted, which is no error of ours. */
function endQuietlyWithoutReader(stdout: NodeJS.WriteStream): void {
  stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code !== 'EPIPE') throw error;
    process.exit(0);
  });
}
