import { runCli } from './program.js';
import { processTerminal } from './terminal.js';

const exitCode = await runCli(process.argv.slice(2), processTerminal());
// A server that `start` ran may have set its own by now.
process.exitCode ??= exitCode;
