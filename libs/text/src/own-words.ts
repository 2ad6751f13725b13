/** What the requester says of a call. All of it can be false. */
export interface OwnWords {
  readonly title?: string | null;
  readonly reason: string | null;
  readonly description: string | null;
  readonly toolDescription?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>> | null;
}

/** The requester's words with their labels, in the order of every card. Mark them before you show them. */
export function ownWordsOf(words: OwnWords): readonly (readonly [label: string, text: string])[] {
  const { title, reason, description, toolDescription, metadata } = words;
  const data = Object.entries(metadata ?? {}).map(
    ([name, value]) => `${JSON.stringify(name)}: ${JSON.stringify(value)}`,
  );
  const texts = [
    ['Title', title],
    ['Reason', reason],
    ['Description', description],
    // Many agents describe a call with the words that describe the tool.
    ['Tool', toolDescription === description ? null : toolDescription],
    ['Metadata', data.join('\n')],
  ] as const;
  return texts.flatMap(([label, text]) => (text ? [[label, text] as const] : []));
}
