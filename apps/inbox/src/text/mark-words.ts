import type { MarkReason } from '@countersign/text';

/** The text blocks of a value and the placeholders for them in the JSON, by JSON pointer. */
export function markWords(reason: MarkReason, character: string): string {
  switch (reason) {
    case 'posing':
      return `This is “${character}”, which only looks like a Latin letter`;
    case 'clinging':
      return 'A combining character that would paint over other text';
    case 'unseen':
      return 'A character that would be invisible or change how the text reads';
  }
}
