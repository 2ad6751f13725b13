import { hash } from 'node:crypto';
import type { ApprovalView, JsonObject, JsonValue } from '@countersign/contracts';
import { answeredMaskNote, looksHidden, membersOf, nameWords, writtenMaskNote, writtenMasks } from '@countersign/text';
import type { HiddenPlace } from '@countersign/text';
import { countOf, look } from './visible.js';

/** Arguments as an approver reads them. */
export interface ArgumentLines {
  readonly lines: readonly string[];
  readonly posing: number;
  readonly hidden: number;
  /** Something is not shown as a whole. */
  readonly isCut: boolean;
}

const stringMax = 500;
const nameMax = 120;
const headLength = 360;
const tailLength = 80;
/** A run of an encoding that people cannot read: base64, base64url, hex. */
const encoded = /^[A-Za-z0-9+/_-]{160,}={0,2}$/;

/** The first 64 bits of the SHA-256 of the hidden part, so that two people can compare it. */
function hashOf(text: string): string {
  return `sha256:${hash('sha256', text, 'hex').slice(0, 16)}`;
}

/** What else a person agrees to with the arguments. */
export interface ShownWith {
  readonly hiddenValues?: readonly HiddenPlace[];
  readonly instructions?: ApprovalView['instructions'];
  readonly proposal?: Pick<ApprovalView['proposal'], 'kind' | 'output' | 'hiddenValues' | 'proposedBy'>;
}

/**
 * The arguments as lines of JSON in which every character is seen, then an answer that is proposed in place of the run,
 * and the instructions that the agent gets. Long and binary values are summed up with their hash, and so is what does not fit into `charactersMax`.
 */
export function argumentLines(
  args: JsonObject,
  charactersMax: number,
  { hiddenValues = [], instructions = [], proposal }: ShownWith = {},
): ArgumentLines {
  const seen = { posing: 0, hidden: 0, isCut: false };
  const all = [
    ...valueLines(
      args,
      { indent: '', pointer: '', written: writtenMasks(args, hiddenValues), note: writtenMaskNote },
      seen,
    ),
    ...answerLines(proposal, seen),
    // No argument can look like these lines: its text has quotes around it, and its line ends are escapes.
    ...instructions.map(
      ({ respondedBy, instruction, ifDenied }) =>
        `Instruction of ${nameWords(respondedBy, nameMax)} to the agent${ifDenied === true ? ', if it is denied' : ''}: ${stringText(instruction, seen)}`,
    ),
  ];
  const lines: string[] = [];
  let characters = 0;
  for (const [index, line] of all.entries()) {
    characters += line.length + 1;
    if (characters > charactersMax) {
      const left = all.length - index;
      lines.push(`⟦${countOf(left)} more lines are not shown; all of it: ${hashOf(all.join('\n'))}⟧`);
      return { ...seen, lines, isCut: true };
    }
    lines.push(line);
  }
  return { ...seen, lines };
}

/** An answer that is proposed in place of the run. */
function answerLines(proposal: ShownWith['proposal'], seen: Seen): string[] {
  if (proposal?.kind !== 'answer') return [];
  const { proposedBy, output, hiddenValues = [] } = proposal;
  const place = { indent: '', pointer: '', written: writtenMasks(output, hiddenValues), note: answeredMaskNote };
  return [
    `It would not run: ${nameWords(proposedBy, nameMax)} answers in its place:`,
    ...valueLines(output, place, seen),
  ];
}

interface Seen {
  posing: number;
  hidden: number;
  isCut: boolean;
}

interface Place {
  readonly indent: string;
  readonly pointer: string;
  /** The places of texts that read like hidden values and are none. */
  readonly written: ReadonlySet<string>;
  /** Whose texts these are. */
  readonly note: string;
}

function valueLines(value: JsonValue, place: Place, seen: Seen): string[] {
  const { indent, pointer, written, note } = place;
  if (typeof value === 'string') {
    if (written.has(pointer)) return [`${quoted(value, seen)} ⟦${note}⟧`];
    return [looksHidden(value) ? value : stringText(value, seen)];
  }
  if (typeof value !== 'object' || value === null) return [JSON.stringify(value)];
  const [open, close] = Array.isArray(value) ? ['[', ']'] : ['{', '}'];
  const isList = Array.isArray(value);
  const members = membersOf(value, pointer);
  if (members.length === 0) return [`${open}${close}`];
  const inner = members.flatMap((member, index) => {
    const label = isList ? '' : `${stringText(member.name, seen)}: `;
    const lines = valueLines(member.value, { ...place, indent: `${indent}  `, pointer: member.pointer }, seen);
    const comma = index < members.length - 1 ? ',' : '';
    return lines.map((line, at) => {
      const isFirst = at === 0;
      const isLast = at === lines.length - 1;
      return `${isFirst ? `${indent}  ${label}` : ''}${line}${isLast ? comma : ''}`;
    });
  });
  return [open, ...inner, `${indent}${close}`];
}

function stringText(text: string, seen: Seen): string {
  if (text.length <= stringMax) return quoted(text, seen);
  seen.isCut = true;
  const size = countOf(text.length);
  if (encoded.test(text.replace(/^data:[\w/+.-]{0,80};base64,/, '')) || text.includes('\0')) {
    return `⟦${size} characters of encoded data, ${hashOf(text)}⟧`;
  }
  const characters = Array.from(text);
  // The end is shown too: a dangerous part may be hidden where people do not scroll.
  const head = quoted(characters.slice(0, headLength).join(''), seen);
  const tail = quoted(characters.slice(-tailLength).join(''), seen);
  const left = countOf(characters.length - headLength - tailLength);
  return `${head} …⟦${left} characters not shown, ${hashOf(text)}⟧… ${tail}`;
}

/** Our own marks contain none of these. */
const escapes: Readonly<Record<string, string>> = {
  '\n': '\\n',
  '\t': '\\t',
  '\r': '\\r',
  '"': '\\"',
  '\\': '\\\\',
};

function quoted(text: string, seen: Seen): string {
  const { text: shown, posing, hidden } = look(text, { partedBy: Object.keys(escapes).join('') });
  seen.posing += posing;
  seen.hidden += hidden;
  return `"${shown.replaceAll(/[\n\t\r"\\]/g, (character) => escapes[character] ?? character)}"`;
}
