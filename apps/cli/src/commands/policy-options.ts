import type { Command } from 'commander';
import { count } from '../count-option.js';
import type { Runner } from '../runner.js';
import { time } from '../time-option.js';
import type { CheckOptions } from './policy.js';
import type { BacktestOptions } from './policy-backtest.js';

interface ExplainOptions {
  readonly call: string;
  readonly file?: string;
}

/** `countersign policy …`: tries a policy file before it is in force. */
export function addPolicy(program: Command, runner: Runner): void {
  const policy = program
    .command('policy')
    .description('check, explain and test the rules of a policy file')
    .helpCommand(false)
    .addHelpText(
      'after',
      `
Examples:
  countersign policy check countersign.policy.yaml
  countersign policy explain --call '{"toolName":"delete_file"}'
  countersign policy test countersign.policy.yaml policy-cases.yaml
  countersign policy backtest countersign.policy.yaml --from 2026-11-01`,
    );
  addCheck(policy, runner);
  addExplain(policy, runner);
  addTest(policy, runner);
  addBacktest(policy, runner);
  addRecorded(policy, runner);
}

function addCheck(policy: Command, runner: Runner): void {
  policy
    .command('check')
    .description(
      'report all errors of a policy file at once, rules that no call reaches and comparisons that never hold',
    )
    .argument('<file>', 'the policy file: YAML, JSON or TOML')
    .option('--tokens <file>', 'the tokens file with the groups of people (default: that of the data folder)')
    .option('--recorded', 'also report the rules that match no recorded call of the server (auditors)')
    .addHelpText(
      'after',
      `
Asks no server, except with --recorded. The output says if the server cannot be
asked. Exits with 5 when the file cannot be used, also because a rule names a
group that no approver has. The groups are those of the tokens file, of
COUNTERSIGN_CHANNELS and of the policy file.

Examples:
  countersign policy check countersign.policy.yaml
  countersign policy check countersign.policy.yaml --tokens tokens.json
  countersign policy check countersign.policy.yaml --recorded
  countersign policy check countersign.policy.yaml --json`,
    )
    .action(async (file: string, options: CheckOptions, command: Command) =>
      options.recorded === true
        ? runner.asking(command, async (invocation) =>
            (await import('./policy.js')).checkWithRecorded(invocation, file, options),
          )
        : runner.operating(command, async (output) =>
            (await import('./policy.js')).checkPolicyFile(output, file, options),
          ),
    );
}

function addExplain(policy: Command, runner: Runner): void {
  policy
    .command('explain')
    .description('show the verdict on one call, and the result of each rule; records nothing')
    .requiredOption('--call <json>', 'the call: JSON, @file or - for stdin')
    .option('--file <file>', 'a policy file (default: the policy of the server)')
    .addHelpText(
      'after',
      `
A call has "toolName" and may have "arguments", "agentId", "runId", "labels",
"description", "needsApproval" and "at", the time at which it is judged. The
server also shows the quotas that count the call; "requestedBy" names the
principal that would request it (default: one with the name of the agent).

Examples:
  countersign policy explain \\
    --call '{"toolName":"refund_order","arguments":{"amount":60}}'
  countersign policy explain --file policy.yaml --call @call.json --json`,
    )
    .action(async ({ call, file }: ExplainOptions, command: Command) =>
      file === undefined
        ? runner.asking(command, async (invocation) =>
            (await import('./policy.js')).explainOnServer(invocation, { call }),
          )
        : runner.operating(command, async (output) =>
            (await import('./policy.js')).explainCall(output, { call, file }),
          ),
    );
}

function addTest(policy: Command, runner: Runner): void {
  policy
    .command('test')
    .description('judge the calls of a file of test cases, and compare the verdicts')
    .argument('<file>', 'the policy file')
    .argument('<cases>', 'the cases: YAML or JSON')
    .addHelpText(
      'after',
      `
A case is a call and the verdict that it must get:

  - call: { toolName: refund_order, arguments: { amount: 60 } }
    expect: { outcome: require, ruleId: refunds }

Asks no server. Exits with 5 when a case fails.

Examples:
  countersign policy test countersign.policy.yaml policy-cases.yaml
  countersign policy test countersign.policy.yaml policy-cases.yaml --json`,
    )
    .action(async (file: string, cases: string, _options: unknown, command: Command) =>
      runner.operating(command, async (output) => (await import('./policy.js')).testPolicyFile(output, file, cases)),
    );
}

function addBacktest(policy: Command, runner: Runner): void {
  policy
    .command('backtest')
    .description('list the recorded calls that a policy file would judge differently; records nothing')
    .argument('<file>', 'the policy file')
    .option('--from <time>', 'calls requested at or after this time', time)
    .option('--to <time>', 'calls requested before this time', time)
    .addHelpText(
      'after',
      `
Needs the role auditor: a rule can look at values that are hidden from others.
With --json, one call per line, and a summary as the last line.

Examples:
  countersign policy backtest countersign.policy.yaml
  countersign policy backtest policy.yaml --from 2026-11-01 --to 2026-11-08
  countersign policy backtest countersign.policy.yaml --json | jq .callId`,
    )
    .action(async (file: string, options: BacktestOptions, command: Command) =>
      runner.asking(command, async (invocation) =>
        (await import('./policy-backtest.js')).backtest(invocation, file, options),
      ),
    );
}

function addRecorded(policy: Command, runner: Runner): void {
  policy
    .command('shadow')
    .description('show how the candidate policy judged the recorded calls')
    .addHelpText(
      'after',
      `
COUNTERSIGN_POLICY_SHADOW of the server names the candidate's file.

Examples:
  countersign policy shadow
  countersign policy shadow --json | jq .changed`,
    )
    .action(async (_options: unknown, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./policy-recorded.js')).shadow(invocation)),
    );
  policy
    .command('suggest')
    .description('suggest rules for calls that people always approved unchanged; applies none')
    .option('--min <n>', 'after this many decisions (default: 20)', count)
    .option('--since <time>', 'calls requested at or after this time (default: 90 days ago)', time)
    .addHelpText(
      'after',
      `
Prints rules for the policy file with the evidence for each. You decide, and
copy them by hand.

Examples:
  countersign policy suggest
  countersign policy suggest --min 50 --since 2026-11-01
  countersign policy suggest --json | jq -r '.suggestions[].yaml'`,
    )
    .action(async ({ min, since }: { min?: number; since?: string }, command: Command) =>
      runner.asking(command, async (invocation) =>
        (await import('./policy-recorded.js')).suggest(invocation, {
          ...(min === undefined ? {} : { decisionsMin: min }),
          ...(since === undefined ? {} : { since }),
        }),
      ),
    );
  policy
    .command('versions')
    .description('list the activated policies, newest first, or show the content of one')
    .argument('[policyVersion]', 'this version only, with its content')
    .option('--limit <n>', 'at most this many', count, 100)
    .addHelpText(
      'after',
      `
With --json, one activation per line.

Examples:
  countersign policy versions
  countersign policy versions sha256:… --json | jq .content`,
    )
    .action(async (policyVersion: string | undefined, { limit }: { limit: number }, command: Command) =>
      runner.asking(command, async (invocation) =>
        (await import('./policy-recorded.js')).versions(invocation, {
          limit,
          ...(policyVersion === undefined ? {} : { policyVersion }),
        }),
      ),
    );
}
