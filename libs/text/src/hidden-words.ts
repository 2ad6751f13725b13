import { membersOf } from './json-members.js';
import type { JsonValue } from './json-members.js';

/** A value that a reader does not see, and who hides it. */
export interface HiddenPlace {
  readonly pointer: string;
  readonly why: 'schema' | 'name';
}

/** All that an approval hides from a reader: values of the arguments, and those of an answer in place of the run. */
export function hiddenIn({
  hiddenValues,
  proposal,
}: {
  readonly hiddenValues: readonly HiddenPlace[];
  readonly proposal: { readonly hiddenValues?: readonly HiddenPlace[] | undefined };
}): readonly HiddenPlace[] {
  return [...hiddenValues, ...(proposal.hiddenValues ?? [])];
}

/** The number of hidden values and who hides them; empty when nothing is hidden. */
export function hiddenWords(hidden: readonly HiddenPlace[]): string {
  if (hidden.length === 0) return '';
  const bySchema = hidden.filter(({ why }) => why === 'schema').length;
  const byName = hidden.length - bySchema;
  const who = [
    ...(bySchema > 0 ? [`${String(bySchema)} by the agent's tool schema`] : []),
    ...(byName > 0 ? [`${String(byName)} by ${byName === 1 ? 'its name' : 'their names'}`] : []),
  ];
  const values = hidden.length === 1 ? '1 value is' : `${String(hidden.length)} values are`;
  return `${values} hidden from you: ${who.join(', ')}`;
}

const maskText = /^\[masked(?: sha256:[0-9a-f]{16})?\]$/;

/** Shown next to an agent's text that looks like a hidden value. */
export const writtenMaskNote = 'text from the agent, not a hidden value';

/** Shown next to a text in a proposed answer that looks like a hidden value. */
export const answeredMaskNote = 'text of the answer, not a hidden value';

/** The hidden values of an answer, where it is shown as the member `answer` of an object. Undefined: unknown. */
export function hiddenInAnswer(hidden: readonly HiddenPlace[] | undefined): readonly HiddenPlace[] | undefined {
  return hidden?.map(({ pointer, why }) => ({ pointer: `/answer${pointer}`, why }));
}

/** Returns whether a value looks like a mask of a hidden value. */
export function looksHidden(value: JsonValue): boolean {
  return typeof value === 'string' && maskText.test(value);
}

/** The pointers of the texts in `value` that read like a hidden value and are none: the agent wrote them. */
export function writtenMasks(value: JsonValue, hidden: readonly HiddenPlace[]): ReadonlySet<string> {
  const isHidden = new Set(hidden.map(({ pointer }) => pointer));
  const found = new Set<string>();
  const visit = (node: JsonValue, pointer: string): void => {
    if (looksHidden(node) && !isHidden.has(pointer)) found.add(pointer);
    for (const member of membersOf(node, pointer)) visit(member.value, member.pointer);
  };
  visit(value, '');
  return found;
}
