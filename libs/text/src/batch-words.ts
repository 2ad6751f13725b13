/** The batch of an approval. */
export interface ShownBatch {
  readonly mode: 'independent' | 'all-or-nothing' | 'sequential';
  /** All members, the call itself included. */
  readonly callIds: readonly string[];
}

const namedMax = 5;

/**
 * Describes the effect of a decision on the other calls of an all-or-nothing batch, by their ids, or says that the call
 * is one of a sequential step. Empty for a call without a batch.
 */
export function batchWords(batch: ShownBatch | null, callId: string): string {
  const others = batch?.callIds.filter((one) => one !== callId) ?? [];
  if (batch === null || others.length === 0 || batch.mode === 'independent') return '';
  if (batch.mode === 'sequential')
    return `one of ${String(batch.callIds.length)} calls of a step that take their turn one after another`;
  const named = others.slice(0, namedMax).join(', ');
  const more = others.length > namedMax ? ` and ${String(others.length - namedMax)} more` : '';
  return `all or nothing: to deny this one cancels ${named}${more}`;
}

/** Warns, on a card that does not show them, of the other calls that an approval may release too. Empty: it releases none. */
export function releaseWords({ shownOthersDigest }: { readonly shownOthersDigest?: string }): string {
  return shownOthersDigest === undefined
    ? ''
    : 'To approve this one may release the other calls of its step too, also as another person edited them: look at each of them first';
}
