import { Readable } from 'node:stream';
import { linesOf } from '@countersign/http-client';

/** The lines of an answer that are not empty, such as events in NDJSON. */
export async function* eachBodyLine({ body }: Response): AsyncGenerator<string> {
  if (body === null) return;
  for await (const line of linesOf(Readable.fromWeb(body))) if (line !== '') yield line;
}

/** The same, all of them. */
export async function bodyLines(response: Response): Promise<readonly string[]> {
  const lines: string[] = [];
  for await (const line of eachBodyLine(response)) lines.push(line);
  return lines;
}
