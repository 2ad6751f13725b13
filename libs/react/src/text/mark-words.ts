import type { MarkReason } from '@countersign/text';

/** The tooltip of a marked character of a foreign text. */
export function markWords(reason: MarkReason, character: string): string {
  switch (reason) {
    case 'posing':
      return `This is “${character}”, which only looks like another character`;
    case 'clinging':
      return 'A character that would paint over other text';
    case 'blank':
      return 'Blank characters, behind which a text is easily missed';
    case 'unseen':
      return 'A character that would be invisible or change how the text reads';
  }
}
