import { readFileSync } from 'node:fs';
import { Command, CommanderError } from 'commander';
import { printable } from '@countersign/text';
import { CliError, toCliError, usageError } from './cli-error.js';
import { addAcp } from './commands/acp-options.js';
import { addActCommands } from './commands/act-options.js';
import { addAnswerCommands } from './commands/answer-options.js';
import { addAudit } from './commands/audit-options.js';
import { addCallsCommands } from './commands/calls-options.js';
import { addConformance } from './commands/conformance-options.js';
import { addGrants } from './commands/grants-options.js';
import { addHook } from './commands/hook-options.js';
import { addLookCommands } from './commands/look-options.js';
import { addMcp, addMcpApprover } from './commands/mcp-options.js';
import { addStopCommands } from './commands/stop-options.js';
import { addOperateCommands } from './commands/operate-options.js';
import type { ExitCode } from './exit-codes.js';
import { exitCodes, exitCodesHelp } from './exit-codes.js';
import type { GlobalOptions } from './invocation.js';
import type { Runner } from './runner.js';
import type { Terminal } from './terminal.js';
import { columnsOf } from './terminal.js';
import { safeJson } from './text/printable.js';
import { createStyle, wantsColor } from './text/style.js';
import { paint, wrappedWords } from './view/line.js';
import { problemWords } from './view/problem-words.js';

/**
 * Runs the command line. Takes the arguments (without `node` and the script) and returns the exit code. Never rejects.
 */
export async function runCli(args: readonly string[], terminal: Terminal): Promise<ExitCode> {
  let exitCode: ExitCode = exitCodes.ok;
  const program = createProgram(terminal, {
    asking: async (command, work) => {
      const { createInvocation } = await import('./invocation.js');
      exitCode = await work(createInvocation(command.optsWithGlobals<GlobalOptions>(), terminal));
    },
    operating: async (command, work) => {
      const { createOutput } = await import('./invocation.js');
      exitCode = await work(createOutput(command.optsWithGlobals<GlobalOptions>(), terminal));
    },
    alone: async (work) => {
      exitCode = await work();
    },
  });
  let called = program;
  onSubcommand(program, (command) => (called = command));
  try {
    if (args.length === 0) program.help({ error: true });
    await program.parseAsync(args, { from: 'user' });
    return exitCode;
  } catch (error) {
    const code = exitCodeOf(error, called, args, terminal);
    // After a tool there is nothing to block: after a 2 an agent tells its model to repair the hook, and Gemini CLI hides the
    // result of the tool.
    const isAfterTool = called.name() === 'hook' && args.includes('--post');
    return isAfterTool && code === exitCodes.usage ? exitCodes.unexpected : code;
  }
}

function exitCodeOf(error: unknown, called: Command, args: readonly string[], terminal: Terminal): ExitCode {
  if (error instanceof CommanderError) return commanderExit(error, called, args, terminal);
  if (terminal.interrupted.aborted) return exitCodes.interrupted;
  return complain(withHelp(toCliError(error), called), args, terminal);
}

function createProgram(terminal: Terminal, runner: Runner): Command {
  const program = new Command('countersign')
    .description('The approval ledger for AI agents: see what agents ask for, and decide.')
    .version(versionOfPackage(), '-V, --version')
    .option('--url <url>', 'the server (COUNTERSIGN_URL; default: this machine, port 7400)')
    .option('--token <token>', 'your token (COUNTERSIGN_TOKEN; default on this machine: "me" in data/tokens.json)')
    .option('--json', 'JSON for programs on stdout, problem documents on stderr')
    .option('--no-color', 'no colours (as does NO_COLOR)')
    .configureHelp({ showGlobalOptions: true, sortSubcommands: false })
    .configureOutput({
      writeOut: (text) => terminal.stdout.write(text),
      writeErr: (text) => terminal.stderr.write(text),
      outputError: () => undefined,
      getOutHelpWidth: () => columnsOf(terminal.stdout),
      getErrHelpWidth: () => columnsOf(terminal.stderr),
    })
    .helpCommand(false)
    .exitOverride()
    .addHelpText('after', `\n${exitCodesHelp}\n\nEach command has its own help: countersign approve --help`);
  addAnswerCommands(program, runner);
  addLookCommands(program, runner);
  addAudit(program, runner);
  addCallsCommands(program, runner);
  addGrants(program, runner);
  addActCommands(program, runner);
  addStopCommands(program, runner);
  addOperateCommands(program, runner);
  addMcp(program, runner);
  addMcpApprover(program, runner);
  addHook(program, runner);
  addAcp(program, runner);
  addConformance(program, runner);
  pointToExitCodes(program);
  return program;
}

function pointToExitCodes(command: Command): void {
  for (const child of command.commands) {
    child.addHelpText('after', '\nExit codes: see `countersign --help`.');
    pointToExitCodes(child);
  }
}

function versionOfPackage(): string {
  const text = readFileSync(new URL('../package.json', import.meta.url), 'utf8');
  const { version } = JSON.parse(text) as { readonly version: string };
  // The bundler writes the commit in its place; in other builds it is not known.
  const commit = process.env['COUNTERSIGN_BUILT_COMMIT'];
  return commit === undefined ? version : `${version} (commit ${commit})`;
}

/** Reports each command that the command line names, also when its own arguments are wrong. */
function onSubcommand(command: Command, report: (called: Command) => void): void {
  command.hook('preSubcommand', (_command, called) => {
    report(called);
  });
  for (const child of command.commands) onSubcommand(child, report);
}

/** Names the help of the command, for a wrong command line that has no other remedy. */
function withHelp(error: CliError, called: Command): CliError {
  if (error.exitCode !== exitCodes.usage || error.remedy !== '') return error;
  const names: string[] = [];
  for (let command: Command | null = called; command !== null; command = command.parent) names.unshift(command.name());
  return new CliError(error.exitCode, error.problem, `See \`${names.join(' ')} --help\`.`);
}

/** Help and version are not errors. A parse error of commander is printed in our words, with our exit code. */
function commanderExit(error: CommanderError, called: Command, args: readonly string[], terminal: Terminal): ExitCode {
  if (error.exitCode === 0) return exitCodes.ok;
  if (error.code === 'commander.help') return exitCodes.usage;
  // A connection string given as an argument: its user and password must not reach a log.
  const detail = error.message
    .replace(/^error: /, '')
    .replaceAll('\n', ' ')
    .replaceAll(/:\/\/\S*@/g, '://…@');
  return complain(withHelp(usageError(detail), called), args, terminal);
}

/** Prints an error on stderr: a problem document for programs, words with a remedy for people. */
function complain(error: CliError, args: readonly string[], terminal: Terminal): ExitCode {
  const { stderr, env, now } = terminal;
  if (args.includes('--json')) {
    stderr.write(`${safeJson(error.remedy === '' ? error.problem : { ...error.problem, remedy: error.remedy })}\n`);
    return error.exitCode;
  }
  const style = createStyle(wantsColor(env, stderr.isTTY, !args.includes('--no-color')));
  const lines = [
    ...wrappedWords(`countersign: ${problemWords(error.problem, now())}`, columnsOf(stderr), 'red'),
    ...(error.remedy === '' ? [] : wrappedWords(printable(error.remedy), columnsOf(stderr))),
  ];
  for (const line of lines) stderr.write(`${paint(line, style)}\n`);
  return error.exitCode;
}
