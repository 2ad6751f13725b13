import { quotedWords } from './marks.js';

/** What of the tool's schema the arguments were not checked by; empty when they were checked by all of it. */
export function schemaNoteWords(notes: readonly { readonly pointer: string }[] = []): string {
  const [first] = notes;
  if (first === undefined) return '';
  if (notes.some(({ pointer }) => pointer === '')) return 'Not checked by the tool’s schema';
  const more = notes.length > 1 ? ` and ${String(notes.length - 1)} more` : '';
  return `Not checked by the tool’s schema at ${quotedWords(first.pointer, 120)}${more}`;
}
