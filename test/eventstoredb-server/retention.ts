/** `$tb` of a stream that was deleted softly: what was there is gone, and the next append begins after it. */
export const deletedSoftly = '9223372036854775807';

/** What the rules of a stream's metadata are applied to. */
export interface RetainedStream {
  /** The last event of `$$stream`. */
  readonly metadata: { readonly position: number; readonly data: Uint8Array } | undefined;
  readonly lastRevision: number;
  /** The first revision that was appended after a position; undefined when there is none. */
  readonly firstAfter: (position: number) => number | undefined;
}

/** The first revision that a read of the stream returns: `$tb`, `$maxCount` and a soft delete hide those before it. */
export function firstRetained({ metadata, lastRevision, firstAfter }: RetainedStream): number {
  if (metadata === undefined || metadata.data.length === 0) return 0;
  const text = Buffer.from(metadata.data).toString();
  if (text.includes(`"$tb":${deletedSoftly}`)) return firstAfter(metadata.position) ?? Infinity;
  const { $tb = 0, $maxCount = Infinity } = JSON.parse(text) as { readonly $tb?: number; readonly $maxCount?: number };
  return Math.max(0, $tb, lastRevision - $maxCount + 1);
}
