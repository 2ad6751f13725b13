import { setFlagsFromString } from 'node:v8';
import { runCli } from './program.js';
import { processTerminal } from './terminal.js';

const args = process.argv.slice(2);
// V8 would let the garbage of large events grow to several times what is in use before it collects it.
if (args.includes('audit') && ['export', 'log', 'verify'].some((name) => args.includes(name)))
  setFlagsFromString('--heap-growing-percent=50');
const exitCode = await runCli(args, processTerminal());
// A server that `start` ran may have set its own by now.
process.exitCode ??= exitCode;
