import type { LedgerClient } from './connection/ledger-client.js';
import { createLedgerClient } from './connection/ledger-client.js';
import { findConnection } from './connection/connection.js';
import type { Terminal } from './terminal.js';
import { columnsOf } from './terminal.js';
import { safeJson } from './text/printable.js';
import type { Style } from './text/style.js';
import { createStyle, wantsColor } from './text/style.js';
import type { Line } from './view/line.js';
import { paint, wrapped } from './view/line.js';

/** The options that every command takes. */
export interface GlobalOptions {
  readonly url?: string;
  readonly token?: string;
  readonly json?: boolean;
  /** False after `--no-color`. */
  readonly color?: boolean;
}

/** One run of one command: its options, and the only ways to speak to the person and to the server. */
export interface Invocation {
  readonly terminal: Terminal;
  readonly json: boolean;
  /** The width to write for. */
  readonly columns: number;
  readonly style: Style;
  readonly client: LedgerClient;
  /** Prints lines for people on stdout; with `--json` nothing. */
  readonly print: (...lines: readonly Line[]) => void;
  /** Prints one JSON document, on one line, on stdout; without `--json` nothing. */
  readonly printJson: (value: unknown) => void;
  /** Says something beside the result, on stderr; with `--json` nothing. */
  readonly note: (text: string) => void;
}

/** What a command runs with. */
export function createInvocation(options: GlobalOptions, terminal: Terminal): Invocation {
  const { stdout, stderr, env, now } = terminal;
  const json = options.json === true;
  const columns = columnsOf(stdout);
  const style = createStyle(wantsColor(env, stdout.isTTY, options.color !== false));
  const client = createLedgerClient(findConnection(options, env), now);
  return {
    terminal,
    json,
    columns,
    style,
    client,
    print: (...lines) => {
      if (!json) for (const line of lines) stdout.write(`${paint(line, style)}\n`);
    },
    printJson: (value) => {
      if (json) stdout.write(`${safeJson(value)}\n`);
    },
    note: (text) => {
      if (!json)
        for (const line of wrapped(text, columnsOf(stderr))) stderr.write(`${paint(line, createStyle(false))}\n`);
    },
  };
}
