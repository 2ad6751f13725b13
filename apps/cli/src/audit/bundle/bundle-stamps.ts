import type { Manifest } from '../../bundle/layout.js';
import { timestampFiles } from '../../bundle/layout.js';
import type { KeptStamp } from '../timestamps.js';

const replyForm = /^timestamps\/([1-9][0-9]{0,14})\/(0|[1-9][0-9]{0,14})\.(tsr|txt)$/;
/** An answer of an authority, and a checkpoint, have less. */
const bytesMax = 64 * 1024;

/** Returns whether this is the path of a time stamp, or of what is stamped. */
export function isStampFile(path: string): boolean {
  return replyForm.test(path);
}

/** The time stamps of a bundle, the first one first. Where only one of the two files is there, it cannot be read. */
export function stampsIn({ files }: Manifest, readIn: (path: string) => Buffer | undefined): readonly KeptStamp[] {
  const named = new Map<string, { readonly epoch: number; readonly size: number }>();
  for (const path of Object.keys(files)) {
    const [, epoch, size] = replyForm.exec(path) ?? [];
    if (epoch !== undefined && size !== undefined)
      named.set(`${epoch}/${size}`, { epoch: Number(epoch), size: Number(size) });
  }
  const small = (path: string): Buffer | undefined =>
    (files[path]?.bytes ?? Infinity) <= bytesMax ? readIn(path) : undefined;
  return [...named.values()]
    .toSorted((one, other) => one.epoch - other.epoch || one.size - other.size)
    .map(({ epoch, size }) => ({
      ...{ epoch, size },
      read: () => {
        const paths = timestampFiles(epoch, size);
        const [text, reply] = [small(paths.text), small(paths.reply)];
        return text === undefined || reply === undefined ? undefined : { text: text.toString(), reply };
      },
    }));
}
