import type { Command } from 'commander';
import { count } from '../count-option.js';
import type { Runner } from '../runner.js';
import type { ManyOptions } from './many-options.js';
import type { RespondOptions } from './respond.js';

const exact = 'Write the id exactly as `countersign list` shows it.';

function withRemarks(command: Command): Command {
  return command
    .option('--reason <text>', 'why; recorded, and told to the agent')
    .option('--instruction <text>', 'an instruction for the next steps of the agent')
    .option(
      '--digest <sha256:…>',
      'the shownDigest of the approval that you saw: refused if anything of it has changed',
    );
}

/** `inbox` and the commands that respond to one approval. */
export function addAnswerCommands(program: Command, runner: Runner): void {
  addInbox(program, runner);
  addApproveAndDeny(program, runner);
  addEdit(program, runner);
  addAnswer(program, runner);
  program
    .command('reveal <approvalId>')
    .description('show the hidden values of an approval that you may answer; that you looked is recorded')
    .addHelpText('after', '\nExample:\n  countersign reveal apr_abcdefghijklmnopqrstuvwxyz_1')
    .action(async (id: string, _options: unknown, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./respond.js')).reveal(invocation, id)),
    );
  program
    .command('withdraw <approvalId>')
    .description('withdraw your own answer while the approval is pending')
    .addHelpText('after', '\nExample:\n  countersign withdraw apr_abcdefghijklmnopqrstuvwxyz_1')
    .action(async (id: string, _options: unknown, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./respond.js')).withdraw(invocation, id)),
    );
}

function addInbox(program: Command, runner: Runner): void {
  program
    .command('inbox')
    .description('show the pending approvals live, and decide with the keyboard')
    .option('--tool <name>', 'this tool only')
    .option('--run <runId>', 'this run only')
    .option('--agent <agentId>', 'this agent only')
    .option('--group <name>', 'approvals that this group may answer')
    .addHelpText(
      'after',
      `
Keys: ↑ ↓ j k choose, enter look, a approve, e edit in $EDITOR, d deny,
r answer in place of the tool, q back or quit.
Without a terminal it prints the list once, like \`countersign list\`.

Examples:
  countersign inbox
  countersign inbox --group ops
  EDITOR="code --wait" countersign inbox`,
    )
    .action(async (options: object, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./inbox.js')).inbox(invocation, options)),
    );
}

function addApproveAndDeny(program: Command, runner: Runner): void {
  const texts = {
    approve: [
      'let the call run with exactly the arguments that were shown',
      'countersign approve apr_abcdefghijklmnopqrstuvwxyz_1 --reason "seen with ops"',
    ],
    deny: ['do not let it run', 'countersign deny apr_abcdefghijklmnopqrstuvwxyz_1 --reason "not on a Friday"'],
  } as const;
  for (const type of ['approve', 'deny'] as const) {
    const [description, example] = texts[type];
    const remarks = withRemarks(program.command(`${type} [approvalId]`).description(description));
    (type === 'approve' ? withRemember(remarks) : remarks)
      .option('--run <runId>', 'all pending approvals of this run')
      .option('--batch <batchId>', 'all pending approvals of this batch')
      .option('--tool <glob>', 'all pending approvals of these tools')
      .option('--agent <agentId>', 'all pending approvals of this agent')
      .option('--yes', 'send without a question')
      .addHelpText('after', approveOrDenyHelp(type, example))
      .action(async (id: string | undefined, options: RespondOptions & ManyOptions, command: Command) =>
        runner.asking(command, async (invocation) => {
          if (id === undefined) return (await import('./respond-to-many.js')).respondToMany(invocation, type, options);
          return (await import('./respond.js')).approveOrDeny(invocation, type, id, options);
        }),
      );
  }
}

function withRemember(command: Command): Command {
  return command
    .option('--remember <match>', 'also grant such calls: exact (same arguments) or tool')
    .option('--for <time>', 'with --remember: how long, 30m, 8h or 3d')
    .option('--scope <scope>', 'with --remember: run or agent (default: run)')
    .option('--max-uses <n>', 'with --remember: how many calls', count);
}

function approveOrDenyHelp(type: 'approve' | 'deny', example: string): string {
  const one =
    type === 'approve'
      ? `
It shows the call and is bound to what it showed, and asks first on a terminal
(not with --yes). With --digest it shows nothing and is bound to that digest.
With --json it shows nothing and, without --digest, is bound to nothing.`
      : '';
  return `
${exact}${one}
With --run, --batch, --tool or --agent it decides many approvals. It shows a
table of them and of those that you cannot decide, asks, and prints a result for
each. Without a terminal it needs --yes. It never makes a standing grant.

Examples:
  ${example}
  countersign ${type} --run run-42
  countersign ${type} --tool 'read_*' --agent janitor --yes --json${type === 'approve' ? rememberExample : ''}`;
}

const rememberExample = `
  countersign approve apr_abcdefghijklmnopqrstuvwxyz_1 --remember exact --for 8h`;

function addEdit(program: Command, runner: Runner): void {
  withRemarks(
    program.command('edit <approvalId>').description('approve with other arguments, which replace all of the old ones'),
  )
    .option('--arguments <json>', 'JSON, @file, or - for stdin; without it, $EDITOR opens on the arguments')
    .addHelpText(
      'after',
      `
A masked value that you leave unchanged keeps its original.

Examples:
  countersign edit apr_abcdefghijklmnopqrstuvwxyz_1
  countersign edit apr_abcdefghijklmnopqrstuvwxyz_1 --arguments '{"path":"/x"}'
  countersign edit apr_abcdefghijklmnopqrstuvwxyz_1 --arguments @arguments.json`,
    )
    .action(async (id: string, options: RespondOptions & { arguments?: string }, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./respond.js')).edit(invocation, id, options)),
    );
}

function addAnswer(program: Command, runner: Runner): void {
  withRemarks(program.command('answer <approvalId>').description('give the result yourself; the tool does not run'))
    .option('--output <json>', 'the result: JSON, @file, or - for stdin')
    .option('--text <text>', 'the result as plain text')
    .addHelpText(
      'after',
      `
Examples:
  countersign answer apr_abcdefghijklmnopqrstuvwxyz_1 --output '{"rows":3}'
  countersign answer apr_abcdefghijklmnopqrstuvwxyz_1 --text "done by hand"
  psql -c … | countersign answer apr_abcdefghijklmnopqrstuvwxyz_1 --output -`,
    )
    .action(async (id: string, options: RespondOptions & { output?: string; text?: string }, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./respond.js')).answer(invocation, id, options)),
    );
}
