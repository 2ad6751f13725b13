import { replaceUnseen } from './marks.js';

/** JSON in which each character that is not printable, or that a terminal would obey, is written as `\uXXXX`: the same value. */
export function safeJson(value: unknown, indent?: number): string {
  const text = JSON.stringify(value, null, indent) as string | undefined;
  return replaceUnseen(text ?? 'null', (character) =>
    // A line end can only stand between values (`indent`). JSON escapes it inside strings.
    character === '\n' ? character : escapeOf(character),
  );
}

function escapeOf(character: string): string {
  return Array.from({ length: character.length }, (_, index) => {
    return `\\u${character.charCodeAt(index).toString(16).padStart(4, '0')}`;
  }).join('');
}
