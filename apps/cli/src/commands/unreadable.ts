import type { UnreadableStreamView } from '@countersign/contracts';
import { printable } from '@countersign/text';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { wrapped } from '../view/line.js';
import type { Line } from '../view/line.js';

/** `countersign log unreadable`: the streams that are set aside. With `--json` it prints one JSON document per stream. */
export async function unreadable(invocation: Invocation): Promise<ExitCode> {
  const { client, columns } = invocation;
  const { streams } = await client.get<{ readonly streams: readonly UnreadableStreamView[] }>('/v1/unreadable');
  for (const stream of streams) invocation.printJson(stream);
  if (streams.length === 0) invocation.note('Every event that this server met can be read.');
  invocation.print(...streams.flatMap((stream) => linesOf(stream, columns)));
  return exitCodes.ok;
}

function linesOf({ stream, type, revision, position, recordedAt, why }: UnreadableStreamView, columns: number): Line[] {
  const where = `revision ${String(revision)} at position ${String(position)}, recorded ${recordedAt}`;
  const what = type === '' ? where : `${type}, ${where}`;
  return [
    ...wrapped(printable(stream), columns, 'bold'),
    ...wrapped(`  ${printable(what)}`, columns, 'dim', 2),
    ...wrapped(`  ${printable(why)}`, columns, undefined, 2),
  ];
}
