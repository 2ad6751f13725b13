import type { ExplanationView } from '@countersign/contracts';
import type { CheckedPolicy, PolicyContent } from '@countersign/policy';
import { printable, recordedRequirementWords } from '@countersign/text';
import { CliError, usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation, Output } from '../invocation.js';
import { readJsonInput } from '../json-input.js';
import type { Line } from '../view/line.js';
import { quotaLines } from '../view/quota-lines.js';
import { knownPeople } from './known-people.js';
import { orProblems, problemText, readPolicyFile, textOf } from './policy-input.js';

/** The options of `countersign policy check`. */
export interface CheckOptions {
  readonly recorded?: boolean;
  /** The tokens file. */
  readonly tokens?: string;
}

/** A policy file, and whether its groups could be compared with those that people have. */
type Checked = CheckedPolicy & { readonly areGroupsChecked: boolean };

async function readWithPeople(output: Output, file: string, { tokens }: CheckOptions): Promise<Checked> {
  const people = await knownPeople(output, tokens);
  const checked = await readPolicyFile(output, file, people);
  const { tenant } = checked.content;
  return { ...checked, areGroupsChecked: (people?.groupsOf(tenant) ?? null) !== null };
}

/** `countersign policy check <file>`: reports every problem of a policy file at once. */
export async function checkPolicyFile(output: Output, file: string, options: CheckOptions): Promise<ExitCode> {
  return printCheck(output, file, await readWithPeople(output, file, options), undefined);
}

/**
 * The same, and the rules that judged no recorded call of the server. The output says so when the server cannot be
 * asked.
 */
export async function checkWithRecorded(
  invocation: Invocation,
  file: string,
  options: CheckOptions,
): Promise<ExitCode> {
  const checked = await readWithPeople(invocation, file, options);
  const { unmatchedRules } = await import('./policy-backtest.js');
  try {
    return printCheck(invocation, file, checked, { ruleIds: await unmatchedRules(invocation, checked.content) });
  } catch (error) {
    if (!(error instanceof CliError)) throw error;
    return printCheck(invocation, file, checked, { why: error.problem.detail });
  }
}

/** The rules that judged no recorded call, or why the recorded calls were not looked at. */
type Recorded = { readonly ruleIds: readonly string[] } | { readonly why: string };

function printCheck(
  output: Output,
  file: string,
  { content, warnings, areGroupsChecked }: Checked,
  recorded: Recorded | undefined,
): ExitCode {
  const { version: policyVersion, tenant } = content;
  output.printJson({
    problems: [],
    warnings,
    policyVersion,
    tenant,
    rules: content.rules.length,
    areGroupsChecked,
    ...recordedJson(recorded),
  });
  const rules = content.rules.length === 1 ? '1 rule' : `${String(content.rules.length)} rules`;
  output.print(
    { text: `${printable(file)} is fine: ${rules}, version ${policyVersion}`, tone: 'green' },
    ...warnings.map((warning): Line => ({ text: problemText(warning), tone: 'yellow' })),
    ...(areGroupsChecked || !content.rules.some(dependsOnPeople)
      ? []
      : [{ text: 'The groups of people are not known here: name the tokens file with --tokens.' }]),
    ...recordedLines(recorded),
  );
  return exitCodes.ok;
}

/** Whether a rule names a group or asks for several people, so that it may be one that nobody can satisfy. */
function dependsOnPeople({ then }: PolicyContent['rules'][number]): boolean {
  if (then.outcome !== 'require') return false;
  const { stages, escalation } = then.requirement;
  return (
    escalation.length > 0 || stages.length > 1 || stages.some(({ groups, approve }) => groups !== null || approve > 1)
  );
}

/** Null: the recorded calls were not looked at. */
function recordedJson(recorded: Recorded | undefined): object {
  if (recorded === undefined) return {};
  return 'why' in recorded ? { unmatched: null, notLooked: recorded.why } : { unmatched: recorded.ruleIds };
}

function recordedLines(recorded: Recorded | undefined): readonly Line[] {
  if (recorded === undefined) return [];
  if ('why' in recorded)
    return [{ text: printable(`The recorded calls were not looked at: ${recorded.why}`), tone: 'yellow' }];
  if (recorded.ruleIds.length === 0) return [{ text: 'Every rule judged a recorded call.', tone: 'green' }];
  return recorded.ruleIds.map((id) => ({ text: printable(`no recorded call was judged by "${id}"`), tone: 'yellow' }));
}

/** `countersign policy explain --call <json> [--file <file>]`: what each rule says of a call. */
export async function explainCall(
  output: Output,
  options: { readonly call: string; readonly file: string },
): Promise<ExitCode> {
  const { createPolicy, toExplanationView, toPolicyCall, timeOf } = await import('@countersign/policy');
  const { explainedCallSchema } = await import('@countersign/contracts');
  const { content } = await readPolicyFile(output, options.file);
  const given = explainedCallSchema.safeParse((await readJsonInput('--call', options.call, output.terminal)).value);
  if (!given.success) {
    const problems = given.error.issues.map(({ path, message }) => `${path.map(String).join('.')} ${message}`.trim());
    throw usageError(`--call is not a call: ${problems.join('; ')}`);
  }
  const explanation = createPolicy(content).explain(
    toPolicyCall(given.data),
    timeOf(given.data, output.terminal.now()),
  );
  return printExplanation(output, toExplanationView(explanation));
}

/** The same, by the policy that the server has in force. */
export async function explainOnServer(invocation: Invocation, options: { readonly call: string }): Promise<ExitCode> {
  const { text } = await readJsonInput('--call', options.call, invocation.terminal);
  const explanation = await invocation.client.post<ExplanationView>('/v1/policy/explain', { body: text });
  return printExplanation(invocation, explanation);
}

function printExplanation(output: Output, explanation: ExplanationView): ExitCode {
  const { verdict, requirement, rules } = explanation;
  output.printJson(explanation);
  output.print(
    ...rules.map(({ ruleId, matched, failed, why }): Line => {
      const mark = failed ? 'FAILED' : matched ? 'matches' : 'no';
      return {
        text: printable(`${mark.padEnd(8)} ${ruleId}: ${why}`),
        tone: failed ? 'red' : matched ? 'green' : 'dim',
      };
    }),
    { text: printable(`Verdict: ${verdict.outcome}, by ${verdict.ruleId}`), tone: 'bold' },
    ...(requirement === null
      ? []
      : [{ text: printable(`Needs: ${recordedRequirementWords(requirement).join('; ')}`) }]),
    ...verdict.why.map((why): Line => ({ text: printable(`  ${why}`) })),
    ...quotaLines(explanation),
  );
  return exitCodes.ok;
}

/** `countersign policy test <file> <cases>`: judges the calls of a file of cases and compares the verdicts. */
export async function testPolicyFile(output: Output, file: string, casesFile: string): Promise<ExitCode> {
  const { createPolicy, loadCases, runCase, withLines } = await import('@countersign/policy');
  const { content } = await readPolicyFile(output, file);
  const text = await textOf(casesFile);
  const cases = await orProblems(output, () => withLines(casesFile, text, () => loadCases(casesFile, text)));
  const policy = createPolicy(content);
  const results = cases.map((one) => runCase(policy, one, output.terminal.now()));
  const failed = results.filter(({ differs }) => differs.length > 0);
  output.printJson({ passed: results.length - failed.length, failed: failed.length, results });
  output.print(
    ...failed.flatMap(({ name, outcome, ruleId, why, differs }): Line[] => [
      { text: printable(`FAILED  ${name}`), tone: 'red' },
      { text: printable(`        expected ${differs.join(', ')}; got ${outcome}, by ${ruleId}`) },
      ...why.map((one): Line => ({ text: printable(`          ${one}`), tone: 'dim' })),
    ]),
    {
      text: `${String(results.length - failed.length)} passed, ${String(failed.length)} failed`,
      tone: failed.length === 0 ? 'green' : 'red',
    },
  );
  return failed.length === 0 ? exitCodes.ok : exitCodes.refused;
}
