import type { LedgerClient } from './connection/ledger-client.js';
import { createLedgerClient } from './connection/ledger-client.js';
import { findConnection } from './connection/connection.js';
import type { Terminal } from './terminal.js';
import { columnsOf } from './terminal.js';
import { safeJson } from './text/printable.js';
import type { Style } from './text/style.js';
import { createStyle, wantsColor } from './text/style.js';
import type { Line } from './view/line.js';
import { paint, wrappedWords } from './view/line.js';

/** The options of every command. */
export interface GlobalOptions {
  readonly url?: string;
  readonly token?: string;
  readonly json?: boolean;
  /** False after `--no-color`. */
  readonly color?: boolean;
}

/** One run of one command: its options and its output. */
export interface Output {
  readonly terminal: Terminal;
  readonly json: boolean;
  /** The width to write for. */
  readonly columns: number;
  readonly style: Style;
  /** Prints lines for people on stdout; with `--json` nothing. */
  readonly print: (...lines: readonly Line[]) => void;
  /** Prints one JSON document on one line of stdout; prints nothing without `--json`. */
  readonly printJson: (value: unknown) => void;
  /** Prints a note on stderr; prints nothing with `--json`. */
  readonly note: (text: string) => void;
}

/** A run of a command that asks the server. */
export interface Invocation extends Output {
  readonly client: LedgerClient;
}

/** The environment of a command that calls the server. */
export function createInvocation(options: GlobalOptions, terminal: Terminal): Invocation {
  const client = createLedgerClient(findConnection(options, terminal.env), terminal.now);
  return { ...createOutput(options, terminal), client };
}

/** The environment of a command that calls no server. */
export function createOutput(options: GlobalOptions, terminal: Terminal): Output {
  const { stdout, stderr, env } = terminal;
  const json = options.json === true;
  const columns = columnsOf(stdout);
  const style = createStyle(wantsColor(env, stdout.isTTY, options.color !== false));
  return {
    terminal,
    json,
    columns,
    style,
    print: (...lines) => {
      if (!json) for (const line of lines) stdout.write(`${paint(line, style)}\n`);
    },
    printJson: (value) => {
      if (json) stdout.write(`${safeJson(value)}\n`);
    },
    note: (text) => {
      if (!json)
        for (const line of wrappedWords(text, columnsOf(stderr))) stderr.write(`${paint(line, createStyle(false))}\n`);
    },
  };
}
