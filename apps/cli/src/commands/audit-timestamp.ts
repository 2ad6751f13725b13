import { writeFileSync } from 'node:fs';
import { printable } from '@countersign/text';
import { localError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation } from '../invocation.js';
import { stampsOfServer } from '../bundle/server-stamps.js';

/** The options of `countersign audit timestamp`. */
export interface TimestampOptions {
  readonly output: string;
  readonly size?: number;
}

/** `countersign audit timestamp`: writes a time stamp of the log, and the text that it is of. */
export async function timestamp(
  { client, print, printJson }: Invocation,
  options: TimestampOptions,
): Promise<ExitCode> {
  const { output, size } = options;
  const wanted = { order: 'newest', limit: '1', ...(size !== undefined && { size: String(size) }) } as const;
  const [found] = await stampsOfServer(client, wanted);
  if (found === undefined) throw noTimestamp(size);
  const files = { reply: `${output}.tsr`, text: `${output}.txt` };
  writeFileSync(files.reply, found.reply);
  writeFileSync(files.text, found.text);
  printJson({ ...files, epoch: found.epoch, size: found.size, time: found.time });
  print(
    { text: printable(`The first ${String(found.size)} events existed before ${found.time}, says the authority.`) },
    {
      text: `  Check it: openssl ts -verify -in ${printable(files.reply)} -data ${printable(files.text)} -CAfile roots.pem`,
    },
  );
  return exitCodes.ok;
}

function noTimestamp(size: number | undefined): Error {
  const [detail, remedy] =
    size === undefined
      ? ['No checkpoint has a time stamp.', 'Ask the operator to name an authority in COUNTERSIGN_TSA_URL.']
      : [`No checkpoint of ${String(size)} events has a time stamp.`, 'Leave --size out to get the newest one.'];
  return localError('notFound', 'not-found', detail, remedy);
}
