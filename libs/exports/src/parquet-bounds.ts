import type { ParquetWriter } from 'hyparquet-writer';

/**
 * The library keeps the least and the greatest value of each column of each group until the end, and then writes 16 bytes of
 * each, rounded. Replaces each by a begin of it that is rounded to the same bytes. Without this the memory grows with the log.
 */
export function shortenBounds(group: ParquetWriter['row_groups'][number] | undefined): void {
  for (const { meta_data } of group?.columns ?? []) {
    const bounds = meta_data?.statistics;
    if (typeof bounds?.min_value === 'string') bounds.min_value = beginOf(bounds.min_value);
    if (typeof bounds?.max_value === 'string') bounds.max_value = beginOf(bounds.max_value);
  }
}

const boundMax = 32;

/** A text of the last character cannot be rounded up, and is written whole. */
function beginOf(text: string): string {
  if (text.length <= boundMax || text.startsWith('\u{10FFFF}')) return text;
  // A slice would keep the whole text in memory.
  return Buffer.from(text.slice(0, boundMax)).toString();
}
