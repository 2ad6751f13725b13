import { printable } from './marks.js';
import { nameWords } from './people-words.js';
import type { RequiredPeople, RequiredStage } from './requirement-words.js';
import { stageWords } from './requirement-words.js';

/** How far one stage is, as the API says it. */
export interface StageProgress {
  readonly approvedBy: readonly string[];
  readonly deniedBy: readonly string[];
  readonly missing: number;
  /** Null: every approver. */
  readonly missingOf: readonly string[] | null;
}

/** One stage in words, and where it stands. */
export interface ProgressLine {
  readonly status: 'done' | 'current' | 'later';
  /** `2 approvers of ops: alice approved, 1 more of ops or managers`. */
  readonly words: string;
}

/** The stages in words, in order. Names are cut to `nameMax` characters. */
export function progressLines(
  { requirement: { stages }, progress }: { requirement: RequiredPeople; progress: readonly StageProgress[] },
  nameMax?: number,
): readonly ProgressLine[] {
  const current = progress.findIndex(({ missing }) => missing > 0);
  return stages.map((stage, index) => {
    const far = progress[index];
    const required = stageWords(stage, nameMax);
    if (far === undefined) return { status: 'current', words: required };
    const said = saidWords(far, nameMax);
    if (far.missing === 0) return { status: 'done', words: `${required}: ${said}` };
    if (index !== current) return { status: 'later', words: said === '' ? required : `${required}: ${said}` };
    const words = said === '' ? 'none yet' : said;
    return { status: 'current', words: `${required}: ${words}${missingWords(stage, far, nameMax)}` };
  });
}

function saidWords({ approvedBy, deniedBy }: StageProgress, nameMax?: number): string {
  const names = (people: readonly string[]): string => people.map((name) => nameWords(name, nameMax)).join(' and ');
  return [
    ...(approvedBy.length === 0 ? [] : [`${names(approvedBy)} approved`]),
    ...(deniedBy.length === 0 ? [] : [`${names(deniedBy)} denied`]),
  ].join(', ');
}

/** Names the people who are missing, unless the requirement already does. */
function missingWords({ groups }: RequiredStage, far: StageProgress, nameMax?: number): string {
  const { approvedBy, deniedBy, missing, missingOf } = far;
  const isUntouched = approvedBy.length + deniedBy.length === 0;
  if (isUntouched && (missingOf?.length ?? 0) === (groups?.length ?? 0)) return '';
  const from = missingOf === null || missingOf.length === 0 ? '' : ` of ${groupWords(missingOf, nameMax)}`;
  return `, ${missing} ${isUntouched ? 'missing' : 'more'}${from}`;
}

function groupWords(groups: readonly string[], nameMax?: number): string {
  return groups.map((group) => printable(group, nameMax)).join(' or ');
}

/** Something that happens by itself, in words: `people of managers are asked as well`, `it expires, and the tool does not run`. */
export function upcomingWords({ kind, to }: { readonly kind: string; readonly to: readonly string[] }): string {
  switch (kind) {
    case 'reminder':
      return 'the approvers are reminded';
    case 'escalation':
      return `people of ${groupWords(to)} are asked as well`;
    case 'hold':
      return 'the deadline passes, and it still waits for an answer';
    case 'automatic-approval':
      return 'the policy approves it by itself';
    case 'expiry':
      return 'it expires, and the tool does not run';
    default:
      return printable(kind);
  }
}
