import { parseArgs } from 'node:util';
import { safeJson } from '@countersign/text';
import type { VerifyOptions, VerifyOutput } from '../audit/verify-log.js';
import { toCliError, usageError } from '../cli-error.js';
import { verify } from '../commands/audit-verify.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import { createSpilledStreams } from '../sqlite/spilled-streams.js';
import type { SpilledStreams } from '../sqlite/spilled-streams.js';
import { sealed } from '../text/printable.js';
import { timeOf } from '../time-of.js';
import { compareImprint } from './compare-imprint.js';

const usage = `Usage: node verify.mjs [options] <source>

Checks a log of Countersign against what you kept, and each event against the
rules. Needs Node 20 or newer and nothing else.

source              a bundle, an export, tiles, a proof, or a data folder (this
                    one where Node has SQLite, from 22.13 on)
--vkey <file>       the keys that you trust, one a line
--policy <file>     witnesses that must have cosigned, a tlog-policy
--token <token>     for tiles at an address
--since <text>      the checkpoints that you kept: a file, or the text
--tenant <tenant>   whose log; needed where the source has several
--from, --to <time> judge the events recorded between them
--all               name every finding; without it the first one of each check
--json              one object a line, the last one is { summary }

Of time stamps it compares the hash alone: openssl ts -verify checks the rest.

Exit codes: 0 proven, 1 a finding, 2 it cannot be read, 3 nothing from outside
vouches for it.`;

const [text, flag] = [{ type: 'string' }, { type: 'boolean' }] as const;
const options = {
  ...{ vkey: text, policy: text, token: text, since: text, tenant: text, from: text, to: text },
  ...{ all: flag, json: flag, help: flag },
};

async function main(): Promise<ExitCode> {
  const { values, positionals } = parseArgs({ options, allowPositionals: true });
  if (values.help === true) {
    console.log(usage);
    return exitCodes.ok;
  }
  const [source] = positionals;
  if (source === undefined || positionals.length > 1) throw usageError('Name one source.', usage);
  return verify(createOutput(values.json === true), source, verifyOptions(values), {
    openJudge: () => compareImprint,
    streams: createStreams(),
  });
}

function verifyOptions({ from, to, ...others }: Readonly<Record<string, unknown>>): VerifyOptions {
  return {
    ...(others as VerifyOptions),
    ...(typeof from === 'string' && { from: timeIn('--from', from) }),
    ...(typeof to === 'string' && { to: timeIn('--to', to) }),
  };
}

function timeIn(option: string, text: string): string {
  const found = timeOf(text);
  if (found === undefined) throw usageError(`${option}: ${text} is no date and no time.`, 'Write 2026-11-01.');
  return found;
}

/** A Node without SQLite keeps all streams in memory. */
function createStreams(): SpilledStreams {
  const hasSqlite = process.versions['sqlite'] !== undefined;
  return hasSqlite ? createSpilledStreams() : Object.assign(new Map(), { close: () => undefined });
}

function createOutput(json: boolean): VerifyOutput {
  const { stdout, stderr, env } = process;
  return {
    json,
    terminal: { env, stderr, now: Date.now, interrupted: new AbortController().signal },
    print: (...lines) => {
      if (!json) for (const line of lines) stdout.write(`${sealed(line.text)}\n`);
    },
    printJson: (value) => {
      if (json) stdout.write(`${safeJson(value)}\n`);
    },
  };
}

try {
  process.exitCode = await main();
} catch (thrown) {
  const { message, remedy } = toCliError(thrown);
  console.error(`verify.mjs: ${message}${remedy === '' ? '' : `\n${remedy}`}`);
  process.exitCode = exitCodes.usage;
}
