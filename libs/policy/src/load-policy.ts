import type { CelEngine } from '@countersign/cel';
import { plainWords } from '@countersign/contracts';
import type { JsonObject, Requirement } from '@countersign/contracts';
import { disagreements } from './approvers.js';
import type { ChannelPerson, Disagreement } from './approvers.js';
import { compileExpressions, compileInSteps, vainComparisons } from './compile-expressions.js';
import type { Compiled } from './compile-expressions.js';
import { fileError, inOrder, PolicyFileError, readDocument } from './load-document.js';
import type { Parsed, PolicyProblem } from './load-document.js';
import { policyFileSchema, toPolicyContent } from './policy-file.js';
import type { PolicyContent } from './policy-file.js';
import { unknownGroups } from './unknown-groups.js';
import { lateReminders } from './late-reminders.js';
import { shortStages } from './short-stages.js';
import type { ShortStage } from './short-stages.js';
import { unreachableRules } from './unreachable.js';
import { vainSettings } from './vain-settings.js';

/** EventStoreDB accepts 1 MiB per append. */
const contentBytesMax = 512 * 1024;

/** The facts about people from the other files. */
export interface KnownPeople {
  /** The groups that the approvers of a tenant have; null: not known. */
  readonly groupsOf: (tenant: string) => ReadonlySet<string> | null;
  /** The people of a tenant in the channels file. */
  readonly channelPeople: (tenant: string) => readonly ChannelPerson[];
  /**
   * Returns a function that finds the first stage which the approvers known now cannot satisfy, with the groups of its seat
   * (null: every approver). Default: the approvers are not known.
   */
  readonly stageShortOf?: (content: PolicyContent) => (requirement: Requirement) => ShortStage | undefined;
}

const custom = { code: 'custom', input: undefined } as const;

/** A policy file that can be used, and what its author should look at again. */
export interface CheckedPolicy {
  readonly content: PolicyContent;
  /** Such as rules that no call can reach, settings without an effect, and stages for which too few people are known. */
  readonly warnings: readonly PolicyProblem[];
}

/**
 * Parses a policy file. The ending of `file` gives the format (`.toml`; otherwise YAML, which includes JSON).
 * @param cel reads and evaluates expressions; null is enough for a file whose rules have none
 * @param people null: what the other files say about people is not known here
 * @throws PolicyFileError naming every problem with file, line and path.
 */
export function loadPolicy(
  file: string,
  text: string,
  cel: CelEngine | null = null,
  people: KnownPeople | null = null,
): PolicyContent {
  return load(file, text, cel, people).content;
}

/**
 * The same for a file that is parsed already, such as a candidate over HTTP. Attack: thousands of expressions, which take a
 * second to compile. Each step compiles at most one, so that the caller can give others their turn.
 * @throws PolicyFileError naming every problem with its path.
 */
export function* loadPolicyInSteps(
  file: string,
  value: JsonObject,
  cel: CelEngine,
): Generator<undefined, PolicyContent, undefined> {
  const parsed: Parsed = { value, lineOf: () => null };
  const source = sourceOf(file, parsed);
  return contentOf(file, parsed, source, cel, yield* compileInSteps(value, cel));
}

/**
 * The same, with what is allowed and looks like a mistake, as far as a process that starts can look for it.
 * @throws PolicyFileError as {@link loadPolicy}.
 */
export function loadPolicyAndWarn(
  file: string,
  text: string,
  cel: CelEngine | null,
  people: KnownPeople | null = null,
): CheckedPolicy {
  const { parsed, content } = load(file, text, cel, people);
  return { content, warnings: toWarnings(file, parsed, warningsOf(content, people)) };
}

/** The same, with all that looks like a mistake. @throws PolicyFileError as {@link loadPolicy}. */
export function checkPolicy(
  file: string,
  text: string,
  cel: CelEngine | null,
  people: KnownPeople | null = null,
): CheckedPolicy {
  const { parsed, content } = load(file, text, cel, people);
  // Each rule is compared with all before it, so this is for authors, not for processes.
  const unreachable = unreachableRules(content.rules).map(({ index, ruleId, coveredBy }) => ({
    path: ['rules', index],
    message: `no call reaches "${ruleId}": "${coveredBy}" before it matches all of its calls`,
  }));
  const vain = vainComparisons(parsed.value, cel);
  return { content, warnings: toWarnings(file, parsed, [...unreachable, ...vain, ...warningsOf(content, people)]) };
}

function warningsOf(content: PolicyContent, people: KnownPeople | null): readonly Disagreement[] {
  const { rules, tenant } = content;
  // Where groups are not known, their people are not.
  const stageShortOf = (people?.groupsOf(tenant) ?? null) === null ? undefined : people?.stageShortOf?.(content);
  return [...lateReminders(rules), ...vainSettings(rules), ...shortStages(rules, stageShortOf)];
}

function toWarnings(file: string, parsed: Parsed, found: readonly Disagreement[]): readonly PolicyProblem[] {
  return inOrder(
    found.map(({ path, message }) => ({
      file,
      line: parsed.lineOf(path),
      path: path.map(String).join('.'),
      message,
    })),
  );
}

function load(
  file: string,
  text: string,
  cel: CelEngine | null,
  people: KnownPeople | null,
): { readonly parsed: Parsed; readonly content: PolicyContent } {
  const parsed = readDocument(file, text);
  const content = readContent(file, parsed, cel);
  const problems = people === null ? [] : peopleProblems(content, people);
  if (problems.length === 0) return { parsed, content };
  const toIssue = ({ path, message }: Disagreement) => ({ ...custom, path: [...path], message });
  throw fileError(file, problems.map(toIssue), parsed);
}

function readContent(file: string, parsed: Parsed, cel: CelEngine | null): PolicyContent {
  const source = sourceOf(file, parsed);
  return contentOf(file, parsed, source, cel, compileExpressions(parsed.value, cel));
}

function sourceOf(file: string, parsed: Parsed): JsonObject {
  const refused = (message: string): PolicyFileError => new PolicyFileError([{ file, line: null, path: '', message }]);
  if (parsed.value === null || parsed.value === undefined) throw refused('is empty: it needs at least "version: 1"');
  const source = parsed.value as JsonObject;
  // Attack: a candidate of some megabytes. Nothing of it is compiled.
  if (Buffer.byteLength(JSON.stringify(source)) > contentBytesMax) {
    const most = `${String(contentBytesMax / 1024)} KiB`;
    throw refused(`has more than ${most} as JSON, and the whole of it is recorded as one event`);
  }
  return source;
}

function contentOf(
  file: string,
  parsed: Parsed,
  source: JsonObject,
  cel: CelEngine | null,
  { compiled, issues }: Compiled,
): PolicyContent {
  const result = policyFileSchema.safeParse(parsed.value, { error: plainWords });
  if (!result.success || issues.length > 0) {
    throw fileError(file, [...(result.error?.issues ?? []), ...issues], parsed);
  }
  return toPolicyContent(result.data, source, { celVersion: cel?.version ?? null, compiled });
}

/** The problems of rules that no approver can answer, and of people whom another file contradicts. */
function peopleProblems({ tenant, rules, approvers }: PolicyContent, people: KnownPeople): readonly Disagreement[] {
  const groups = people.groupsOf(tenant);
  const known = new Set([...(groups ?? []), ...approvers.flatMap((one) => one.groups)]);
  const nobody = groups === null ? [] : unknownGroups(rules, known);
  return [
    ...nobody.map(({ index, message }) => ({ path: ['rules', index, 'then'], message })),
    ...disagreements(approvers, people.channelPeople(tenant)),
  ];
}
