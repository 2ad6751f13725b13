import type {
  BacktestSummary,
  ChangedCall,
  PolicySuggestions,
  PolicyVersions,
  ShadowReport,
} from '@countersign/contracts';
import { agoWords, durationWords, printable, timeWords } from '@countersign/text';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import type { Line } from '../view/line.js';

/** The listed calls of each rule; the others are counted. */
const listedMax = 10;

/** A whole number with the separators of thousands. */
export function countWords(n: number): string {
  return n.toLocaleString('en-US');
}

/** How many calls another policy judges differently, and by each of its rules the first of these calls. */
export function changeLines(
  { calls, changed, rules, unreadable = [] }: Omit<BacktestSummary, 'policyVersion'>,
  changes: readonly ChangedCall[],
): readonly Line[] {
  return [
    {
      text: `${countWords(changed)} of ${countWords(calls)} ${calls === 1 ? 'call' : 'calls'} would be judged differently`,
      tone: changed === 0 ? 'green' : 'yellow',
    },
    ...rules.flatMap((rule): Line[] => {
      const listed = changes.filter(({ after }) => after.ruleId === rule.ruleId).slice(0, listedMax);
      const more = rule.changed - listed.length;
      return [
        { text: printable(`${rule.ruleId}: ${ruleWords(rule)}`), tone: 'bold' },
        ...listed.map((change): Line => ({ text: printable(`  ${changeWords(change)}`) })),
        ...(more > 0 ? [{ text: `  and ${countWords(more)} more`, tone: 'dim' } as const] : []),
      ];
    }),
    ...leftOutLines(unreadable),
  ];
}

function leftOutLines([first, ...others]: readonly number[]): readonly Line[] {
  if (first === undefined) return [];
  const text =
    others.length === 0
      ? `1 event cannot be read and is left out, at position ${String(first)}`
      : `${countWords(1 + others.length)} events cannot be read and are left out, the first at position ${String(first)}`;
  return [{ text, tone: 'yellow' }];
}

function ruleWords({ calls, changed }: BacktestSummary['rules'][number]): string {
  if (calls === 0) return 'judges no recorded call';
  return `judges ${countWords(calls)}, ${changed === 0 ? 'none' : countWords(changed)} of them differently`;
}

function changeWords({ callId, toolName, before, after, differs }: ChangedCall): string {
  const from = `${before.outcome} by ${before.ruleId}`;
  const what = before.outcome === after.outcome ? `${after.outcome}, other ${differs.join(', ')}` : after.outcome;
  return `${callId} ${toolName}: ${from}, now ${what}`;
}

/** `countersign policy shadow`: what the candidate policy said of the calls since it began to judge. */
export async function shadow(invocation: Invocation): Promise<ExitCode> {
  const report = await invocation.client.get<ShadowReport>('/v1/policy/shadow');
  const { policyVersion, since } = report;
  invocation.printJson(report);
  if (policyVersion === null || since === null) {
    invocation.print({ text: 'No candidate policy has judged. COUNTERSIGN_POLICY_SHADOW names its file.' });
    return exitCodes.ok;
  }
  invocation.print(
    { text: printable(`The candidate ${policyVersion} judges since ${timeWords(since)}.`), tone: 'dim' },
    ...changeLines(report, report.changes),
    ...(report.complete ? [] : [{ text: 'The log is too long: its end is not counted.', tone: 'yellow' } as const]),
  );
  return exitCodes.ok;
}

/** `countersign policy versions`: the activated policies, the latest first, or the content of one. */
export async function versions(
  invocation: Invocation,
  { policyVersion, limit }: { readonly policyVersion?: string; readonly limit: number },
): Promise<ExitCode> {
  const { client } = invocation;
  const query = { policyVersion, limit: String(limit) };
  const page = await client.get<PolicyVersions>('/v1/policy/versions', { query });
  for (const version of page.versions) invocation.printJson(version);
  const now = client.serverNow();
  invocation.print(
    ...page.versions.flatMap((one, index): Line[] => [
      { text: printable(one.policyVersion), ...(index === 0 ? { tone: 'bold' as const } : {}) },
      {
        text: printable(
          `  activated ${agoWords(one.activatedAt, now)} by ${one.activatedBy}, ${timeWords(one.activatedAt)}`,
        ),
      },
      ...contentLines(one.content),
    ]),
    ...(page.versions.length === 0 ? [{ text: 'No policy file has been activated: the built-in policy judges.' }] : []),
  );
  if (page.more) invocation.note('There are more: raise --limit.');
  return exitCodes.ok;
}

function contentLines(content: PolicyVersions['versions'][number]['content']): readonly Line[] {
  if (content === undefined) return [];
  return JSON.stringify(content, null, 2)
    .split('\n')
    .map((text) => ({ text: printable(text) }));
}

/** `countersign policy suggest`: rules that would allow what people always approved unchanged, to be copied by hand. */
export async function suggest(
  invocation: Invocation,
  options: { readonly decisionsMin?: number; readonly since?: string },
): Promise<ExitCode> {
  const { decisionsMin, since } = options;
  const query = { since, decisionsMin: decisionsMin === undefined ? undefined : String(decisionsMin) };
  const found = await invocation.client.get<PolicySuggestions>('/v1/policy/suggestions', { query });
  invocation.printJson(found);
  const { suggestions, calls, complete } = found;
  const basis = `${countWords(calls)} ${calls === 1 ? 'call' : 'calls'} since ${timeWords(found.since)}`;
  const least = `a rule needs at least ${String(found.decisionsMin)} decisions`;
  invocation.print(
    ...suggestions.flatMap(suggestionLines),
    {
      text: `${suggestions.length === 0 ? 'No rule is suggested' : 'None of this is applied'}: ${basis}; ${least}.`,
      tone: 'dim',
    },
    ...(complete ? [] : [{ text: 'There were more calls: only the latest were looked at.', tone: 'yellow' } as const]),
  );
  return exitCodes.ok;
}

function suggestionLines({ yaml, evidence, backtest }: PolicySuggestions['suggestions'][number]): readonly Line[] {
  const { decisions, people, days, since, medianToDecideMs } = evidence;
  const by = `by ${String(people)} ${people === 1 ? 'person' : 'people'} on ${String(days)} ${days === 1 ? 'day' : 'days'}`;
  const comments = [
    `approved unchanged ${countWords(decisions)} times ${by} since ${timeWords(since)}, half of them within ${durationWords(medianToDecideMs)}`,
    `in front of the policy in force it would have let ${countWords(backtest.allowed)} of ${countWords(backtest.asked)} through`,
  ];
  return [
    ...comments.map((text): Line => ({ text: printable(`# ${text}`), tone: 'dim' })),
    ...yaml
      .trimEnd()
      .split('\n')
      .map((text): Line => ({ text: printable(text) })),
    { text: '' },
  ];
}
