export { exitCodes } from './exit-codes.js';
export type { ExitCode } from './exit-codes.js';
export { runCli } from './program.js';
export { startCommand } from './start.js';
export type { Terminal } from './terminal.js';
