import type { LogEventView } from '@countersign/contracts';

/** Events as a reader may see them, in pages, so that no export holds more than one. */
export type EventPages = AsyncIterable<readonly LogEventView[]>;

/** One JSON text a line, as NDJSON. */
export async function* linesOf(pages: AsyncIterable<readonly object[]>): AsyncGenerator<string, void> {
  for await (const page of pages) yield page.map((event) => `${JSON.stringify(event)}\n`).join('');
}
